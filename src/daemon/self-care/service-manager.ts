/**
 * Tells the service manager (systemd, or whoever speaks its protocol) how the daemon is: ready, reloading,
 * stopping, alive. What it was told by it stays with the daemon: agents must not speak in its name, so the
 * variables are taken out of the environment before anything is started.
 */

import type { Service } from "../../services/supervise.js";
import { aborted } from "../aborted.js";
import { createDatagramRelay, type DatagramRelay } from "./datagram-relay.js";

export interface ManagerEnv {
	/** The socket to which messages go. */
	readonly path: string;
	/** How often it wants to hear that the daemon is alive; null when it does not. */
	readonly watchdogMs: number | null;
	readonly searchPath: string;
}

/** Null when no service manager wants to hear anything. Takes its variables out of `env`. */
export function takeManagerEnv(env: NodeJS.ProcessEnv, pid: number): ManagerEnv | null {
	const { NOTIFY_SOCKET: path, WATCHDOG_USEC: usec, WATCHDOG_PID: watched, PATH } = env;
	for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) {
		Reflect.deleteProperty(env, name);
	}
	if (path === undefined || !/^[/@]./.test(path)) return null;
	// A watchdog may be meant for another process that only left its variables behind.
	const isOurs = watched === undefined || watched === String(pid);
	const watchdogMs = isOurs && /^[1-9]\d*$/.test(usec ?? "") ? Number(usec) / 1_000 : null;
	return { path, watchdogMs, searchPath: PATH ?? "/usr/bin:/bin" };
}

export interface ManagerView {
	readonly ready: boolean;
	/** In words, for whoever looks at the unit. */
	readonly status: string;
}

const LOOK_MS = 100;
const STATUS_LENGTH_MAX = 200;

export class ServiceManager {
	readonly #env: ManagerEnv;
	readonly #view: () => ManagerView;
	readonly #onTrouble: (message: string) => void;
	#relay: DatagramRelay | null = null;
	#isReady = false;
	#status = "";

	constructor(env: ManagerEnv, view: () => ManagerView, onTrouble: (message: string) => void) {
		this.#env = env;
		this.#view = view;
		this.#onTrouble = onTrouble;
	}

	/** The daemon works without anybody being told of it. */
	service(): Service {
		return {
			name: "service manager",
			policy: "tolerated",
			run: (signal, ready) => this.#run(signal, ready),
		};
	}

	/** A reload begins; `reloaded` says that it is over. */
	reloading(): void {
		const usec = process.hrtime.bigint() / 1_000n;
		this.#relay?.send(`RELOADING=1\nMONOTONIC_USEC=${usec}`);
	}

	reloaded(): void {
		if (this.#isReady) this.#relay?.send("READY=1");
	}

	async #run(signal: AbortSignal, ready: () => void): Promise<void> {
		const relay = createDatagramRelay({
			...this.#env,
			onRestart: () => this.#tellAll(),
			onTrouble: this.#onTrouble,
		});
		this.#relay = relay;
		ready();
		const timers = [setInterval(() => this.#look(), LOOK_MS)];
		const { watchdogMs } = this.#env;
		if (watchdogMs !== null) {
			// From the main loop, so that one that is blocked says nothing.
			timers.push(setInterval(() => relay.send("WATCHDOG=1"), watchdogMs / 2));
		}
		await aborted(signal);
		for (const timer of timers) clearInterval(timer);
		relay.send("STOPPING=1\nSTATUS=stopping");
		this.#relay = null;
		await relay.close();
	}

	/** Tells what is different since the last look. */
	#look(): void {
		const { ready, status } = this.#view();
		const line = status.replaceAll(/\s+/g, " ").slice(0, STATUS_LENGTH_MAX);
		const isFirst = ready && !this.#isReady;
		if (!isFirst && line === this.#status) return;
		this.#isReady ||= ready;
		this.#status = line;
		this.#tellAll();
	}

	#tellAll(): void {
		const state = this.#isReady ? "READY=1\n" : "";
		this.#relay?.send(`${state}STATUS=${this.#status}`);
	}
}
