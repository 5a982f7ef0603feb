/**
 * A plan file: tasks by name, their dependencies, and payloads that may use earlier results. Like the
 * fleet file, it is checked in one pass that reports every problem with its position.
 */

import { findCycles } from "../core/graph.js";
import { FAILURE_MODES, type FailureMode } from "../core/plan.js";
import { splitHost } from "../core/remote.js";
import { findReferences } from "../core/template.js";
import { parseDuration } from "../core/units.js";
import { nearest } from "./did-you-mean.js";
import type { Path } from "./outline.js";
import {
	type Explanation,
	type Finding,
	finding,
	type Problem,
	problemsOf,
	quote,
	quoteList,
} from "./problem.js";
import { findTree, locateKey, locateValue, type Tree } from "./tree.js";
import { ID_PATTERN, REFERENCE_PATTERN } from "./values.js";
import { parseYaml } from "./yaml-tree.js";

/** One task, with the keys of the API. */
export interface PlanFileTask {
	readonly agent: string;
	readonly action: string;
	readonly payload?: unknown;
	readonly context?: unknown;
	readonly depends_on?: string[];
	readonly timeout_ms?: number;
	readonly max_attempts?: number;
	readonly priority?: number;
	readonly idempotent?: boolean;
}

export interface PlanFile {
	readonly name?: string;
	readonly on_failure: FailureMode;
	readonly tasks: Readonly<Record<string, PlanFileTask>>;
}

export type ParsedPlan =
	| { readonly ok: true; readonly plan: PlanFile }
	| { readonly ok: false; readonly problems: readonly Problem[] };

/** The check of a key's value, and a description of valid values. */
interface Rule {
	readonly expected: string;
	readonly holds: (value: unknown) => boolean;
}

const text: Rule = {
	expected: "a string",
	holds: (value) => typeof value === "string" && value !== "",
};
const anything: Rule = { expected: "anything", holds: () => true };

const TASK_RULES: Readonly<Record<string, Rule>> = {
	agent: {
		expected: "the agent, as `project:agent`, or `remote/project:agent`",
		holds: (value) =>
			typeof value === "string" &&
			value.includes(":") &&
			REFERENCE_PATTERN.test(splitHost(value).rest),
	},
	action: text,
	payload: anything,
	context: anything,
	depends_on: {
		expected: "a list of task names",
		holds: (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
	},
	timeout: {
		expected: "a duration such as `30s`",
		holds: (value) => typeof value === "string" && (parseDuration(value) ?? 0) > 0,
	},
	max_attempts: {
		expected: "a whole number, 1 or more",
		holds: (value) => Number.isInteger(value) && (value as number) >= 1,
	},
	priority: { expected: "a whole number", holds: Number.isInteger },
	idempotent: { expected: "`true` or `false`", holds: (value) => typeof value === "boolean" },
};

const PLAN_RULES: Readonly<Record<string, Rule>> = {
	version: { expected: "`1`", holds: (value) => value === 1 },
	name: text,
	on_failure: {
		expected: quoteList(FAILURE_MODES, "or"),
		holds: (value) => FAILURE_MODES.some((mode) => mode === value),
	},
	tasks: {
		expected: "tasks by name",
		holds: (value) => isMap(value) && Object.keys(value).length > 0,
	},
};

/** The known agents, and whether each can be called; null if unknown. */
export type KnownAgents = ReadonlyMap<string, { readonly callable: boolean }>;

/** `fileName` is the file's name in messages. */
export function parsePlan(
	text: string,
	fileName: string,
	agents: KnownAgents | null = null,
): ParsedPlan {
	const { tree, findings: syntax } = parseYaml(text, null);
	if (tree === null) return { ok: false, problems: problemsOf(fileName, syntax) };
	const plain = plainOf(tree);
	const shape = [...syntax, ...checkPlan(tree, plain)];
	const findings = shape.length > 0 || agents === null ? shape : checkAgents(tree, plain, agents);
	if (findings.length > 0) return { ok: false, problems: problemsOf(fileName, findings) };
	const { name, on_failure: mode, tasks } = plain as Record<string, unknown>;
	const entries = Object.entries(tasks as Record<string, Record<string, unknown>>);
	return {
		ok: true,
		plan: {
			...(name !== undefined && { name: String(name) }),
			on_failure: mode === "continue" ? "continue" : "fail_fast",
			tasks: Object.fromEntries(entries.map(([task, keys]) => [task, taskOf(keys)])),
		},
	};
}

function taskOf({ timeout, ...keys }: Record<string, unknown>): PlanFileTask {
	const timeoutMs = timeout === undefined ? null : parseDuration(String(timeout));
	return {
		...(keys as unknown as PlanFileTask),
		...(timeoutMs !== null && { timeout_ms: timeoutMs }),
	};
}

function checkPlan(tree: Tree, plain: unknown): readonly Finding[] {
	if (!isMap(plain))
		return [
			finding(tree.at, [], {
				message: "this is not a plan",
				expected: "a map with the key `tasks`",
			}),
		];
	const findings = checkKeys(tree, [], plain, PLAN_RULES, ["tasks"]);
	const { tasks } = plain;
	if (!isMap(tasks)) return findings;
	for (const [name, task] of Object.entries(tasks)) {
		const path = ["tasks", name];
		if (!ID_PATTERN.test(name)) {
			const expected = "lower-case letters, digits, `-` and `_`, up to 63 of them";
			findings.push(
				finding(locateKey(tree, path), path, {
					message: `${quote(name)} is not a valid task name`,
					expected,
				}),
			);
		}
		if (isMap(task)) {
			findings.push(...checkKeys(tree, path, task, TASK_RULES, ["agent", "action"]));
		} else {
			findings.push(
				at(tree, path, { message: "this is not a task", expected: "a map of its keys" }),
			);
		}
	}
	return findings.length > 0
		? findings
		: checkGraph(tree, tasks as Record<string, Record<string, unknown>>);
}

function checkKeys(
	tree: Tree,
	path: Path,
	map: Readonly<Record<string, unknown>>,
	rules: Readonly<Record<string, Rule>>,
	required: readonly string[],
): Finding[] {
	const known = Object.keys(rules);
	const wrong = Object.entries(map).flatMap(([key, value]) => {
		const here = [...path, key];
		const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
		if (rule === undefined) {
			const meant = nearest(key, known);
			const reported = { message: `unknown key ${quote(key)}` };
			const more =
				meant === null
					? { expected: quoteList(known, "or") }
					: { hint: `did you mean ${quote(meant)}?` };
			return [finding(locateKey(tree, here), here, { ...reported, ...more })];
		}
		if (rule.holds(value)) return [];
		const written = findTree(tree, here);
		const shown =
			written?.type === "scalar"
				? `${quote(written.written)} is not valid here`
				: "this value is not valid here";
		return [at(tree, here, { message: shown, expected: rule.expected })];
	});
	const missing = required
		.filter((key) => !Object.hasOwn(map, key))
		.map((key) =>
			finding(locateKey(tree, path), [...path, key], {
				message: "required key is missing",
				expected: rules[key]?.expected ?? null,
			}),
		);
	return [...wrong, ...missing];
}

/** Problems that the engine would reject too, with their line. */
function checkGraph(
	tree: Tree,
	tasks: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Finding[] {
	const names = Object.keys(tasks);
	const needs = (name: string) => (tasks[name]?.["depends_on"] ?? []) as readonly string[];
	const findings = names.flatMap((name) => {
		const path = ["tasks", name];
		const unknown = needs(name).flatMap((needed, index) => {
			if (names.includes(needed)) return [];
			const meant = nearest(needed, names);
			const hint = meant === null ? null : `did you mean ${quote(meant)}?`;
			return [
				at(tree, [...path, "depends_on", index], {
					message: `unknown task ${quote(needed)}`,
					hint,
				}),
			];
		});
		const dangling = findReferences(tasks[name]?.["payload"]).flatMap(
			({ text: reference, task }) => {
				if (task !== null && needs(name).includes(task)) return [];
				const message =
					task === null
						? `\${${reference}} is not a reference to a task's result`
						: `the task uses the result of ${quote(task)}, but does not depend on it`;
				const hint =
					task === null
						? "write `${tasks.NAME.result.…}`, or `$${` for a literal `${`"
						: `add ${quote(task)} to \`depends_on\``;
				return [at(tree, [...path, "payload"], { message, hint })];
			},
		);
		return [...unknown, ...dangling];
	});
	const graph = new Map(names.map((name) => [name, needs(name)]));
	for (const cycle of findCycles(graph)) {
		const path = ["tasks", cycle[0] ?? "", "depends_on"];
		const message = `circular dependency: ${[...cycle, cycle[0]].join(" → ")}`;
		findings.push(at(tree, path, { message }));
	}
	return findings;
}

function checkAgents(tree: Tree, plain: unknown, agents: KnownAgents): Finding[] {
	const { tasks } = plain as { readonly tasks: Readonly<Record<string, PlanFileTask>> };
	return Object.entries(tasks).flatMap(([name, { agent }]) => {
		const known = agents.get(agent);
		if (known?.callable) return [];
		const path = ["tasks", name, "agent"];
		if (known !== undefined) {
			const hint = "call agents of kind `call` or `worker`";
			return [
				at(tree, path, {
					message: `${quote(agent)} is a session, and sessions accept no requests`,
					hint,
				}),
			];
		}
		const meant = nearest(agent, [...agents.keys()]);
		const hint = meant === null ? "`reeve ps` lists them" : `did you mean ${quote(meant)}?`;
		return [at(tree, path, { message: `unknown agent ${quote(agent)}`, hint })];
	});
}

function at(tree: Tree, path: Path, explanation: Explanation): Finding {
	return finding(locateValue(tree, path), path, explanation);
}

function isMap(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function plainOf(tree: Tree): unknown {
	if (tree.type === "scalar") return tree.value;
	if (tree.type === "list") return tree.items.map(plainOf);
	return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, plainOf(value)]));
}
