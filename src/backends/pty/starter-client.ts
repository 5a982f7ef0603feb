/**
 * The connection to the starter. It is opened on first use and again after it was lost. A start whose
 * outcome is unknown rejects with `ConnectionLost`; then only the run's own files have the answer.
 */

import { type Connection, ConnectionLost } from "./connection.js";
import { PayloadWriter } from "./payload.js";
import {
	encodeSpec,
	KILL_STRANGERS,
	type Killed,
	type RunSpec,
	readFailed,
	readKilled,
	readStarted,
	START,
	STARTED,
	STRANGERS,
	type Started,
	type StartFailed,
} from "./starter-messages.js";
import { findStarter, lastLine, reachStarter, type StarterPaths } from "./starter-process.js";

/** After this time a start is looked up by its files. */
const START_MS_MAX = 30_000;
const NOTHING = Buffer.alloc(0);
/** The version of the protocol with enclosures. */
const ENCLOSES = 2;
/** The version whose records name the agent and its log. */
const NAMES_AGENT = 3;
/** The version with deadlines. */
const ENDS_IN_TIME = 4;

export class StarterClient {
	readonly #place: StarterPaths;
	#connecting: Promise<Connection> | null = null;
	#pid: number | null = null;
	#isClosed = false;

	constructor(place: StarterPaths) {
		this.#place = place;
	}

	/** The starter's process, once it is connected. */
	get pid(): number | null {
		return this.#pid;
	}

	async start(spec: RunSpec): Promise<Started | StartFailed> {
		const connection = await this.reach();
		if (spec.enclosure.length > 0 && connection.version < ENCLOSES) {
			throw new Error("the starter of an older version of Reeve cannot put a run into a unit");
		}
		if (spec.deadline !== null && connection.version < ENDS_IN_TIME) {
			throw new Error(
				"the starter of an older version of Reeve cannot end a run at its deadline; it exits when its last run has ended",
			);
		}
		const { type, payload } = await connection.ask(START, encodeSpec(spec), START_MS_MAX);
		return type === STARTED ? readStarted(payload) : readFailed(payload);
	}

	/** Whether the records of its runs name the agent and its log; starts a starter if there is none. */
	async namesAgents(): Promise<boolean> {
		return (await this.reach()).version >= NAMES_AGENT;
	}

	/** The last line that the starter, or a program that was to run a shim, has written. */
	lastLine(): string {
		return lastLine(this.#place);
	}

	/** Processes that killed shims have left to the starter, with their descendants. */
	async strangers(): Promise<readonly number[]> {
		const { payload } = await this.#askAgain(STRANGERS, NOTHING);
		return payload.pids();
	}

	async killStrangers(deadlineMs: number): Promise<Killed> {
		const asked = new PayloadWriter().u32(deadlineMs).end();
		const { payload } = await this.#askAgain(KILL_STRANGERS, asked, deadlineMs + 5_000);
		return readKilled(payload);
	}

	/** Resolves when the starter responds; starts one if there is none. */
	async reach(): Promise<Connection> {
		if (this.#isClosed) throw new Error("the backend is closed");
		this.#connecting ??= this.#open();
		return this.#connecting;
	}

	/**
	 * Does not wait for a connection that is still being made. A starter without runs is asked to leave instead of
	 * waiting for another daemon, also one that this client has not needed; it stays as long as it has a child.
	 */
	async close({ isIdle }: { readonly isIdle: boolean }): Promise<void> {
		this.#isClosed = true;
		const connecting = this.#connecting;
		this.#connecting = null;
		const dismiss = (connection: Connection, pid: number | null) => {
			if (isIdle && pid !== null && !connection.isClosed) askToExit(pid);
			connection.close();
		};
		if (connecting !== null) {
			connecting.then((connection) => dismiss(connection, this.#pid)).catch(() => {});
		} else if (isIdle) {
			const found = await findStarter(this.#place.folder).catch(() => null);
			if (found !== null) dismiss(found, found.hello.u32());
		}
	}

	/** Repeatable requests are sent again after a lost connection. */
	async #askAgain(type: number, payload: Buffer, answerMs?: number) {
		try {
			return await (await this.reach()).ask(type, payload, answerMs);
		} catch (error) {
			if (!(error instanceof ConnectionLost)) throw error;
			return (await this.reach()).ask(type, payload, answerMs);
		}
	}

	async #open(): Promise<Connection> {
		try {
			const connection = await reachStarter(this.#place);
			this.#pid = connection.hello.u32();
			connection.listen({
				// A killed shim is also detected by its own connection, which is authoritative.
				onFrame() {},
				onClose: () => {
					this.#connecting = null;
				},
			});
			return connection;
		} catch (error) {
			this.#connecting = null;
			throw error;
		}
	}
}

/** Its connection is open, so the pid is still its own. */
function askToExit(pid: number): void {
	try {
		process.kill(pid, "SIGTERM");
	} catch {
		// It has exited by itself.
	}
}
