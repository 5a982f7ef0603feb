/**
 * One start through the starter: directory, control groups and specification, and the meaning of a
 * failure.
 */

import { constants } from "node:os";
import type { Groups, RunGroups } from "../../host/cgroup.js";
import { readBootId } from "../../host/process-identity.js";
import { checkLaunch, explainSpawnError, type Launch } from "../../host/spawn-errors.js";
import type { StartFailure, StartRequest } from "../../ports/backend.js";
import { type AgentFolders, folderName } from "./agent-folder.js";
import type { StarterClient } from "./starter-client.js";
import {
	FAILED_GROUP,
	FAILED_LOCK,
	type RunSpec,
	STEP_NAMES,
	type Started,
	type StartFailed,
} from "./starter-messages.js";

const LOG_BYTES = 10 * 1024 * 1024;
const LOG_FILES = 5;

export type Begun =
	| {
			readonly outcome: "started";
			readonly started: Started;
			readonly groups: readonly string[];
			readonly missingLimits: readonly string[];
	  }
	| { readonly outcome: "failed"; readonly failure: StartFailure }
	/** A live shim owns the agent's directory: that of this run, or of an earlier one. */
	| { readonly outcome: "taken" };

export interface StartPlace {
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
export async function beginRun(place: StartPlace, request: StartRequest): Promise<Begun> {
	const launch: Launch = { ...request, env: environmentOf(request) };
	const problem = checkLaunch(launch);
	if (problem !== null) return { outcome: "failed", failure: problem };
	const agent = folderName(request.agentId);
	await place.folders.prepare(agent, { agentId: request.agentId, logDir: request.logDir });
	await place.starter.reach();
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
	return { outcome: "failed", failure: explainFailure(answer, launch) };
}

const FOLDER = 2;

/** A group that looks usable but admits no process is skipped, and the handle records that. */
async function withoutGroups(
	place: StartPlace,
	request: StartRequest,
	spec: RunSpec,
	why: string,
): Promise<Begun> {
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
): Begun => ({ outcome: "started", started: facts, groups, missingLimits });

function specOf(
	{ folders }: StartPlace,
	request: StartRequest,
	{ env }: Launch,
	groups: RunGroups,
	agent: string,
): RunSpec {
	const { runId, logDir, cwd, terminal, size, limits } = request;
	const argv = groups.enclosedArgv(groups.limitedArgv(request.argv, limits), request);
	return {
		...{ runId, logDir, cwd, argv, env, terminal, size },
		runDir: folders.pathOf(agent),
		socket: folders.socketOf(agent),
		logBytes: LOG_BYTES,
		logFiles: LOG_FILES,
		groups: groups.paths,
		bootId: readBootId(),
	};
}

const ERRNO_NAMES = new Map(
	Object.entries(constants.errno).map(([name, number]) => [number, name]),
);
const OF_THE_PROGRAM = [8, 10];

function explainFailure({ step, errno, detail }: StartFailed, launch: Launch): StartFailure {
	const code = ERRNO_NAMES.get(errno) ?? `error ${errno}`;
	const said = detail === "" ? "" : `: ${detail}`;
	const message = `${STEP_NAMES[step] ?? `step ${step}`} (${code}${said})`;
	const error = Object.assign(new Error(message), { code });
	if (OF_THE_PROGRAM.includes(step)) return explainSpawnError(error, launch);
	const { permanent, detail: explained } = explainSpawnError(error, launch);
	return { permanent: permanent && step === 1, detail: explained };
}
