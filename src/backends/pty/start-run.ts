/**
 * One start through the starter: directory, control groups and specification, and the meaning of a
 * failure.
 */

import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Groups, RunGroups } from "../../host/cgroup.js";
import { readBootId } from "../../host/process-identity.js";
import { checkLaunch, explainSpawnError, type Launch } from "../../host/spawn-errors.js";
import type { StartFailure, StartRequest } from "../../ports/backend.js";
import { type AgentFolders, fitsRecord, folderName } from "./agent-folder.js";
import { readRecord } from "./run-record.js";
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

export type ShimStart =
	| {
			readonly outcome: "started";
			readonly started: Started;
			readonly groups: readonly string[];
			readonly missingLimits: readonly string[];
	  }
	| { readonly outcome: "failed"; readonly failure: StartFailure }
	/** A live shim owns the agent's directory: that of this run, or of an earlier one. */
	| { readonly outcome: "taken" };

export interface ShimStartContext {
	readonly folders: AgentFolders;
	readonly starter: StarterClient;
	/** The control groups of runs, once the starter is known. */
	readonly groups: (starterPid: number) => Groups;
}

/** The agent's complete environment. A terminal without a type is unusable, so only that is added. */
const environmentOf = ({ terminal, env, runId, agentId }: StartRequest) => ({
	...(terminal ? { TERM: "xterm-256color" } : {}),
	...env,
	REEVE_RUN_ID: runId,
	REEVE_AGENT: agentId,
});

/** Rejects with `ConnectionLost` if the outcome is unknown. */
export async function startShim(
	place: ShimStartContext,
	request: StartRequest,
): Promise<ShimStart> {
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
	if (isStarted(answer)) return started(answer, runGroups.paths, missing);
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
	place: ShimStartContext,
	request: StartRequest,
	spec: RunSpec,
	why: string,
): Promise<ShimStart> {
	const answer = await place.starter.start({ ...spec, groups: [] });
	const launch: Launch = { ...request, env: spec.env };
	if (isStarted(answer)) {
		return started(answer, [], [`the run could not join its control groups (${why})`]);
	}
	if (answer.step === FAILED_LOCK) return { outcome: "taken" };
	return { outcome: "failed", failure: explainFailure(answer, launch) };
}

const isStarted = (answer: Started | StartFailed): answer is Started => "shimPid" in answer;

const started = (
	facts: Started,
	groups: readonly string[],
	missingLimits: readonly string[],
): ShimStart => ({ outcome: "started", started: facts, groups, missingLimits });

function specOf(
	{ folders }: ShimStartContext,
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
