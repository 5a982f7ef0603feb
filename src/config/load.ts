/** Reads fleet and plan files. Problems are returned as values. */

import { dirname, resolve } from "node:path";
import { checkHealthProgram } from "./check-health-programs.js";
import type { Variables } from "./expand.js";
import { type ParsedFleet, type PlanFileReference, parseFleet } from "./parse-fleet.js";
import { type KnownAgents, type ParsedPlan, parsePlan } from "./plan-file.js";
import { type Problem, quote } from "./problem.js";
import { problemOf, readBounded } from "./read-bounded.js";
import { decodeUtf8 } from "./utf8.js";

/** The context of reading a fleet: environment and home directory of the caller. */
export interface LoadContext {
	readonly env: Variables;
	readonly homeDir: string;
}

export type LoadedFleet =
	| Extract<ParsedFleet, { ok: true }>
	/** `missing` distinguishes a missing file from an invalid one. */
	| { readonly ok: false; readonly missing: boolean; readonly problems: readonly Problem[] };

/** Reads, checks and resolves a fleet file. Messages use the path as given. */
export async function loadFleet(path: string, context: LoadContext): Promise<LoadedFleet> {
	const file = await readBounded(path);
	if (!file.ok) {
		return { ok: false, missing: file.missing, problems: problemOf(path, file.message) };
	}
	const decoded = decodeUtf8(file.bytes);
	if (!decoded.ok) {
		const problems = problemOf(path, "this line is not valid UTF-8", decoded.line);
		return { ok: false, missing: false, problems };
	}
	const absolute = resolve(path);
	const parsed = parseFleet(decoded.text, path, { ...context, baseDir: dirname(absolute) });
	if (!parsed.ok) return { ...parsed, missing: false };
	const callable = new Map(
		parsed.fleet.agents.map(({ id, kind }) => [id, { callable: kind !== "session" }]),
	);
	const checked = await Promise.all(
		parsed.planFiles.map((place) => checkPlanFile(path, place, callable)),
	);
	const programs = await Promise.all(
		parsed.healthPrograms.map((place) => checkHealthProgram(path, place, context.env)),
	);
	const problems = [...checked, ...programs].flat();
	return problems.length === 0 ? parsed : { ok: false, missing: false, problems };
}

/** A plan that a schedule runs is checked together with the fleet, at a time when someone reads the messages. */
async function checkPlanFile(
	fleetPath: string,
	{ file, written, at }: PlanFileReference,
	agents: KnownAgents,
): Promise<readonly Problem[]> {
	const found = await readBounded(file);
	if (!found.ok) {
		const message = `cannot read the plan ${quote(written)}: ${found.message}`;
		return [{ file: fleetPath, ...at, message, expected: null, hint: null }];
	}
	const loaded = await loadPlan(file, agents);
	return loaded.ok ? [] : loaded.problems;
}

/** Reads and checks a plan file. */
export async function loadPlan(
	path: string,
	agents: KnownAgents | null = null,
): Promise<ParsedPlan> {
	const file = await readBounded(path);
	if (!file.ok) return { ok: false, problems: problemOf(path, file.message) };
	const decoded = decodeUtf8(file.bytes);
	if (decoded.ok) return parsePlan(decoded.text, path, agents);
	return { ok: false, problems: problemOf(path, "this line is not valid UTF-8", decoded.line) };
}
