/**
 * A tunnel from a socket on this host to the socket of a daemon on another host, through the system's
 * `ssh`, so that its configuration, keys and jump hosts apply.
 *
 * The remote command is `cat`: it returns the heartbeats that are written to it, which shows that the
 * host answers, and it ends with its input. So `ssh` ends with the daemon, however that dies.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { safeText } from "../core/safe-text.js";

export interface TunnelSpec {
	readonly target: string;
	/** The daemon's socket on the other host. */
	readonly remoteSocket: string;
	/** The socket to create on this host. */
	readonly localSocket: string;
	/** The socket of the ssh agent; null for the one of the environment. */
	readonly authSock: string | null;
}

export interface Tunnel {
	/** Why it ended, as text. Never rejects. */
	readonly ended: Promise<string>;
	/** The last line that `ssh` printed; null if it printed none. */
	trouble(): string | null;
	/** Resolves when `ssh` has ended. */
	close(): Promise<void>;
}

const CONNECT_S = 15;
/** Longer than ssh's own timeout, whose message is more specific. */
const OPEN_MS_MAX = 30_000;
const HEARTBEAT_MS = 5_000;
/** Three heartbeats without an answer. */
const SILENCE_MS_MAX = 16_000;
const OUTPUT_CHARS_MAX = 4_096;
const KILL_MS = 2_000;

/** Resolves when requests can be sent through it; throws an error with the text that `ssh` printed. */
export async function openTunnel(spec: TunnelSpec, signal: AbortSignal): Promise<Tunnel> {
	signal.throwIfAborted();
	await rm(spec.localSocket, { force: true });
	const child = spawn("ssh", argumentsOf(spec), {
		stdio: "pipe",
		env: { ...process.env, ...(spec.authSock !== null && { SSH_AUTH_SOCK: spec.authSock }) },
	});
	const tunnel = new SshTunnel(child, spec.localSocket);
	const onAbort = () => void tunnel.close();
	signal.addEventListener("abort", onAbort);
	try {
		await tunnel.opened;
	} catch (error) {
		await tunnel.close();
		throw error;
	} finally {
		signal.removeEventListener("abort", onAbort);
	}
	return tunnel;
}

function argumentsOf({ target, remoteSocket, localSocket }: TunnelSpec): readonly string[] {
	const options = {
		// The daemon has no terminal: a question could never be answered.
		BatchMode: "yes",
		ConnectTimeout: String(CONNECT_S),
		ExitOnForwardFailure: "yes",
		StreamLocalBindUnlink: "yes",
		StreamLocalBindMask: "0177",
		ServerAliveInterval: "5",
		ServerAliveCountMax: "3",
		// A shared connection would keep the forwarding after this process has ended.
		ControlMaster: "no",
		ControlPath: "none",
		ForwardAgent: "no",
		ForwardX11: "no",
		PermitLocalCommand: "no",
		RequestTTY: "no",
		LogLevel: "ERROR",
	};
	const set = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
	return [...set, "-L", `${localSocket}:${remoteSocket}`, "--", target, "exec cat"];
}

class SshTunnel implements Tunnel {
	readonly opened: Promise<void>;
	readonly ended: Promise<string>;
	readonly #child: ChildProcessWithoutNullStreams;
	/** Distinguishes the answers of `cat` from the output of login scripts. */
	readonly #mark = `reeve-${randomBytes(6).toString("hex")}`;
	#stderr = "";
	#stdout = "";
	#heardAtMs = performance.now();
	#endReason: string | null = null;
	readonly #timer: NodeJS.Timeout;

	constructor(child: ChildProcessWithoutNullStreams, localSocket: string) {
		this.#child = child;
		let onOpen: () => void;
		const answered = new Promise<void>((resolve) => {
			onOpen = resolve;
		});
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			this.#stdout = (this.#stdout + text).slice(-OUTPUT_CHARS_MAX);
			if (!this.#stdout.includes(this.#mark)) return;
			this.#stdout = "";
			this.#heardAtMs = performance.now();
			onOpen();
		});
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			this.#stderr = (this.#stderr + text).slice(-OUTPUT_CHARS_MAX);
		});
		child.stdin.on("error", () => {});
		this.ended = new Promise((resolve) => {
			child.on("error", (error: NodeJS.ErrnoException) => {
				this.#endReason ??=
					error.code === "ENOENT" ? "the program `ssh` is not installed" : error.message;
				if (child.pid === undefined) resolve(this.#endReason);
			});
			child.on("close", (code, signalName) => {
				void rm(localSocket, { force: true }).catch(() => {});
				resolve(this.#endReason ?? this.trouble() ?? endOf(code, signalName));
			});
		});
		// A program that cannot be started closes nothing.
		void this.ended.then(() => clearInterval(this.#timer));
		const failed = this.ended.then((reason) => {
			throw new Error(reason);
		});
		this.opened = Promise.race([answered, failed]);
		// Not awaited if the tunnel is closed while it opens.
		this.opened.catch(() => {});
		this.#beat();
		const startedAtMs = performance.now();
		let isOpen = false;
		void answered.then(() => {
			isOpen = true;
		});
		this.#timer = setInterval(() => {
			const limitMs = isOpen ? SILENCE_MS_MAX : OPEN_MS_MAX;
			const silentMs = performance.now() - (isOpen ? this.#heardAtMs : startedAtMs);
			if (silentMs <= limitMs) return this.#beat();
			this.#endReason ??= `the host does not answer (no heartbeat for ${Math.round(silentMs / 1_000)}s)`;
			this.#kill();
		}, HEARTBEAT_MS);
		this.#timer.unref();
	}

	trouble(): string | null {
		const lines = this.#stderr.split(/\r?\n/).filter((line) => line.trim() !== "");
		const last = lines.at(-1);
		return last === undefined ? null : safeText(last).trim();
	}

	async close(): Promise<void> {
		this.#endReason ??= "closed";
		this.#child.stdin.end();
		this.#kill();
		await this.ended;
	}

	#beat(): void {
		this.#child.stdin.write(`${this.#mark}\n`);
	}

	#kill(): void {
		this.#child.kill("SIGTERM");
		setTimeout(() => this.#child.kill("SIGKILL"), KILL_MS).unref();
	}
}

function endOf(code: number | null, signal: NodeJS.Signals | null): string {
	return signal === null ? `ssh exited with code ${code}` : `ssh was killed by ${signal}`;
}
