/**
 * Starts through the starter: directory, control groups and specification, the meaning of a failure, and what follows
 * when the outcome is lost or another run has the agent's directory.
 */

import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Groups, RunGroups } from "../../host/cgroup.js";
import { readBootId } from "../../host/process-identity.js";
import { checkLaunch, explainSpawnError, type Launch } from "../../host/spawn-errors.js";
import type { StartFailure, StartRequest, StartResult } from "../../ports/backend.js";
import { type AgentFolders, fitsRecord, folderName, isRunId } from "./agent-folder.js";
import { ConnectionLost } from "./connection.js";
import { type FoundRun, findRun } from "./find-run.js";
import type { KnownRuns } from "./known-runs.js";
import { type RunRecord, readRecord } from "./run-record.js";
import { killThroughShim } from "./shim-connection.js";
import type { StarterClient } from "./starter-client.js";
import {
	FAILED_GROUP,
	FAILED_LOCK,
	FAILED_SHIM,
	type RunSpec,
	STEP_NAMES,
	type Started,
	type StartFailed,
} from "./starter-messages.js";

const LOG_BYTES = 10 * 1024 * 1024;
const LOG_FILES = 5;

type ShimStart =
	| {
			readonly outcome: "started";
			readonly groups: readonly string[];
			readonly missingLimits: readonly string[];
	  }
	| { readonly outcome: "failed"; readonly failure: StartFailure }
	/** A live shim owns the agent's directory: that of this run, or of an earlier one. */
	| { readonly outcome: "taken" };

export interface StartWorld {
	readonly folders: AgentFolders;
	readonly starter: StarterClient;
	/** The control groups of runs, once the starter is known. */
	readonly groups: (starterPid: number) => Groups;
	readonly runs: KnownRuns;
}

const TAKEN_TRIES_MAX = 3;

/** Starts each run once, however often it is requested and whatever dies in between. */
export class RunStarts {
	readonly #world: StartWorld;
	readonly #starting = new Map<string, Promise<StartResult>>();

	constructor(world: StartWorld) {
		this.#world = world;
	}

	isStarting(runId: string): boolean {
		return this.#starting.has(runId);
	}

	async start(request: StartRequest): Promise<StartResult> {
		const { runId } = request;
		if (!isRunId(runId)) return refused(true, `invalid run id: ${runId}`);
		const inProgress = this.#starting.get(runId);
		if (inProgress !== undefined) return inProgress;
		const known = this.#world.runs.get(runId);
		if (known !== undefined) return { ok: true, handle: known.handle };
		const begun = this.#begin(request);
		this.#starting.set(runId, begun);
		try {
			return await begun;
		} finally {
			this.#starting.delete(runId);
		}
	}

	async #begin(request: StartRequest): Promise<StartResult> {
		const earlier = await this.#startedBefore(request);
		if (earlier !== null) return earlier;
		for (let tries = 1; ; tries++) {
			let begun: ShimStart;
			try {
				begun = await startShim(this.#world, request);
			} catch (error) {
				if (!(error instanceof ConnectionLost)) return refused(false, (error as Error).message);
				// The starter was killed. A started shim holds the agent's lock, so the agent cannot be started twice.
				if (error.isSilence || tries >= TAKEN_TRIES_MAX) throw error;
				const started = await this.#startedBefore(request);
				if (started !== null) return started;
				continue;
			}
			if (begun.outcome === "failed") return { ok: false, failure: begun.failure };
			if (begun.outcome === "started") return this.#began(request, begun);
			const other = await this.#resolveConflict(request);
			if (other !== null) return other;
			if (tries >= TAKEN_TRIES_MAX) {
				return refused(
					false,
					"another process has locked the agent's directory and does not respond",
				);
			}
		}
	}

	/** The same run, if it was started by an earlier client or on a connection that was lost. */
	async #startedBefore({ runId, agentId }: StartRequest): Promise<StartResult | null> {
		const agent = folderName(agentId);
		let record: RunRecord | null = null;
		try {
			record = readRecord(this.#world.folders.pathOf(agent));
		} catch {
			// Damaged; the shim rewrites it.
		}
		if (record?.runId !== runId || record.bootId !== readBootId() || record.state === "failed") {
			return null;
		}
		return this.#adoptOrReport(runId, await findRun(this.#world.folders, runId, agent));
	}

	async #adoptOrReport(runId: string, found: FoundRun): Promise<StartResult | null> {
		if (found.state === "unknown") throw new ConnectionLost(found.reason);
		if (found.state === "exited") {
			const run = this.#world.runs.keep(this.#world.runs.handleFrom(runId, found), found.agent);
			run.ended(found.exit);
			return { ok: true, handle: run.handle };
		}
		const taken = await this.#world.runs.adopt(runId, null, found);
		return taken.state === "running" ? { ok: true, handle: taken.handle } : null;
	}

	/** A live shim owns the agent's directory. One of an abandoned run is stopped first (S1). */
	async #resolveConflict({ runId, agentId }: StartRequest): Promise<StartResult | null> {
		const agent = folderName(agentId);
		const found = await findRun(this.#world.folders, runId, agent);
		if (found.state !== "none") return this.#adoptOrReport(runId, found);
		const record = readRecord(this.#world.folders.pathOf(agent));
		if (record === null) return null;
		const other = await findRun(this.#world.folders, record.runId, agent);
		if (other.state !== "held") return null;
		const killed = await killThroughShim(other.shim);
		other.shim.connection.close();
		if (killed.ok) return null;
		return refused(false, `an earlier run of the agent is still alive: ${killed.reason}`);
	}

	async #began(
		{ runId, agentId, deadline }: StartRequest,
		{ groups, missingLimits }: Extract<ShimStart, { outcome: "started" }>,
	): Promise<StartResult> {
		const agent = folderName(agentId);
		this.#world.runs.reuse(agent);
		const found = await findRun(this.#world.folders, runId, agent);
		if (found.state === "unknown") throw new ConnectionLost(found.reason);
		if (found.state === "none" || found.state === "rebooted") {
			throw new ConnectionLost("the run's record is missing");
		}
		const hasDeadline = deadline !== undefined;
		const handle = this.#world.runs.handleFrom(runId, found, groups, missingLimits, hasDeadline);
		const run = this.#world.runs.keep(handle, agent);
		if (found.state === "held") run.useShim(found.shim);
		else if (found.state === "exited") run.ended(found.exit);
		else run.markLost();
		return { ok: true, handle };
	}
}

const refused = (permanent: boolean, detail: string): StartResult => ({
	ok: false,
	failure: { permanent, detail },
});

/** The agent's complete environment. A terminal without a type is unusable, so only that is added. */
const environmentOf = ({ terminal, env, runId, agentId }: StartRequest) => ({
	...(terminal ? { TERM: "xterm-256color" } : {}),
	...env,
	REEVE_RUN_ID: runId,
	REEVE_AGENT: agentId,
});

/** Rejects with `ConnectionLost` if the outcome is unknown. */
async function startShim(place: StartWorld, request: StartRequest): Promise<ShimStart> {
	const launch: Launch = { ...request, env: environmentOf(request) };
	const problem = checkLaunch(launch);
	if (problem !== null) return { outcome: "failed", failure: problem };
	const agent = folderName(request.agentId);
	const about = { agentId: request.agentId, logDir: request.logDir };
	const isRecorded = (await place.starter.namesAgents()) && fitsRecord(about);
	await place.folders.prepare(agent, isRecorded ? null : about);
	const groups = place.groups(place.starter.pid ?? 0);
	const runGroups = groups.create(request.runId, request.limits);
	// Before the start, so that no process of the agent ever runs outside of them.
	runGroups.joined();
	const missing = runGroups.applyLimits(request.limits);
	const spec = specOf(place, request, launch, runGroups, agent);
	const answer = await place.starter.start(spec);
	if (isStarted(answer))
		return { outcome: "started", groups: runGroups.paths, missingLimits: missing };
	groups.remove(runGroups.paths);
	if (answer.step === FAILED_GROUP && runGroups.paths.length > 0) {
		return withoutGroups(place, request, spec, explainFailure(answer, launch).detail);
	}
	if (answer.step === FAILED_LOCK) return { outcome: "taken" };
	if (answer.step === FOLDER) place.folders.forget(agent);
	if (answer.step === FAILED_SHIM && spec.enclosure.length > 0) {
		const line = place.starter.lastLine();
		const looks = UNIT_EXISTS.test(line) ? LOOKS_AT_TWIN : LOOKS;
		const folder = place.folders.pathOf(agent);
		if (await isStartedBy(folder, request.runId, looks)) return { outcome: "taken" };
		const detail = `the run's unit failed to start: ${line}`;
		return { outcome: "failed", failure: { permanent: false, detail } };
	}
	return { outcome: "failed", failure: explainFailure(answer, launch) };
}

const FOLDER = 2;
const UNIT_EXISTS = /already (loaded|exists)/;
const POLL_MS = 20;
const LOOKS = 50;
/** Another start of the run is in progress, which may take long on a busy host. */
const LOOKS_AT_TWIN = 500;

/** A unit exists once: one of this run may belong to another start of it, which then writes its record. */
async function isStartedBy(folder: string, runId: string, looksMax: number): Promise<boolean> {
	for (let looks = 0; looks < looksMax; looks++) {
		if (readRecord(folder)?.runId === runId) return true;
		await sleep(POLL_MS);
	}
	return false;
}

/** A group that looks usable but admits no process is skipped, and the handle records that. */
async function withoutGroups(
	place: StartWorld,
	request: StartRequest,
	spec: RunSpec,
	why: string,
): Promise<ShimStart> {
	const answer = await place.starter.start({ ...spec, groups: [] });
	const launch: Launch = { ...request, env: spec.env };
	if (isStarted(answer)) {
		const missing = `the run could not join its control groups (${why})`;
		return { outcome: "started", groups: [], missingLimits: [missing] };
	}
	if (answer.step === FAILED_LOCK) return { outcome: "taken" };
	return { outcome: "failed", failure: explainFailure(answer, launch) };
}

const isStarted = (answer: Started | StartFailed): answer is Started => "shimPid" in answer;

function specOf(
	{ folders }: StartWorld,
	request: StartRequest,
	{ env }: Launch,
	groups: RunGroups,
	agent: string,
): RunSpec {
	const { runId, agentId, logDir, cwd, terminal, size, limits } = request;
	const argv = groups.limitedArgv(request.argv, limits);
	return {
		...{ runId, agentId, logDir, cwd, argv, env, terminal, size },
		runDir: folders.pathOf(agent),
		socket: folders.socketOf(agent),
		logBytes: LOG_BYTES,
		logFiles: LOG_FILES,
		groups: groups.paths,
		bootId: readBootId(),
		enclosure: groups.enclosure(request),
		deadline: request.deadline ?? null,
	};
}

const ERRNO_NAMES = new Map(
	Object.entries(constants.errno).map(([name, number]) => [number, name]),
);
const OF_THE_PROGRAM = [8, 10];

function explainFailure({ step, errno, detail }: StartFailed, launch: Launch): StartFailure {
	const code = ERRNO_NAMES.get(errno) ?? `error ${errno}`;
	const reported = detail === "" ? "" : `: ${detail}`;
	const message = `${STEP_NAMES[step] ?? `step ${step}`} (${code}${reported})`;
	const error = Object.assign(new Error(message), { code });
	if (OF_THE_PROGRAM.includes(step)) return explainSpawnError(error, launch);
	const { permanent, detail: explained } = explainSpawnError(error, launch);
	return { permanent: permanent && step === 1, detail: explained };
}
