/**
 * The backend's own tmux server: never the user's, with a socket, a configuration and an environment of
 * its own. It is started when first needed and outlives this process; a process that leaves in order
 * takes it along when it holds no run.
 *
 * Two connections stand, whatever the number of runs: one for commands, one that waits for the death of
 * a pane. tmux remembers a wake that comes while nobody waits.
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

/** A pane as tmux sees it. */
export interface Pane {
	readonly dead: boolean;
	/** The exit code of the launcher; null while it lives, when it was killed, or tmux missed it. */
	readonly status: number | null;
	readonly signal: number | null;
}

export interface Listing {
	/** The server that was asked; null when nobody listens. */
	readonly serverPid: number | null;
	/** By the name of their session. */
	readonly panes: ReadonlyMap<string, Pane>;
}

export interface ServerEvents {
	/** Some pane has died. */
	onPaneDeath(): void;
	/** The connection dropped: perhaps the server is gone. */
	onDrop(): void;
}

/**
 * The session that connections are attached to; it has no process. It stays when they go: tmux 3.3a
 * crashes, and takes every agent along, when a session is destroyed for being unattached while a
 * connection that died was waiting.
 */
const ANCHOR = "reeve";
const ANCHOR_SHAPE = ["-s", ANCHOR, "-x", "80", "-y", "24", "true"];
const CONNECT = ["new-session", "-A", ...ANCHOR_SHAPE];
const DEATH = "reeve-pane-death";
const ANSWER_MS_MAX = 30_000;
const CONNECT_TRIES = 5;
const LEAVE_LOOKS = 50;
/** A viewer that reads slowly is the last to notice that its session is gone. */
const VIEWERS_MS_MAX = 2_000;

/** What the server reads when it starts. */
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
	 * Runs a line of commands that make no session come or go, starting the server if need be. The
	 * lines of their answers.
	 */
	async run(line: string, count = 1): Promise<string[][]> {
		return send(await this.#connected(), line, count);
	}

	/** As `run`, for a line that makes a session come. */
	async create(line: string, count: number): Promise<string[][]> {
		// Before the gate, which a connection has to pass as well.
		const client = await this.#connected();
		return this.#gate.change(() => send(client, line, count));
	}

	/** Ends a session. Whoever watches it is let go with it. */
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

	/** A connection of its own to a session. Rejects when there is none, after `onClose` was told. */
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
			// Not one that is still connecting: it waits for this to be over.
			if (this.#standing !== null) await settle(this.#standing);
		});
	}

	#connected(): Promise<ControlClient> {
		this.#client ??= this.#connect();
		return this.#client;
	}

	/**
	 * All panes, as they are after this call; whoever asks at the same
	 * moment shares the answer. Where there is no server, none is started.
	 */
	panes(): Promise<Listing> {
		this.#listing ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
			this.#listing = null;
			return this.#list();
		});
		return this.#listing;
	}

	async close(): Promise<void> {
		try {
			// Also a server that an earlier process left, and that nothing was asked of since.
			const standing = await (this.#client ?? ((await this.#isThere()) ? this.#connect() : null));
			this.#isClosed = true;
			if (standing !== null) await this.#leave(standing);
		} catch {
			// It never stood, or is gone already.
		} finally {
			this.#isClosed = true;
			this.#client = null;
			for (const viewer of this.#viewers.keys()) viewer.close();
		}
	}

	/** Goes, and takes the server along if it holds nothing. */
	async #leave(client: ControlClient): Promise<void> {
		const [panes = [], [pid = ""] = []] = await send(
			client,
			"list-panes -a -F '#{pane_dead}' ; display-message -p '#{pid}'",
			2,
		);
		// A pane whose program has ended holds nothing: its exit and its log are kept elsewhere. Killed and
		// not asked to go: tmux waits for every client first, and one whose process died never answers.
		const server = panes.every((dead) => dead === "1") ? readIdentity(Number(pid)) : null;
		client.close();
		if (server === null || signalVerified(server, "SIGKILL") === "refused") return;
		// Killed, it cannot remove its socket itself. Under the lock, nobody starts another server meanwhile.
		await this.#underLock(async () => {
			for (let looks = 0; looks < LEAVE_LOOKS && isAlive(server) !== false; looks++)
				await sleep(20);
			if (!(await this.#isThere())) rmSync(this.#place.socket, { force: true });
		});
	}

	/** One pane, as it is now; undefined when there is none. */
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

	/** Only to ask, no server is started. */
	async #canAsk(): Promise<boolean> {
		return this.#client !== null || this.#underLock(() => this.#isThere());
	}

	/** Whether anybody listens. What is neither yes nor no counts as yes, and fails later. */
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
					// A server that has just lost its last session is still leaving.
					if (tries >= CONNECT_TRIES || this.#isClosed) throw error;
					await sleep(20 * 2 ** tries);
				}
			}
		} catch (error) {
			this.#client = null;
			throw error;
		}
	}

	/** One client at a time while a server may be starting: tmux 3.3 crashes when two connect before it is ready. */
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
			// Without it deaths would be seen late, so both are made anew.
			if (answer instanceof Error) {
				client.close();
				return;
			}
			this.#events.onPaneDeath();
			this.#waitForDeaths(waiter, client);
		});
	}
}

/** Starts a server that is not in the unit of this process, which may be stopped with all that is in it. */
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
			reject(new ConnectionLost(`no answer from tmux within ${ANSWER_MS_MAX / 1_000} s`));
			client.close();
		}, ANSWER_MS_MAX);
		client.send(line, count, (answer) => {
			clearTimeout(giveUp);
			if (answer instanceof Error) reject(answer);
			else resolve(answer.bodies.map((body) => body.map((text) => text.toString())));
		});
	});
}

/** Resolves when tmux has dealt with everything that happened before, or cannot be asked. */
async function settle(client: ControlClient): Promise<void> {
	await send(client, "display-message -p ''").catch(() => {});
}

async function withDeadline<T>(promise: Promise<T>): Promise<T> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new Error("tmux does not answer")), ANSWER_MS_MAX);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}
