/**
 * One run watched by this daemon: the connection to its shim, its screen while a client looks, and its
 * end. The end is reported once (S8): by the shim, from its record if the connection was lost, or, if
 * the shim itself was killed, once the agent's process is gone. Then its exit is unknown.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { oomCountersOf, readOomKills } from "../../host/cgroup-members.js";
import { isAlive } from "../../host/process-identity.js";
import type {
	Deadline,
	RunExit,
	RunHandle,
	ScreenText,
	ScreenWatch,
	ScreenWatcher,
	TerminalConnection,
	TerminalSize,
	TerminalViewer,
} from "../../ports/backend.js";
import type { AgentFolders } from "./agent-folder.js";
import type { Connection } from "./connection.js";
import { type EarlierFiles, REPLACED } from "./earlier-version.js";
import { findRun } from "./find-run.js";
import type { Frame } from "./frames.js";
import { agentFolderOf, groupsOf, hadDeadline } from "./handle.js";
import { PayloadReader } from "./payload.js";
import { readRecord } from "./run-record.js";
import { LiveScreen } from "./screen/live-screen.js";
import {
	openShim,
	resizeTerminal,
	type ShimConnection,
	sendDeadline,
	typeBytes,
} from "./shim-connection.js";
import { EXIT, QUERY, readExit, type ShimExit, TREE_EMPTY } from "./shim-messages.js";

export interface HeldRunWorld {
	readonly folders: AgentFolders;
	readonly earlier: EarlierFiles;
	/** Called once. */
	onExit(exit: RunExit): void;
	/** The shim is gone without proof that no process of the run is left. */
	onLost(run: HeldRun): void;
	/** The shim was killed while the agent may still run. Resolves when the agent's own process is gone. */
	waitForAgent(run: HeldRun): Promise<void>;
}

const RECONNECT_MS_MAX = 1_000;
/** The maximum size of one input. */
const TYPED_BYTES_MAX = 4 * 1024 * 1024;

export class HeldRun {
	readonly handle: RunHandle;
	/** The name of the agent's directory. */
	readonly agent: string;
	readonly #world: HeldRunWorld;
	#shim: ShimConnection | null = null;
	#screen: LiveScreen | null = null;
	#typing: Promise<unknown> = Promise.resolve();
	/** Set when the exit is known. */
	#exit: RunExit | null = null;
	#deadline: Deadline | null = null;
	#isTreeGone = false;
	#isLost = false;
	#isClosed = false;

	constructor(handle: RunHandle, agent: string, world: HeldRunWorld) {
		this.handle = handle;
		this.agent = agent;
		this.#world = world;
	}

	get runId(): string {
		return this.handle.runId;
	}

	/** Its exit; null while it runs as far as known. */
	get exit(): RunExit | null {
		return this.#exit;
	}

	/** Proven by the shim: no process of the run is left. */
	get isTreeGone(): boolean {
		return this.#isTreeGone;
	}

	/** The shim has killed the tree and seen its last process exit. */
	provenGone(): void {
		this.#isTreeGone = true;
	}

	/** The open connection; null if there is none. */
	get shim(): ShimConnection | null {
		return this.#shim;
	}

	/** Uses a connection after the handshake with the shim. */
	useShim(shim: ShimConnection): void {
		const { connection, status } = shim;
		this.#shim = shim;
		connection.listen({
			onFrame: (frame) => this.#onFrame(frame),
			onClose: () => this.#dropped(connection),
		});
		if (this.#deadline !== null) sendDeadline(connection, this.#deadline);
		if (status.exit !== null) this.ended(status.exit);
		else if (status.queryOffset !== null) this.#answerQuery(status.queryOffset);
	}

	/** The shim is dead, or was dead when this daemon started. */
	markLost(): void {
		if (this.#isLost || this.#exit !== null) return;
		this.#isLost = true;
		this.#world.onLost(this);
		this.#screen?.close("the process that held the terminal was killed");
		void this.#world.waitForAgent(this).then(() => {
			if (!this.#isClosed) this.#endedWithoutStatus();
		});
	}

	ended(
		{ code, signal, atMs, treeEmpty, ...known }: ShimExit,
		more: Pick<RunExit, "replaced"> = {},
	): void {
		if (treeEmpty) this.#isTreeGone = true;
		if (this.#exit !== null) return;
		const wasKilled = signal === "SIGKILL" || code === 137;
		const counts = groupsOf(this.handle).flatMap(oomCountersOf);
		const outOfMemory =
			wasKilled && (known.outOfMemory === true || counts.some((path) => readOomKills(path) > 0));
		const { runId } = this;
		const atDeadline = known.atDeadline ?? this.#wasAtDeadline();
		this.#exit = {
			...{ runId, code, signal, atMs, outOfMemory, treeGone: treeEmpty },
			...(atDeadline && { atDeadline }),
			...more,
		};
		if (!treeEmpty && this.#shim === null) this.#world.onLost(this);
		this.#world.onExit(this.#exit);
	}

	/** The exit was not observed, unless a holder of an earlier version has recorded it. */
	#endedWithoutStatus(): void {
		const isOfEarlier = agentFolderOf(this.handle) === null;
		const seen = isOfEarlier ? this.#world.earlier.exit(this.runId) : null;
		const { code, signal, atMs } = seen ?? { code: null, signal: null, atMs: Date.now() };
		this.ended({ code, signal, atMs, treeEmpty: false }, isOfEarlier ? { replaced: REPLACED } : {});
	}

	/** The last one is sent again on a new connection. */
	setDeadline(deadline: Deadline): void {
		this.#deadline = deadline;
		if (this.#shim !== null) sendDeadline(this.#shim.connection, deadline);
	}

	/** Types bytes one call after another. */
	type(bytes: Uint8Array, options: { readonly isPaste?: boolean } = {}): Promise<void> {
		const { connection } = this.#terminal();
		if (bytes.length > TYPED_BYTES_MAX) throw new Error("the input is too large");
		const typed = this.#typing.then(() => typeBytes(connection, bytes, options));
		this.#typing = typed.catch(() => {});
		return typed;
	}

	async screen(): Promise<ScreenText> {
		this.#terminal();
		return this.#openScreen(null).text();
	}

	async watchScreen(watcher: ScreenWatcher): Promise<ScreenWatch> {
		this.#terminal();
		return this.#openScreen(null).watch(watcher);
	}

	async attach(viewer: TerminalViewer, size: TerminalSize | null): Promise<TerminalConnection> {
		this.#terminal();
		const screen = this.#openScreen(null);
		const resize = (to: TerminalSize) => {
			if (this.#shim !== null) resizeTerminal(this.#shim.connection, to);
			this.#screen?.resize(to);
		};
		if (size !== null) await screen.prepared.then(() => resize(size));
		const leave = await screen.attach(viewer);
		return {
			write: (bytes) => void this.#tryType(bytes),
			resize,
			close: leave,
		};
	}

	close(): void {
		this.#isClosed = true;
		this.#screen?.close(this.#exit === null ? "the daemon stops" : "the agent has exited");
		this.#shim?.connection.close();
	}

	#terminal(): ShimConnection {
		const shim = this.#shim;
		if (shim === null || this.#exit !== null) {
			throw new Error(`run ${this.runId} has no terminal`);
		}
		if (!shim.status.terminal) throw new Error("the agent has no terminal");
		return shim;
	}

	async #tryType(bytes: Uint8Array): Promise<void> {
		try {
			await this.type(bytes);
		} catch {
			// The viewer sees that nothing happens; no other client waits for the result.
		}
	}

	#onFrame({ type, payload }: Frame): void {
		if (type === EXIT) this.ended(readExit(new PayloadReader(payload)));
		else if (type === TREE_EMPTY) this.#isTreeGone = true;
		else if (type === QUERY) this.#answerQuery(new PayloadReader(payload).u64());
	}

	#answerQuery(offset: number): void {
		this.#openScreen(offset);
	}

	/** The shim writes its record before it reports the exit. */
	#wasAtDeadline(): boolean {
		if (!hadDeadline(this.handle)) return false;
		try {
			const record = readRecord(this.#world.folders.pathOf(this.agent));
			return record?.runId === this.runId && record.exit?.atDeadline === true;
		} catch {
			return false;
		}
	}

	#openScreen(answersFrom: number | null): LiveScreen {
		if (this.#screen !== null) return this.#screen;
		const { folders } = this.#world;
		const status = this.#shim?.status;
		const screen = new LiveScreen(
			{
				logDir: folders.readAbout(this.agent)?.logDir ?? "",
				size: status?.size ?? { columns: 80, rows: 24 },
				open: async () => (await openShim(folders.socketOf(this.agent))).connection,
				answer: (bytes) => void this.#tryType(bytes),
				onClose: () => {
					if (this.#screen === screen) this.#screen = null;
				},
			},
			answersFrom ?? status?.queryOffset ?? null,
		);
		this.#screen = screen;
		return screen;
	}

	#dropped(connection: Connection): void {
		if (this.#shim?.connection !== connection) return;
		this.#shim = null;
		if (this.#isClosed || (this.#exit !== null && this.#isTreeGone)) return;
		void this.#reconnect();
	}

	/** The connection was lost: the shim has exited, was killed, or has cut it off. */
	async #reconnect(): Promise<void> {
		for (let pauseMs = 20; !this.#isClosed; pauseMs = Math.min(pauseMs * 2, RECONNECT_MS_MAX)) {
			const found = await findRun(this.#world.folders, this.runId, this.agent);
			if (found.state === "held" && this.#isClosed) return found.shim.connection.close();
			if (found.state === "held") return this.useShim(found.shim);
			if (found.state === "exited") {
				if (!found.exit.treeEmpty) this.#world.onLost(this);
				return this.ended(found.exit);
			}
			if (found.state !== "unknown") {
				if (this.#exit !== null) return this.#world.onLost(this);
				// Without its record, only its process shows when it ends.
				return this.markLost();
			}
			await sleep(pauseMs, undefined, { ref: false });
		}
	}
}

/** Whether the agent's own process may be alive. */
export const mayBeAlive = ({ handle }: HeldRun) => isAlive(handle.process) !== false;
