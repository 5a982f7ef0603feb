/**
 * The runs that this client started or found, until they are forgotten, and how a found run is adopted:
 * owned by its shim, ended, or left without a shim. "Unknown" is never turned into "stopped".
 */

import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, readBootId } from "../../host/process-identity.js";
import { nextProcessTable } from "../../host/process-table.js";
import { watchTree } from "../../host/process-tree.js";
import type { RunTrees } from "../../host/run-trees.js";
import type { ProcessIdentity, Recovered, RunExit, RunHandle } from "../../ports/backend.js";
import type { AgentFolders } from "./agent-folder.js";
import type { EarlierFiles } from "./earlier-version.js";
import type { FoundRun } from "./find-run.js";
import { agentFolderOf, createHandle, groupsOf } from "./handle.js";
import { HeldRun, mayBeAlive } from "./held-run.js";
import type { LeftProcesses } from "./left-processes.js";

export interface KnownRunsWorld {
	/** The backend's name, for handles. */
	readonly backend: string;
	readonly folders: AgentFolders;
	readonly trees: RunTrees;
	readonly left: LeftProcesses;
	readonly orphanGraceMs: number;
	/** The control groups of a run, by the process that owns or owned it. */
	findGroups(runId: string, shimPid: number): readonly string[];
	onExit(exit: RunExit): void;
	/** Files of a version before the shim. */
	readonly earlier: EarlierFiles;
}

const POLL_MS = 50;
const CHECK_MS_MAX = 250;

export class KnownRuns {
	readonly #world: KnownRunsWorld;
	readonly #runs = new Map<string, HeldRun>();
	/** Runs whose exits were stored, each until its agent's directory is reused. */
	readonly #forgotten = new Map<string, string>();
	#isClosed = false;

	constructor(world: KnownRunsWorld) {
		this.#world = world;
	}

	get(runId: string): HeldRun | undefined {
		return this.#runs.get(runId);
	}

	/** No process of any run is left. */
	get isIdle(): boolean {
		return [...this.#runs.values()].every((run) => run.isTreeGone);
	}

	/** The agent's directory contains another run now. */
	reuse(agent: string): void {
		this.#forgotten.delete(agent);
	}

	forget(runId: string): HeldRun | undefined {
		const run = this.#runs.get(runId);
		this.#runs.delete(runId);
		if (run === undefined) return undefined;
		run.close();
		this.#forgotten.set(run.agent, runId);
		return run;
	}

	close(): void {
		this.#isClosed = true;
		for (const run of this.#runs.values()) run.close();
	}

	handleFrom(
		runId: string,
		found: Extract<FoundRun, { state: "held" | "exited" | "lost" }>,
		known?: readonly string[],
		missingLimits: readonly string[] = [],
		hasDeadline = false,
	): RunHandle {
		const facts = found.state === "held" ? found.shim.status : found.record;
		const { agentPid, agentStart, startedAtMs, firstOffset, shimPid } = facts;
		const groups = known ?? this.#world.findGroups(runId, shimPid);
		return createHandle({
			...{
				backend: this.#world.backend,
				runId,
				startedAtMs,
				outputFrom: firstOffset,
				agent: found.agent,
				groups,
				missingLimits,
				hasDeadline,
			},
			process: { bootId: readBootId(), pid: agentPid, startTime: agentStart },
		});
	}

	/** Adopts a found run, or reports its state. */
	async adopt(runId: string, stored: RunHandle | null, found: FoundRun): Promise<Recovered> {
		switch (found.state) {
			case "unknown":
				return found;
			case "rebooted":
				return { state: "gone", rebooted: true };
			case "none":
				return this.#adoptByProcess(runId, stored);
			case "exited":
				if (this.#forgotten.get(found.agent) === runId) return { state: "gone", rebooted: false };
				return this.#adoptExited(stored ?? this.handleFrom(runId, found), found);
			case "held": {
				const run = this.keep(stored ?? this.handleFrom(runId, found), found.agent);
				run.useShim(found.shim);
				return recoveredAs(run);
			}
			case "lost":
				return this.#adoptLost(runId, stored, found);
		}
	}

	/** Not reported to listeners: the caller gets the result. */
	#adoptExited(handle: RunHandle, found: Extract<FoundRun, { state: "exited" }>): Recovered {
		const run = new HeldRun(handle, found.agent, { ...this.#worldOfRun(), onExit() {} });
		run.ended(found.exit);
		this.#runs.set(handle.runId, run);
		return recoveredAs(run);
	}

	/** The shim was killed. The agent counts as running until its process is gone (S1). */
	async #adoptLost(
		runId: string,
		stored: RunHandle | null,
		found: Extract<FoundRun, { state: "lost" }>,
	): Promise<Recovered> {
		let handle = stored ?? this.handleFrom(runId, found);
		// Killed before it could record its child: the mark in the environment identifies it.
		if (handle.process.pid === 0) {
			const started = await this.#findByMark(handle);
			if (started === null) return { state: "gone", rebooted: false };
			handle = { ...handle, process: started };
		}
		const run = this.keep(handle, found.agent);
		run.markLost();
		return recoveredAs(run);
	}

	/** No shim owns it: an earlier version does, or the records are lost. A live process is proof enough. */
	#adoptByProcess(runId: string, stored: RunHandle | null): Recovered {
		const { earlier } = this.#world;
		const exit = earlier.exit(runId);
		if (exit !== null) return { state: "exited", exit };
		const handle = stored ?? earlier.handle(runId);
		if (handle === null) return { state: "gone", rebooted: false };
		const alive = isAlive(handle.process);
		if (alive === "unknown") return { state: "unknown", reason: "its process cannot be inspected" };
		if (!alive) return { state: "gone", rebooted: false };
		const run = this.keep(handle, agentFolderOf(handle) ?? "");
		run.markLost();
		return { state: "running", handle };
	}

	async #findByMark(handle: RunHandle): Promise<ProcessIdentity | null> {
		const table = await nextProcessTable();
		const tree = { runId: handle.runId, root: null, groups: groupsOf(handle) };
		const members = watchTree(tree).members(table);
		const pids = new Set(members.map(({ pid }) => pid));
		// A process whose parent is outside of the run is the started one, or what is left of it.
		const eldest = members.find(({ ppid }) => !pids.has(ppid));
		if (eldest === undefined) return null;
		return { bootId: readBootId(), pid: eldest.pid, startTime: eldest.startTime };
	}

	keep(handle: RunHandle, agent: string): HeldRun {
		const run = new HeldRun(handle, agent, this.#worldOfRun());
		this.#runs.set(handle.runId, run);
		return run;
	}

	#worldOfRun() {
		const { folders, left, onExit, earlier } = this.#world;
		return {
			...{ folders, onExit, earlier },
			onLost: (run: HeldRun) => left.add(run.runId),
			waitForAgent: (run: HeldRun) => this.#waitForAgent(run),
		};
	}

	/** An agent that lost its terminal is asked to exit, and killed after a grace period (S12). */
	async #waitForAgent(run: HeldRun): Promise<void> {
		if (!mayBeAlive(run)) return;
		await this.#world.trees.signal(run.handle, "SIGTERM").catch(() => {});
		const deadlineMs = performance.now() + this.#world.orphanGraceMs;
		for (let pauseMs = POLL_MS; mayBeAlive(run) && !this.#isClosed; pauseMs = CHECK_MS_MAX) {
			await sleep(pauseMs, undefined, { ref: false });
			if (performance.now() < deadlineMs) continue;
			await this.#world.left.kill({ runId: run.runId, handle: run.handle });
		}
	}
}

export function recoveredAs(run: HeldRun): Recovered {
	if (run.exit !== null) return { state: "exited", exit: run.exit };
	return { state: "running", handle: run.handle };
}
