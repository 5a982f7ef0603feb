/**
 * Parses the text of a fleet file into specs, or into a list of all problems, in one pass. Pure: the
 * environment and the directories are arguments, so the same text always gives the same fleet.
 *
 * Keeps A7 as far as possible here: a file with any problem produces no fleet.
 */

import { adapterSchema, resolveAdapter } from "./adapter-schema.js";
import {
	checkKinds,
	listAgents,
	originOf,
	settingsOf,
	under,
	type WrittenAgent,
} from "./agents.js";
import { checkAdapters } from "./check-adapters.js";
import { checkAgent } from "./check-agent.js";
import { checkBudgets, sharedBudgetsOf } from "./check-budgets.js";
import type { HealthProgramReference } from "./check-health-programs.js";
import { checkReferences } from "./check-references.js";
import {
	checkSchedule,
	listSchedules,
	scheduleSettingsOf,
	type WrittenSchedule,
} from "./check-schedules.js";
import { type CheckedShape, checkShape } from "./check-shape.js";
import type { Variables } from "./expand.js";
import type { Path } from "./outline.js";
import { type Folders, resolvePath } from "./paths.js";
import { type Finding, finding, type Problem, problemsOf } from "./problem.js";
import { deepFreeze, resolveAgent, resolveSchedule, unsetPassEnv } from "./resolve.js";
import type { AgentSpec, FleetSpec, ScheduleSpec } from "./spec.js";
import { findTree, locateKey, locateValue, namesIn, type Tree } from "./tree.js";
import { ENV_NAME_PATTERN } from "./values.js";
import { parseYaml } from "./yaml-tree.js";

export interface FleetContext extends Folders {
	/** The caller's environment, for `${NAME}` and `pass_env`. */
	readonly env: Variables;
}

export type ParsedFleet =
	| {
			readonly ok: true;
			readonly fleet: FleetSpec;
			/** Variables that the file requests and the caller does not have. */
			readonly warnings: readonly Problem[];
			/** The plan files of schedules, and where each is written. */
			readonly planFiles: readonly PlanFileReference[];
			readonly healthPrograms: readonly HealthProgramReference[];
	  }
	| { readonly ok: false; readonly problems: readonly Problem[] };

/** A plan file that a schedule runs. */
export interface PlanFileReference {
	/** Absolute. */
	readonly file: string;
	/** The same as written. */
	readonly written: string;
	readonly at: Omit<Finding, "message" | "expected" | "hint">;
}

/** `fileName` is the file's name in messages; its last part is its name in the fleet's directory. */
export function parseFleet(text: string, fileName: string, context: FleetContext): ParsedFleet {
	const { tree, findings: syntax } = parseYaml(text, context.env);
	if (tree === null) return { ok: false, problems: problemsOf(fileName, syntax) };
	const agents = listAgents(tree);
	const tooLarge = checkSpread(tree, agents.length);
	if (tooLarge !== null) return { ok: false, problems: problemsOf(fileName, [tooLarge]) };
	const { findings: kinds, misplaced } = checkKinds(tree, agents);
	const shape = checkShape(tree, misplaced);
	const schedules = listSchedules(tree);
	const problems = problemsOf(fileName, [
		...syntax,
		...kinds,
		...shape.findings,
		...agents.flatMap((agent) => checkAgent(tree, agent, shape)),
		...checkReferences(tree, agents),
		...checkBudgets(tree, agents, shape),
		...checkAdapters(tree, agents, shape),
		...schedules.flatMap((schedule) => checkSchedule(tree, schedule, shape, agents)),
		...[["defaults"], ...agents.map(({ path }) => path)].flatMap((path) =>
			checkBlankVariables(tree, [...path, "env"]),
		),
	]);
	if (problems.length > 0) return { ok: false, problems };
	const file = resolvePath(`./${fileName.slice(fileName.lastIndexOf("/") + 1)}`, context);
	const specs = agents.map((agent) => specOf(tree, agent, shape, context));
	const warnings = agents.flatMap((agent, index) => warnOfUnset(tree, agent, specs[index]));
	const planned = schedules.map((schedule) => scheduleSpecOf(schedule, shape, context));
	const fleet = deepFreeze({ file, agents: specs, schedules: planned });
	const planFiles = schedules.flatMap((schedule, index) =>
		placeOfPlan(tree, schedule, planned[index]),
	);
	const healthPrograms = agents.flatMap((agent, index) =>
		healthProgramOf(tree, agent, specs[index]),
	);
	return { ok: true, fleet, warnings: problemsOf(fileName, warnings), planFiles, healthPrograms };
}

function scheduleSpecOf(
	schedule: WrittenSchedule,
	shape: CheckedShape,
	context: FleetContext,
): ScheduleSpec {
	const settings = scheduleSettingsOf(schedule, shape);
	if (settings === null) throw new Error(`schedule ${schedule.name} passed every check`);
	return resolveSchedule(schedule, settings, context);
}

function placeOfPlan(
	tree: Tree,
	{ path }: WrittenSchedule,
	spec: ScheduleSpec | undefined,
): readonly PlanFileReference[] {
	if (spec?.action.type !== "plan") return [];
	const place = [...path, "plan"];
	const written = findTree(tree, place);
	const { line, column, path: key } = finding(locateValue(tree, place), place, { message: "" });
	const shown = written?.type === "scalar" ? written.written : spec.action.file;
	return [{ file: spec.action.file, written: shown, at: { line, column, path: key } }];
}

function healthProgramOf(
	tree: Tree,
	agent: WrittenAgent,
	spec: AgentSpec | undefined,
): readonly HealthProgramReference[] {
	const [program] = (spec?.kind === "call" ? null : spec?.health?.command) ?? [];
	if (spec === undefined || program === undefined) return [];
	const key = originOf(tree, agent, ["health", "command"]) ?? agent.path;
	const { line, column, path } = finding(locateValue(tree, key), key, { message: "" });
	return [{ spec, program, at: { line, column, path } }];
}

/** Passed variables that the caller's shell does not set, reported where they are listed. */
function warnOfUnset(
	tree: Tree,
	agent: WrittenAgent,
	spec: AgentSpec | undefined,
): readonly Finding[] {
	const list = originOf(tree, agent, ["pass_env"]);
	if (list === null || spec === undefined) return [];
	return unsetPassEnv(spec).map((name) => {
		const items = findTree(tree, list);
		const index =
			items?.type === "list"
				? items.items.findIndex((item) => item.type === "scalar" && item.value === name)
				: -1;
		const path = index === -1 ? list : [...list, index];
		const message = `${name} is not set in this shell`;
		const hint = "export it before `reeve up`; agents keep the value from an earlier `up`";
		return finding(locateValue(tree, path), path, { message, hint });
	});
}

/** `defaults` is copied into every agent, so a small file can become a large fleet (A6). */
const SPREAD_MAX = 1_000_000;

function checkSpread(tree: Tree, agents: number): Finding | null {
	const path = ["defaults", "env"];
	const names = namesIn(tree, path).length;
	if (names * agents <= SPREAD_MAX) return null;
	const message = `too many variables: ${names} for each of ${agents} agents`;
	const hint = "put shared variables into an `env_file`";
	return finding(locateKey(tree, path), path, { message, hint });
}

/** A variable without a value: YAML reads it as null, which would remove it. */
function checkBlankVariables(tree: Tree, path: Path): readonly Finding[] {
	return namesIn(tree, path).flatMap((name) => {
		const place = [...path, name];
		const value = findTree(tree, place);
		if (value?.type !== "scalar" || value.value !== null || value.written !== "") return [];
		if (value.faulty || !ENV_NAME_PATTERN.test(name)) return [];
		const message = "the value is missing";
		const hint = 'write `null` to remove the variable, or `""` to leave it empty';
		return [
			finding(locateKey(tree, place), place, { message, expected: "a string, or null", hint }),
		];
	});
}

function specOf(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
	context: FleetContext,
): AgentSpec {
	const settings = settingsOf(agent, shape);
	if (settings === null)
		throw new Error(`agent ${agent.id} passed every check and has no settings`);
	const cwd = findTree(tree, ["projects", agent.project, "cwd"]);
	const projectCwd = cwd?.type === "scalar" ? String(cwd.value) : undefined;
	const { project, name } = agent;
	const own = under(shape.sound, ["adapters", settings.adapter]);
	const profile = own === null ? null : resolveAdapter(adapterSchema.parse(own));
	const sharedBudgets = sharedBudgetsOf(tree, shape, project, settings.account);
	const place = { project, name, projectCwd, profile, sharedBudgets, shell: context.env };
	return resolveAgent(place, settings, context);
}
