/** `reeve schedule`: lists, shows, runs, pauses and resumes schedules. */

import type { Client } from "../../client/client.js";
import { nearest } from "../../config/did-you-mean.js";
import { CLI_EXIT, type CliExit } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { plainLine } from "../../core/safe-text.js";
import { renderDuration, renderElapsed } from "../../core/units.js";
import type { ScheduleJson, ScheduleSlotJson } from "../../http/contract/schedules.js";
import { parseCount } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { checkRemotes } from "../resolve.js";
import { type Cell, renderTable } from "../table.js";
import { localTime } from "./ps.js";

interface JsonOption {
	readonly json?: boolean;
}

export async function runScheduleList(options: JsonOption, { output, env }: Cli): Promise<number> {
	const { schedules } = await connect(env).client.call("GET /api/v1/schedules");
	if (options.json) {
		output.json(schedules);
		return CLI_EXIT.done;
	}
	if (schedules.length === 0) {
		output.note(
			"no schedules: add `schedules` to a project of the fleet file, then `reeve reload`",
		);
		return CLI_EXIT.done;
	}
	const rows = schedules.map((schedule): Cell[] => [
		{ text: schedule.id },
		{ text: renderTimes(schedule) },
		{ text: nextOf(schedule) },
		schedule.last === null ? { text: "-" } : statusCell(schedule.last, output),
		{ text: renderAction(schedule), cut: true },
	]);
	const head = ["SCHEDULE", "WHEN", "NEXT", "LAST", "ACTION"];
	for (const line of renderTable(head, rows, output.columns, ["LAST"])) output.result(line);
	return CLI_EXIT.done;
}

export async function runScheduleShow(
	text: string,
	options: JsonOption & { readonly lines: string },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const limit = parseCount(options.lines, "--lines");
	const place = await resolveSchedule(text, client);
	const shown = await client.call("GET /api/v1/schedules/:id", { place, query: { limit } });
	if (options.json) {
		output.json(shown);
		return CLI_EXIT.done;
	}
	const { schedule, slots } = shown;
	for (const [name, value] of factsOf(schedule)) {
		output.result(plainLine(`${`${name}:`.padEnd(12)}${value}`));
	}
	if (slots.length === 0) {
		output.result("no slots yet");
		return CLI_EXIT.done;
	}
	output.result("");
	const rows = slots.map((slot): Cell[] => [
		{ text: localTime(slot.slot_at) },
		statusCell(slot, output),
		{ text: slot.ended_at === null ? "-" : tookOf(slot) },
		{ text: slot.started === null ? "-" : `${slot.started.type} ${slot.started.id}` },
		{ text: slot.reason },
	]);
	const head = ["SLOT", "STATUS", "TOOK", "STARTED", "REASON"];
	for (const line of renderTable(head, rows, output.columns, ["TOOK", "STARTED"])) {
		output.result(line);
	}
	return CLI_EXIT.done;
}

export async function runScheduleRun(
	text: string,
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const place = await resolveSchedule(text, client);
	const slot = await client.call("POST /api/v1/schedules/:id/run", { place });
	if (options.json) output.json(slot);
	else {
		const { started } = slot;
		const what = started === null ? "" : `, ${started.type} ${started.id}`;
		output.result(`${place}: ${slot.status}${what} (${slot.reason})`);
	}
	return exitOf(slot);
}

function exitOf({ status }: ScheduleSlotJson): CliExit {
	if (status === "skipped") return CLI_EXIT.refused;
	return status === "failed" || status === "cancelled" ? CLI_EXIT.failed : CLI_EXIT.done;
}

export function runSchedulePause(
	texts: readonly string[],
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	return changeEach(texts, "pause", options, { output, env });
}

export function runScheduleResume(
	texts: readonly string[],
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	return changeEach(texts, "resume", options, { output, env });
}

const CHANGED = {
	pause: ["paused", "already paused"],
	resume: ["resumed", "not paused"],
} as const;

async function changeEach(
	texts: readonly string[],
	verb: "pause" | "resume",
	{ json }: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const ids = await listSchedules(client, texts);
	const chosen = new Set(
		texts.flatMap((text) => {
			const own = ids.filter((id) => id.startsWith(`${text}:`));
			return own.length > 0 ? own : [findSchedule(text, ids)];
		}),
	);
	const results: ScheduleJson[] = [];
	for (const place of chosen) {
		const { schedule, changed } = await client.call(`POST /api/v1/schedules/:id/${verb}`, {
			place,
		});
		results.push(schedule);
		if (json) continue;
		const next = schedule.next_at === null ? "" : `, next slot ${localTime(schedule.next_at)}`;
		output.result(`${place}: ${CHANGED[verb][changed ? 0 : 1]}${next}`);
	}
	if (json) output.json(results);
	return CLI_EXIT.done;
}

async function resolveSchedule(text: string, client: Client): Promise<string> {
	return findSchedule(text, await listSchedules(client, [text]));
}

async function listSchedules(client: Client, texts: readonly string[]): Promise<readonly string[]> {
	const { schedules } = await client.call("GET /api/v1/schedules");
	const ids = schedules.map(({ id }) => id);
	await checkRemotes(client, texts, ids);
	return ids;
}

function findSchedule(text: string, ids: readonly string[]): string {
	if (ids.includes(text)) return text;
	const named = ids.filter((id) => id.endsWith(`:${text}`));
	if (named.length === 1) return named[0] as string;
	if (named.length > 1) {
		throw new ReeveError("usage", `\`${text}\` is ambiguous`, `Write one of: ${named.join(", ")}.`);
	}
	const meant = nearest(text, ids);
	const hint =
		meant === null
			? ids.length === 0
				? "There are no schedules."
				: `Known: ${ids.join(", ")}.`
			: `Did you mean ${meant}?`;
	throw new ReeveError("schedule_not_found", `unknown schedule ${text}`, hint);
}

/** `0 3 * * 1-5 Europe/Berlin`, `every 30m`. */
function renderTimes({ cron, every_ms: everyMs, timezone }: ScheduleJson): string {
	return cron === null ? `every ${renderDuration(everyMs ?? 0)}` : `${cron} ${timezone}`;
}

function renderAction({ action }: ScheduleJson): string {
	switch (action.type) {
		case "send":
			return `send ${action.agent}: ${action.message}`;
		case "call":
			return `call ${action.agent} ${action.action}`;
		case "plan":
			return `plan ${action.file}`;
		case "restart":
			return `restart ${action.agent}`;
	}
}

function nextOf({ paused_at: pausedAt, next_at: nextAt }: ScheduleJson): string {
	if (pausedAt !== null) return "paused";
	return nextAt === null ? "never" : localTime(nextAt);
}

function statusCell({ status, missed }: ScheduleSlotJson, { colors }: Output): Cell {
	const paints = {
		queued: colors.dim,
		fired: colors.yellow,
		succeeded: colors.green,
		failed: colors.red,
		cancelled: colors.yellow,
		skipped: colors.dim,
	};
	const count = missed === null || missed.count === 1 ? "" : ` (${missed.count})`;
	return { text: `${status}${count}`, paint: paints[status] };
}

function tookOf({ decided_at: from, ended_at: to }: ScheduleSlotJson): string {
	return renderElapsed(Math.max(0, Date.parse(to ?? from) - Date.parse(from)));
}

function factsOf(schedule: ScheduleJson): readonly (readonly [string, string])[] {
	const { id, overlap, jitter_ms: jitterMs, catch_up: catchUp, blocked, open } = schedule;
	return [
		["schedule", id],
		["when", renderTimes(schedule)],
		["action", renderAction(schedule)],
		...(schedule.action.type === "call" && schedule.action.payload !== null
			? ([["payload", schedule.action.payload]] as const)
			: []),
		["next", nextOf(schedule)],
		...(blocked === null ? [] : ([["blocked", blocked]] as const)),
		...(open.length === 0 ? [] : ([["open", `${open.length}, see below`]] as const)),
		["overlap", overlap],
		["catch_up", catchUp],
		...(jitterMs === 0 ? [] : ([["jitter", renderDuration(jitterMs)]] as const)),
		["fleet file", schedule.fleet_file],
	];
}
