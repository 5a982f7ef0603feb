/**
 * Reports the daemon's state to the service manager (systemd, or another with the same protocol):
 * ready, reloading, stopping, alive. Its variables are removed from the environment before any process
 * is started, so that agents cannot report on behalf of the daemon.
 */

import type { Service } from "../../services/supervise.js";
import { aborted } from "../aborted.js";
import { createNotifyRelay, type NotifyRelay } from "./notify-relay.js";

export interface ManagerEnv {
	/** The socket for messages. */
	readonly path: string;
	/** The expected interval of keep-alive messages; null if there is none. */
	readonly watchdogMs: number | null;
}

/** Null without a service manager. Removes its variables from `env`. */
export function takeManagerEnv(env: NodeJS.ProcessEnv, pid: number): ManagerEnv | null {
	const { NOTIFY_SOCKET: path, WATCHDOG_USEC: usec, WATCHDOG_PID: watched } = env;
	for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) {
		Reflect.deleteProperty(env, name);
	}
	if (path === undefined || !/^[/@]./.test(path)) return null;
	// The variables may be meant for another process.
	const isOurs = watched === undefined || watched === String(pid);
	const watchdogMs = isOurs && /^[1-9]\d*$/.test(usec ?? "") ? Number(usec) / 1_000 : null;
	return { path, watchdogMs };
}

export interface ManagerView {
	readonly ready: boolean;
	/** As text, for the unit's status. */
	readonly status: string;
}

const POLL_MS = 100;
const STATUS_LENGTH_MAX = 200;

export class ServiceManager {
	readonly #env: ManagerEnv;
	readonly #view: () => ManagerView;
	readonly #onTrouble: (message: string) => void;
	#relay: NotifyRelay | null = null;
	#isReady = false;
	#status = "";

	constructor(env: ManagerEnv, view: () => ManagerView, onTrouble: (message: string) => void) {
		this.#env = env;
		this.#view = view;
		this.#onTrouble = onTrouble;
	}

	/** The daemon works without these reports. */
	service(): Service {
		return {
			name: "service manager",
			policy: "tolerated",
			run: (signal, ready) => this.#run(signal, ready),
		};
	}

	/** A reload starts; `reloaded` reports its end. */
	reloading(): void {
		const usec = process.hrtime.bigint() / 1_000n;
		this.#relay?.send(`RELOADING=1\nMONOTONIC_USEC=${usec}`);
	}

	reloaded(): void {
		if (this.#isReady) this.#relay?.send("READY=1");
	}

	async #run(signal: AbortSignal, ready: () => void): Promise<void> {
		const relay = createNotifyRelay({
			path: this.#env.path,
			onRestart: () => this.#reportState(),
			onTrouble: this.#onTrouble,
		});
		this.#relay = relay;
		ready();
		const timers = [setInterval(() => this.#reportChanges(), POLL_MS)];
		const { watchdogMs } = this.#env;
		if (watchdogMs !== null) {
			// From the main loop, so that a blocked one sends nothing.
			timers.push(setInterval(() => relay.send("WATCHDOG=1"), watchdogMs / 2));
		}
		await aborted(signal);
		for (const timer of timers) clearInterval(timer);
		relay.send("STOPPING=1\nSTATUS=stopping");
		this.#relay = null;
		await relay.close();
	}

	/** Reports changes since the last check. */
	#reportChanges(): void {
		const { ready, status } = this.#view();
		const line = status.replaceAll(/\s+/g, " ").slice(0, STATUS_LENGTH_MAX);
		const isFirst = ready && !this.#isReady;
		if (!isFirst && line === this.#status) return;
		this.#isReady ||= ready;
		this.#status = line;
		this.#reportState();
	}

	#reportState(): void {
		const state = this.#isReady ? "READY=1\n" : "";
		this.#relay?.send(`${state}STATUS=${this.#status}`);
	}
}
