/**
 * The backend's own tmux server, never the user's, with its own socket, configuration and environment.
 * It is started on first use and outlives this process; a clean exit of this process stops it if it has
 * no run.
 *
 * There are two connections, whatever the number of runs: one for commands, one that waits for the
 * death of a pane. tmux remembers a wake-up that arrives while nothing waits.
 */

import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { withFileLock } from "../../home/file-lock.js";
import { isAlive, readIdentity } from "../../host/process-identity.js";
import { signalVerified } from "../../host/process-tree.js";
import { ConnectGate } from "./connect-gate.js";
import {
	ConnectionLost,
	ControlClient,
	type ControlEvents,
	type Enclose,
	type ServerPlace,
	serverArgs,
} from "./control-client.js";

/** A pane in tmux. */
export interface Pane {
	readonly dead: boolean;
	/** The exit code of the launcher; null while it runs, if it was killed, or tmux missed it. */
	readonly status: number | null;
	readonly signal: number | null;
}

export interface Listing {
	/** The queried server; null if none listens. */
	readonly serverPid: number | null;
	/** By the name of their session. */
	readonly panes: ReadonlyMap<string, Pane>;
}

export interface ServerEvents {
	/** Some pane has died. */
	onPaneDeath(): void;
	/** The connection was lost: the server may be gone. */
	onDrop(): void;
}

/**
 * The session that connections are attached to; it has no process. It stays when they close: tmux 3.3a
 * crashes, with all agents, when a session is destroyed for being unattached while a dead connection
 * was waiting.
 */
const ANCHOR = "reeve";
const ANCHOR_SHAPE = ["-s", ANCHOR, "-x", "80", "-y", "24", "true"];
const CONNECT = ["new-session", "-A", ...ANCHOR_SHAPE];
const DEATH = "reeve-pane-death";
const ANSWER_MS_MAX = 30_000;
const CONNECT_TRIES = 5;
const LEAVE_LOOKS = 50;
/** A slow viewer is the last to notice that its session is gone. */
const VIEWERS_MS_MAX = 2_000;

/** The server's configuration. */
export const SERVER_CONFIG = [
	"set -g remain-on-exit on",
	"set -g history-limit 500",
	"set -g status off",
	"set -g default-terminal xterm-256color",
	"set -g allow-rename off",
	"set -g automatic-rename off",
	"set -g bell-action none",
	"set -g monitor-bell off",
	"set -s escape-time 0",
	`set-hook -g pane-died 'wait-for -S ${DEATH}'`,
	"",
].join("\n");

export class TmuxServer {
	readonly #place: ServerPlace;
	readonly #events: ServerEvents;
	readonly #gate = new ConnectGate();
	/** With the session that each is attached to. */
	readonly #viewers = new Map<ControlClient, string>();
	#client: Promise<ControlClient> | null = null;
	/** The same, once it is connected. */
	#standing: ControlClient | null = null;
	#listing: Promise<Listing> | null = null;
	#isClosed = false;

	constructor(place: ServerPlace, events: ServerEvents) {
		this.#place = place;
		this.#events = events;
	}

	/**
	 * Runs a line of commands that neither create nor destroy a session, starting the server if
	 * necessary. Returns the lines of their responses.
	 */
	async run(line: string, count = 1): Promise<string[][]> {
		return send(await this.#connected(), line, count);
	}

	/** Like `run`, for a line that creates a session. */
	async create(line: string, count: number): Promise<string[][]> {
		// Before the gate, which a connection has to pass as well.
		const client = await this.#connected();
		return this.#gate.change(() => send(client, line, count));
	}

	/** Kills a session. Its viewers are disconnected. */
	async kill(session: string): Promise<void> {
		const client = await this.#connected();
		await this.#gate.change(async () => {
			await send(client, `kill-session -t '=${session}'`);
			const watching = [...this.#viewers].filter(([, watched]) => watched === session);
			if (watching.length === 0) return;
			const gone = Promise.all(watching.map(([viewer]) => viewer.gone));
			await Promise.race([gone, sleep(VIEWERS_MS_MAX, undefined, { ref: false })]);
			await settle(client);
		});
	}

	/** A separate connection to a session. Rejects if there is none, after calling `onClose`. */
	view(session: string, events: ControlEvents): Promise<ControlClient> {
		return this.#gate.connect(async () => {
			const attach = ["attach-session", "-t", `=${session}:`];
			const viewer = new ControlClient(this.#place, attach, events);
			this.#viewers.set(viewer, session);
			void viewer.gone.then(() => this.#viewers.delete(viewer));
			try {
				await withDeadline(viewer.ready);
				return viewer;
			} catch (error) {
				viewer.close();
				throw error;
			}
		});
	}

	endView(viewer: ControlClient): void {
		void this.#gate.change(async () => {
			viewer.close();
			await viewer.gone;
			// Not one that is still connecting: it waits for this to finish.
			if (this.#standing !== null) await settle(this.#standing);
		});
	}

	#connected(): Promise<ControlClient> {
		this.#client ??= this.#connect();
		return this.#client;
	}

	/** All panes after this call; simultaneous callers share the result. Does not start a server. */
	panes(): Promise<Listing> {
		this.#listing ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
			this.#listing = null;
			return this.#list();
		});
		return this.#listing;
	}

	async close(): Promise<void> {
		try {
			// Including a server of an earlier process that was not used since.
			const standing = await (this.#client ?? ((await this.#isThere()) ? this.#connect() : null));
			this.#isClosed = true;
			if (standing !== null) await this.#leave(standing);
		} catch {
			// It was never connected, or is already gone.
		} finally {
			this.#isClosed = true;
			this.#client = null;
			for (const viewer of this.#viewers.keys()) viewer.close();
		}
	}

	/** Disconnects, and stops the server if it has no runs. */
	async #leave(client: ControlClient): Promise<void> {
		const [panes = [], [pid = ""] = []] = await send(
			client,
			"list-panes -a -F '#{pane_dead}' ; display-message -p '#{pid}'",
			2,
		);
		// A pane whose program has exited has no run: its exit and log are stored elsewhere. Killed and not
		// asked to exit: tmux waits for every client first, and one whose process died never responds.
		const server = panes.every((dead) => dead === "1") ? readIdentity(Number(pid)) : null;
		client.close();
		if (server === null || signalVerified(server, "SIGKILL") === "refused") return;
		// A killed server cannot remove its socket itself. The lock prevents the start of another server
		// meanwhile.
		await this.#underLock(async () => {
			for (let looks = 0; looks < LEAVE_LOOKS && isAlive(server) !== false; looks++)
				await sleep(20);
			if (!(await this.#isThere())) rmSync(this.#place.socket, { force: true });
		});
	}

	/** The current state of one pane; undefined if there is none. */
	async pane(session: string): Promise<Pane | undefined> {
		if (!(await this.#canAsk())) return undefined;
		try {
			const [[line] = []] = await this.run(`list-panes -t '=${session}:' -F '${PANE_FORMAT}'`);
			return line === undefined ? undefined : parsePane(line)[1];
		} catch (error) {
			if (error instanceof ConnectionLost) throw error;
			return undefined;
		}
	}

	async #list(): Promise<Listing> {
		if (!(await this.#canAsk())) return { serverPid: null, panes: new Map() };
		const [lines = [], [pid] = []] = await this.run(
			`list-panes -a -F '${PANE_FORMAT}' ; display-message -p '#{pid}'`,
			2,
		);
		return { serverPid: Number(pid), panes: new Map(lines.map(parsePane)) };
	}

	/** Does not start a server. */
	async #canAsk(): Promise<boolean> {
		return this.#client !== null || this.#underLock(() => this.#isThere());
	}

	/** Whether a server listens. An unclear result counts as yes, and fails later. */
	#isThere(): Promise<boolean> {
		return new Promise((resolve) => {
			const socket = connect(this.#place.socket);
			socket.once("connect", () => {
				socket.destroy();
				resolve(true);
			});
			socket.once("error", ({ code }: NodeJS.ErrnoException) => {
				resolve(code !== "ENOENT" && code !== "ECONNREFUSED");
			});
		});
	}

	async #connect(): Promise<ControlClient> {
		try {
			for (let tries = 1; ; tries++) {
				try {
					return await this.#gate.connect(() => this.#underLock(() => this.#open()));
				} catch (error) {
					// A server that has just lost its last session is still exiting.
					if (tries >= CONNECT_TRIES || this.#isClosed) throw error;
					await sleep(20 * 2 ** tries);
				}
			}
		} catch (error) {
			this.#client = null;
			throw error;
		}
	}

	/**
	 * One client at a time while a server may be starting: tmux 3.3 crashes when two connect before it is
	 * ready.
	 */
	#underLock<T>(act: () => Promise<T>): Promise<T> {
		return withFileLock(dirname(this.#place.config), "start", act);
	}

	async #open(): Promise<ControlClient> {
		if (this.#isClosed) throw new Error("the backend is closed");
		if (this.#place.enclose !== null && !(await this.#isThere())) {
			await startEnclosed(this.#place, this.#place.enclose);
		}
		const opened: ControlClient[] = [];
		let stands = false;
		const open = async (onClose: () => void) => {
			const client = new ControlClient(this.#place, CONNECT, { onNotice() {}, onClose });
			opened.push(client);
			await withDeadline(client.ready);
			return client;
		};
		try {
			const client = await open(() => {
				for (const other of opened) other.close();
				if (!stands) return;
				this.#client = null;
				this.#standing = null;
				if (!this.#isClosed) this.#events.onDrop();
			});
			const waiter = await open(() => {});
			this.#waitForDeaths(waiter, client);
			stands = true;
			this.#standing = client;
			return client;
		} catch (error) {
			for (const client of opened) client.close();
			throw error;
		}
	}

	#waitForDeaths(waiter: ControlClient, client: ControlClient): void {
		waiter.send(`wait-for ${DEATH}`, 1, (answer) => {
			// Without it, deaths would be detected late, so both are reconnected.
			if (answer instanceof Error) {
				client.close();
				return;
			}
			this.#events.onPaneDeath();
			this.#waitForDeaths(waiter, client);
		});
	}
}

/** Starts a server outside of the unit of this process, which may be stopped with everything in it. */
async function startEnclosed(place: ServerPlace, enclose: Enclose): Promise<void> {
	const start = ["new-session", "-d", ...ANCHOR_SHAPE];
	const [program, ...args] = enclose([place.program, ...serverArgs(place), ...start]);
	const options = { cwd: "/", env: place.env, timeout: ANSWER_MS_MAX };
	await promisify(execFile)(program, args, options);
}

const PANE_FORMAT = "#{session_name}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}";

function parsePane(line: string): [session: string, pane: Pane] {
	const numberOf = (text: string | undefined) => (text ? Number(text) : null);
	const [session = "", dead, status, signal] = line.split("|");
	return [session, { dead: dead === "1", status: numberOf(status), signal: numberOf(signal) }];
}

function send(client: ControlClient, line: string, count = 1): Promise<string[][]> {
	return new Promise((resolve, reject) => {
		const giveUp = setTimeout(() => {
			reject(new ConnectionLost(`tmux did not respond within ${ANSWER_MS_MAX / 1_000} s`));
			client.close();
		}, ANSWER_MS_MAX);
		client.send(line, count, (answer) => {
			clearTimeout(giveUp);
			if (answer instanceof Error) reject(answer);
			else resolve(answer.bodies.map((body) => body.map((text) => text.toString())));
		});
	});
}

/** Resolves when tmux has processed everything before, or does not respond. */
async function settle(client: ControlClient): Promise<void> {
	await send(client, "display-message -p ''").catch(() => {});
}

async function withDeadline<T>(promise: Promise<T>): Promise<T> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new Error("tmux does not respond")), ANSWER_MS_MAX);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}
