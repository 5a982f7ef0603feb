/**
 * One run while it lives: its process, its log, and in a terminal its screen and viewers.
 *
 * Output goes to the log, the screen and the viewers in the order in which it came. The terminal is not
 * read while log or screen are behind, so the agent waits instead of memory growing (A6); a viewer that
 * is behind is left out and later given the screen anew.
 */

import { spawn } from "node:child_process";
import type { RunGroups } from "../../../host/cgroup.js";
import { createLogWriter, openSharedLog } from "../../../host/log-files.js";
import type { Launch } from "../../../host/spawn-errors.js";
import type { StartRequest, TerminalSize } from "../../../ports/backend.js";
import { type OpenTerminal, openTerminal, type ProcessEnd } from "./open-terminal.js";
import { CAN_PREPARE, hasJoined, prepareLaunch } from "./prepare-launch.js";
import { createScreen } from "./screen.js";

export interface RunViewer {
	/** False when it cannot take more now; then nothing comes until `catchUp`. */
	onOutput(bytes: Buffer): boolean;
	onSnapshot(bytes: Buffer, size: TerminalSize): void;
	onClose(reason: string): void;
}

export interface Viewing {
	write(bytes: Buffer): void;
	resize(size: TerminalSize): void;
	/** The viewer can take more again. */
	catchUp(): void;
	close(): void;
}

export interface Run {
	readonly pid: number;
	/** Null without a terminal. */
	readonly terminal: {
		input(bytes: Uint8Array): Promise<void>;
		text(): Promise<string>;
		attach(viewer: RunViewer, size: TerminalSize | null): Viewing;
	} | null;
	/** Keeps the log within bounds. */
	trim(): void;
}

/** Called once, when the process has ended and all it printed is in the log. */
export type OnRunEnd = (end: ProcessEnd, atMs: number) => void;

/** Rejects when it cannot be started. */
export async function startRun(
	request: StartRequest,
	groups: RunGroups,
	onEnd: OnRunEnd,
): Promise<Run> {
	// A terminal without a kind is of no use, so that is the one thing added to what was asked for.
	const env = {
		...(request.terminal ? { TERM: "xterm-256color" } : {}),
		...request.env,
		REEVE_RUN_ID: request.runId,
		REEVE_AGENT: request.agentId,
	};
	const argv = groups.limitedArgv(request.argv, request.limits);
	const launch: Launch = { argv, cwd: request.cwd, env };
	const run = request.terminal
		? startInTerminal(launch, request, groups, onEnd)
		: await startPlain(launch, request.logDir, groups, onEnd);
	if (CAN_PREPARE) await settleGroups(run.pid, request, groups);
	return run;
}

/** Only a run that has limits is waited for: the others need their groups when they are stopped. */
async function settleGroups(pid: number, { limits }: StartRequest, groups: RunGroups) {
	const isLimited = Object.values(limits).some((limit) => limit !== null);
	if (!isLimited || (await hasJoined(pid, groups.paths))) groups.joined();
}

async function startPlain(
	launch: Launch,
	logDir: string,
	groups: RunGroups,
	onEnd: OnRunEnd,
): Promise<Run> {
	const log = openSharedLog(logDir);
	const { argv, cwd, env } = CAN_PREPARE
		? prepareLaunch(launch, { groups: groups.paths, terminal: "" })
		: launch;
	const [program, ...args] = argv;
	const fork = () =>
		spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", log.fd, log.fd] });
	try {
		const child = CAN_PREPARE ? fork() : groups.inside(fork);
		child.once("exit", (code, signal) => {
			const atMs = Date.now();
			log.trim();
			log.close();
			onEnd({ code, signal }, atMs);
		});
		await new Promise((resolve, reject) => {
			child.once("spawn", resolve);
			child.once("error", reject);
		});
		return { pid: child.pid as number, terminal: null, trim: () => log.trim() };
	} catch (error) {
		log.close();
		throw error;
	}
}

/** How much may wait for the log and the screen before the terminal is not read any more. */
const BEHIND_BYTES_MAX = 1024 * 1024;
/** How much typing may wait for a program that does not read. */
const TYPED_BYTES_MAX = 4 * 1024 * 1024;

function startInTerminal(
	launch: Launch,
	request: StartRequest,
	groups: RunGroups,
	onEnd: OnRunEnd,
): Run {
	const viewers = new Set<Watcher>();
	let unparsedBytes = 0;
	let paused = false;

	const log = createLogWriter(request.logDir, balance);
	const screen = createScreen(request.size, (answer) => {
		if (viewers.size === 0) terminal.write(answer).catch(() => {});
	});
	const terminal = openOrClean();

	function openOrClean(): OpenTerminal {
		const events = { onOutput, onEnd: (end: ProcessEnd) => void finish(end) };
		try {
			return openTerminal(launch, request.size, groups, events);
		} catch (error) {
			screen.close();
			throw error;
		}
	}

	function onOutput(bytes: Buffer): void {
		unparsedBytes += bytes.length;
		log.append(bytes);
		screen.write(bytes, () => {
			unparsedBytes -= bytes.length;
			balance();
		});
		for (const viewer of viewers) viewer.onOutput(bytes);
		balance();
	}

	function balance(): void {
		const behind = unparsedBytes + log.waitingBytes;
		if (!paused && behind > BEHIND_BYTES_MAX) terminal.pause();
		else if (paused && behind < BEHIND_BYTES_MAX / 4) terminal.resume();
		else return;
		paused = !paused;
	}

	async function finish(end: ProcessEnd): Promise<void> {
		const atMs = Date.now();
		await log.close();
		screen.settle(() => {
			for (const viewer of viewers) viewer.end("the agent has ended");
			viewers.clear();
			screen.close();
		});
		onEnd(end, atMs);
	}

	function resize(size: TerminalSize): void {
		terminal.resize(size);
		screen.resize(size);
	}

	async function input(bytes: Uint8Array): Promise<void> {
		if (terminal.waitingBytes + bytes.length > TYPED_BYTES_MAX) {
			throw new Error("the agent does not read what is typed");
		}
		await terminal.write(bytes);
	}

	return {
		pid: terminal.pid,
		terminal: {
			input,
			text: () => new Promise((resolve) => screen.settle(() => resolve(screen.text()))),
			attach(viewer, size) {
				if (size !== null) resize(size);
				const watcher = createWatcher(viewer, screen);
				viewers.add(watcher);
				return {
					write: (bytes) => void input(bytes).catch(() => {}),
					resize,
					catchUp: () => watcher.refresh(),
					close: () => viewers.delete(watcher),
				};
			},
		},
		trim() {},
	};
}

/** A viewer, and where it is: waiting for the screen, following, or behind. */
interface Watcher {
	onOutput(bytes: Buffer): void;
	refresh(): void;
	end(reason: string): void;
}

function createWatcher(viewer: RunViewer, screen: ReturnType<typeof createScreen>): Watcher {
	let state: "waiting" | "following" | "behind" = "behind";
	let meanwhile: Buffer[] = [];
	let ended = false;

	const watcher: Watcher = {
		onOutput(bytes) {
			if (state === "waiting") meanwhile.push(bytes);
			else if (state === "following" && !viewer.onOutput(bytes)) state = "behind";
		},
		refresh() {
			if (state !== "behind" || ended) return;
			state = "waiting";
			screen.settle(() => {
				if (ended) return;
				viewer.onSnapshot(screen.snapshot(), screen.size);
				state = "following";
				const late = meanwhile;
				meanwhile = [];
				for (const bytes of late) watcher.onOutput(bytes);
			});
		},
		end(reason) {
			ended = true;
			viewer.onClose(reason);
		},
	};
	watcher.refresh();
	return watcher;
}
