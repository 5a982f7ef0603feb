/** `schedules`: each has one time and one action, its agent exists and can do what is asked. */

import { renderDuration } from "../core/units.js";
import { under, type WrittenAgent } from "./agents.js";
import type { CheckedShape } from "./check-shape.js";
import { timesOf } from "./cron.js";
import { nearest } from "./did-you-mean.js";
import { isMisspelt } from "./explain-key.js";
import { fullId } from "./full-id.js";
import { FLEET_OUTLINE, findOutline, type Path } from "./outline.js";
import { type Explanation, type Finding, finding, quote } from "./problem.js";
import { type ScheduleSettings, scheduleSchema } from "./schema.js";
import { findTree, locateKey, locateValue, namesIn, type Tree } from "./tree.js";

export interface WrittenSchedule {
	readonly project: string;
	readonly name: string;
	readonly path: Path;
}

/** Every entry under `schedules`, in file order, valid or not. */
export function listSchedules(tree: Tree): readonly WrittenSchedule[] {
	return namesIn(tree, ["projects"]).flatMap((project) =>
		namesIn(tree, ["projects", project, "schedules"]).map((name) => ({
			project,
			name,
			path: ["projects", project, "schedules", name],
		})),
	);
}

/** The settings from all valid keys; null if they are not a schedule. */
export function scheduleSettingsOf(
	{ path }: WrittenSchedule,
	{ sound }: CheckedShape,
): ScheduleSettings | null {
	const result = scheduleSchema.safeParse(under(sound, path) ?? {});
	return result.success ? result.data : null;
}

const TIMES = ["cron", "every"] as const;
const ACTIONS = ["send", "call", "plan", "restart"] as const;
const EVERY_MS_MIN = 1_000;

export function checkSchedule(
	tree: Tree,
	schedule: WrittenSchedule,
	shape: CheckedShape,
	agents: readonly WrittenAgent[],
): readonly Finding[] {
	const settings = scheduleSettingsOf(schedule, shape);
	const { path } = schedule;
	if (settings === null || shape.broken.covers(path)) return [];
	const at = (keys: Path, said: Explanation) => {
		const place = [...path, ...keys];
		return finding(locateValue(tree, place), place, said);
	};
	return [
		...checkOne(tree, schedule, shape, TIMES, "`cron` or `every`"),
		...checkOne(tree, schedule, shape, ACTIONS, "`send`, `call`, `plan` or `restart`"),
		...checkTimes(settings, at),
		...checkAgent(tree, schedule, settings, agents, at),
	];
}

type At = (keys: Path, said: Explanation) => Finding;

/** Exactly one of these keys. */
function checkOne(
	tree: Tree,
	{ path }: WrittenSchedule,
	shape: CheckedShape,
	keys: readonly string[],
	listed: string,
): readonly Finding[] {
	const names = namesIn(tree, path);
	const written = names.filter((name) => keys.includes(name));
	if (written.length === 1) return [];
	const around = findOutline(FLEET_OUTLINE, path) ?? FLEET_OUTLINE;
	const isReported = keys.some(
		(key) => shape.broken.covers([...path, key]) || isMisspelt(key, names, around),
	);
	if (isReported) return [];
	const [, second] = written;
	if (second === undefined) {
		const message = "required key is missing";
		return [finding(locateKey(tree, path), path, { message, expected: `one of ${listed}` })];
	}
	const message = `${written.map(quote).join(" and ")} exclude each other`;
	const place = [...path, second];
	return [
		finding(locateKey(tree, place), place, { message, expected: `exactly one of ${listed}` }),
	];
}

function checkTimes(settings: ScheduleSettings, at: At): readonly Finding[] {
	const { cron = null, every, timezone = null, jitter, overlap, restart } = settings;
	const findings: Finding[] = [];
	if (every !== undefined && every < EVERY_MS_MIN) {
		findings.push(at(["every"], { message: "the shortest interval is `1s`" }));
	}
	if (timezone !== null && cron === null && every !== undefined) {
		const message = "`timezone` has no effect on `every`";
		findings.push(at(["timezone"], { message, hint: "remove `timezone`, or use `cron`" }));
	}
	const gapMs = every ?? (cron === null ? null : shortestGapOf(cron));
	if (gapMs !== null && jitter >= gapMs) {
		const message = `the jitter is not shorter than the time between two slots, ${quote(renderDuration(gapMs))}`;
		findings.push(at(["jitter"], { message, hint: "slots would overtake each other" }));
	}
	if (overlap === "replace" && restart !== undefined) {
		const message = "a restart cannot be replaced by another";
		findings.push(at(["overlap"], { message, hint: "write `skip` or `queue`" }));
	}
	return findings;
}

const SLOTS_COMPARED = 100;

/** Among the slots from some day on. */
function shortestGapOf(cron: string): number | null {
	const times = timesOf({ cron, everyMs: null, timezone: "UTC" }, "UTC");
	let lastMs = times.next(Date.UTC(2026, 0, 1), 0);
	let shortestMs: number | null = null;
	for (let count = 0; count < SLOTS_COMPARED && lastMs !== null; count++) {
		const nextMs = times.next(lastMs, 0);
		if (nextMs === null) break;
		shortestMs = Math.min(shortestMs ?? nextMs - lastMs, nextMs - lastMs);
		lastMs = nextMs;
	}
	return shortestMs;
}

function checkAgent(
	tree: Tree,
	{ path, project }: WrittenSchedule,
	settings: ScheduleSettings,
	agents: readonly WrittenAgent[],
	at: At,
): readonly Finding[] {
	const { send, call, restart } = settings;
	const used: readonly (readonly [Path, string])[] = [
		...(send === undefined ? [] : [[["send", "agent"], send.agent] as const]),
		...(call === undefined ? [] : [[["call", "agent"], call.agent] as const]),
		...(restart === undefined ? [] : [[["restart"], restart] as const]),
	];
	const blank = send?.message.trim() === "" ? [at(["send", "message"], EMPTY_MESSAGE)] : [];
	const wrong = used.flatMap(([keys, reference]) => {
		const written = findTree(tree, [...path, ...keys]);
		const id = fullId(reference, project);
		const target = agents.find((agent) => agent.id === id);
		if (target === undefined) {
			const shown = written?.type === "scalar" ? written.written : reference;
			const meant = nearest(
				id,
				agents.map((agent) => agent.id),
			);
			const hint = meant === null ? null : `did you mean ${quote(meant)}?`;
			return [at(keys, { message: `unknown agent ${quote(shown)}`, hint })];
		}
		const said = explainKind(String(keys[0]), target);
		return said === null ? [] : [at(keys, said)];
	});
	return [...blank, ...wrong];
}

const EMPTY_MESSAGE: Explanation = { message: "the message is empty" };

function explainKind(action: string, { id, kind }: WrittenAgent): Explanation | null {
	if (kind === null) return null;
	if (action === "send" && kind !== "session") {
		return {
			message: `${quote(id)} is a ${kind} agent, which has no terminal for messages`,
			hint: "use `call` with an `action`",
		};
	}
	if (action === "call" && kind === "session") {
		return {
			message: `${quote(id)} is a session, and sessions accept no requests`,
			hint: "use `send` with a `message`",
		};
	}
	if (action === "restart" && kind === "call") {
		return { message: `${quote(id)} is a call agent, which is started for each request` };
	}
	return null;
}
