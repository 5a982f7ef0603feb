/** A host with systemd or launchd for tests: its own directories, fake programs, a small daemon. */

import {
	chmodSync,
	existsSync,
	mkdirSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import {
	type InstallOptions,
	runDaemonInstall,
	runDaemonUninstall,
} from "../../src/cli/commands/daemon-install.js";
import type { Host } from "../../src/cli/service/installer.js";
import { ReeveError } from "../../src/core/errors.js";
import { recordedOutput } from "../support/output.js";
import { SMALL_DAEMON } from "../support/planted-reeve.js";
import { temporaryFolder } from "../support/reeve.js";

const FAKES = { linux: ["systemctl", "journalctl", "loginctl"], darwin: ["launchctl"] };

export function createServiceWorld(platform: "linux" | "darwin", asked: Partial<Host> = {}) {
	const folder = temporaryFolder();
	const bin = join(folder, "bin");
	mkdirSync(bin);
	const node = `"${process.execPath}" "${resolve("test/fixtures/services/systemctl.mjs")}"`;
	for (const name of FAKES[platform]) {
		const fake =
			platform === "linux"
				? `${node} ${name}`
				: `/usr/bin/perl ${resolve("test/fixtures/launchd/launchctl.pl")}`;
		writeFileSync(join(bin, name), `#!/bin/sh\nexec ${fake} "$@"\n`);
		chmodSync(join(bin, name), 0o755);
	}
	const program = join(folder, "daemon.mjs");
	writeFileSync(program, SMALL_DAEMON.replace("console.log", "globalThis.said ="));
	symlinkSync("/bin/sh", join(bin, "sh"));
	const env = {
		...{ PATH: bin, HOME: folder, REEVE_HOME: join(folder, "my home"), USER: "ada" },
		...{ FAKE_SERVICES: folder, SECRET: "hunter2" },
	};
	const host: Host = {
		...{ platform, uid: 501, root: join(folder, "root"), node: process.execPath, program },
		...asked,
	};
	const read = (name: string) => readFileSync(join(folder, name), "utf8");
	onTestFinished(() => {
		const job = "jobs/reeve.daemon/pid";
		if (existsSync(join(folder, "state.json"))) {
			end((JSON.parse(read("state.json")) as { pid: number }).pid);
		}
		if (existsSync(join(folder, job))) end(Number(read(job)));
	});
	const run = async (
		command: typeof runDaemonInstall | typeof runDaemonUninstall,
		options: InstallOptions,
		changed: NodeJS.ProcessEnv,
		otherHost: Partial<Host> = {},
	) => {
		const { output, said, results } = recordedOutput();
		try {
			const cli = { output, env: { ...env, ...changed } };
			const code = await command(options, cli, { ...host, ...otherHost });
			return { code, said: said(), result: results(), error: null };
		} catch (error) {
			if (!(error instanceof ReeveError)) throw error;
			return { code: null, said: said(), result: results(), error };
		}
	};
	return {
		...{ folder, env, host, program, read },
		has: (name: string) => existsSync(join(folder, name)),
		/** Changes the behaviour of the fakes. */
		turn: (name: string) => writeFileSync(join(folder, name), ""),
		/** The daemon has ended, and systemd remembers it so. */
		ended: (active: "failed" | "inactive") => {
			end((JSON.parse(read("state.json")) as { pid: number }).pid);
			writeFileSync(join(folder, "state.json"), JSON.stringify({ pid: 0, enabled: true, active }));
		},
		/** The requests to the fakes, without queries. */
		commands: () =>
			read("asked.log")
				.split("\n")
				.filter((line) => /ctl/.test(line) && !/ (show|print|show-user) /.test(line)),
		install: (options: InstallOptions = {}, changed = {}, otherHost: Partial<Host> = {}) =>
			run(runDaemonInstall, options, changed, otherHost),
		uninstall: (options: InstallOptions = {}, changed = {}) =>
			run(runDaemonUninstall, options, changed),
	};
}

function end(pid: number): void {
	try {
		if (pid > 0) process.kill(pid, "SIGKILL");
	} catch {
		// It has ended.
	}
}
