/** Another host, as far as ssh is concerned: Debian's sshd on loopback, and an `ssh` that finds it as `box`. */

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../faults/fleet-home.js";
import { freePort } from "./free-port.js";
import { temporaryFolder } from "./reeve.js";

export interface SshHost {
	/** A folder with the `ssh` to use, for the front of PATH. */
	readonly bin: string;
	/** Stops the server and every connection. */
	stop(): Promise<void>;
	start(): Promise<void>;
}

export async function startSshHost(): Promise<SshHost> {
	const folder = temporaryFolder();
	const file = (name: string) => join(folder, name);
	const bin = file("bin");
	mkdirSync(bin);
	for (const key of ["host", "user"]) {
		execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", file(key)]);
	}
	writeFileSync(file("authorized"), readFileSync(file("user.pub")));
	const port = await freePort();
	writeFileSync(
		file("sshd_config"),
		`Port ${port}
ListenAddress 127.0.0.1
HostKey ${file("host")}
AuthorizedKeysFile ${file("authorized")}
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin yes
AllowStreamLocalForwarding yes
`,
	);
	writeFileSync(
		file("config"),
		`Host box
HostName 127.0.0.1
Port ${port}
User ${userInfo().username}
IdentityFile ${file("user")}
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile ${file("known")}
LogLevel ERROR
`,
	);
	const ssh = execFileSync("sh", ["-c", "command -v ssh"], { encoding: "utf8" }).trim();
	const own = join(bin, "ssh");
	writeFileSync(own, `#!/bin/sh\nexec ${ssh} -F ${file("config")} "$@"\n`, { mode: 0o755 });
	// For its privilege separation; only root needs it.
	if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });

	let server: ReturnType<typeof spawn> | null = null;
	const host: SshHost = {
		bin,
		async start() {
			const sshd = execFileSync("sh", ["-c", "command -v sshd"], { encoding: "utf8" }).trim();
			const started = spawn(sshd, ["-D", "-e", "-f", file("sshd_config")], { stdio: "ignore" });
			server = started;
			await eventually(() => {
				if (started.exitCode !== null) throw new Error(`sshd exited with ${started.exitCode}`);
				return canLogIn(own);
			}, "sshd accepts a login");
		},
		async stop() {
			const running = server;
			server = null;
			if (running?.pid === undefined || running.exitCode !== null) return;
			// Its children serve one connection each, and outlive it.
			const children = childrenOf(running.pid);
			running.kill("SIGKILL");
			for (const pid of [...children.flatMap(childrenOf), ...children]) killIfThere(pid);
		},
	};
	onTestFinished(() => host.stop());
	await host.start();
	return host;
}

function canLogIn(ssh: string): boolean {
	try {
		execFileSync(ssh, ["-o", "BatchMode=yes", "box", "true"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
}

function childrenOf(pid: number): readonly number[] {
	try {
		const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
		return text.trim().split(" ").filter(Boolean).map(Number);
	} catch {
		return [];
	}
}

function killIfThere(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// It has exited already.
	}
}
