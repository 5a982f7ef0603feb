/**
 * `reeve explain AGENT`: an agent's state in the crash policy, and the decisions after its next exit.
 */

import { renderUsd } from "../../core/budget.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import type { CrashContext, CrashState } from "../../core/crash-state.js";
import { ENV_SOURCES } from "../../core/environment.js";
import { ReeveError } from "../../core/errors.js";
import { toCamelKeys } from "../../core/key-case.js";
import { type RehearsalRow, type RehearsalStep, rehearse } from "../../core/rehearse.js";
import { plainLine } from "../../core/safe-text.js";
import { renderDuration, renderElapsed } from "../../core/units.js";
import type {
	FileWatchJson,
	HealthCheckJson,
	HibernationJson,
	PlacementJson,
	UsageJson,
} from "../../http/contract/agent-parts.js";
import type { AgentDetailJson } from "../../http/contract/agents.js";
import {
	reasonBesideState,
	renderExitShort,
	renderNextStart,
	renderState,
	stateColor,
} from "../agent-table.js";
import { countOf } from "../arguments.js";
import { connect } from "../connect.js";
import { parseExitSequence } from "../exit-sequence.js";
import type { Cli, Output } from "../output.js";
import { policyJson, renderAction, renderStep } from "../policy-table.js";
import { resolveAgent } from "../resolve.js";
import { renderTable } from "../table.js";
import { localTime } from "./ps.js";

const EXITS_SHOWN_MAX = 10;

export interface ExplainAgentOptions {
	readonly exit?: string;
	readonly json?: boolean;
}

export async function runExplainAgent(
	id: string,
	options: ExplainAgentOptions,
	{ output, env }: Cli,
): Promise<number> {
	const wanted = options.exit === undefined ? ["1", "0"] : [options.exit];
	const steps = wanted.map(parseSingle);
	const { client } = connect(env);
	const place = await resolveAgent(id, client);
	const detail = await client.call("GET /api/v1/agents/:id", { place });
	const crash = crashOf(detail);
	const rows = crash === null ? [] : steps.flatMap((step) => whatIf(step, detail, crash));
	if (options.json) {
		output.json({ ...detail, what_if: policyJson(rows) });
		return CLI_EXIT.done;
	}
	printState(detail, crash, output);
	printEnvironment(detail, output);
	printExits(detail, output);
	printOutput(detail.last_output, output);
	if (crash !== null) printSimulation(detail, rows, output);
	return CLI_EXIT.done;
}

interface Crash {
	readonly state: CrashState;
	readonly context: CrashContext;
}

/** The policy's state as sent by the daemon; null for an agent without one. */
function crashOf({ kind, crash }: AgentDetailJson): Crash | null {
	if (kind === "call" || crash.settings === null) return null;
	const onCleanExit = crash.on_clean_exit;
	// Delays are shown as they are configured.
	const settings = { ...toCamelKeys(crash.settings), jitter: 0 };
	return { state: toCamelKeys(crash.state), context: { settings, onCleanExit, random: 0 } };
}

function parseSingle(text: string): RehearsalStep {
	const [step, ...more] = parseExitSequence(text);
	if (step?.type === "exit" && more.length === 0) return step;
	const hint = "For example 1, 137, SIGKILL or usage_limit. Use `--simulate` for a sequence.";
	throw new ReeveError("usage", `--exit needs exactly one exit, found \`${text}\``, hint);
}

/** The decisions if the current run exited now in this way. Empty if the agent is halted. */
function whatIf(
	step: RehearsalStep,
	detail: AgentDetailJson,
	{ state, context }: Crash,
): readonly RehearsalRow[] {
	if (step.type !== "exit") return [];
	// An exit with an explicit uptime keeps it.
	const uptimeMs = step.report.uptimeMs || (detail.uptime_ms ?? 0);
	return rehearse(state, [{ ...step, report: { ...step.report, uptimeMs } }], context).rows;
}

function printState(detail: AgentDetailJson, crash: Crash | null, output: Output): void {
	const { colors } = output;
	const running = detail.uptime_ms === null ? "" : ` for ${renderElapsed(detail.uptime_ms)}`;
	const pid = detail.pid === null ? "" : `, pid ${detail.pid}`;
	const nowMs = Date.now();
	const next = renderNextStart(detail, nowMs);
	const facts: (readonly [string, string])[] = [
		["state", `${stateColor(detail, colors)(renderState(detail, nowMs))}${running}${pid}`],
		...(detail.kind === "session" ? [["activity", renderActivity(detail)] as const] : []),
		["wanted", detail.desired],
		["why", plainLine(reasonBesideState(detail))],
		...(next === null ? [] : [["next", next] as const]),
		...(crash === null ? [] : [["policy", renderMemory(crash)] as const]),
		...(detail.kind === "session" ? [] : [["circuit", renderCircuit(detail)] as const]),
		...(detail.depends_on.length === 0 ? [] : [["needs", detail.depends_on.join(", ")] as const]),
		...(detail.usage ? [["usage", renderUsage(detail.usage)] as const] : []),
		...(detail.hibernation ? [["hibernate", renderHibernation(detail.hibernation)] as const] : []),
		...(detail.placement ? [["placement", renderPlacement(detail.placement)] as const] : []),
		...(detail.health_check ? [["health", renderHealthCheck(detail.health_check)] as const] : []),
		...(detail.file_watch ? [["watch", renderFileWatch(detail.file_watch)] as const] : []),
		["restarts", String(detail.restarts)],
		["logs", plainLine(detail.log_dir)],
	];
	output.result(colors.bold(detail.id));
	for (const [name, value] of facts) output.result(`  ${colors.dim(name.padEnd(9))} ${value}`);
}

/** `busy (hook, 12s ago): asks to use Bash`; `ready (hook, 12s ago), last turn failed: auth: 401`. */
function renderActivity(detail: AgentDetailJson): string {
	const { activity, activity_source: source, activity_at: at, activity_detail: words } = detail;
	if (!source || !at) return activity;
	const ago = renderElapsed(Math.max(0, Date.now() - Date.parse(at)));
	const failed = detail.turn_failure ? `, last turn failed: ${detail.turn_failure}` : "";
	return `${activity} (${source}, ${ago} ago)${failed}${words ? `: ${plainLine(words)}` : ""}`;
}

/** `12345 tokens of 100000, $0.42 today; budget used up until 05 Apr 00:00`. */
function renderUsage(usage: UsageJson): string {
	const { tokens_per_day: tokensMax, usd_per_day: usdMax, usd_today: usd } = usage;
	const tokens = `${usage.tokens_today} tokens${tokensMax === null ? "" : ` of ${tokensMax}`}`;
	const cost = usd === null ? "cost unknown" : renderUsd(usd);
	const bound = usdMax === null ? "" : ` of ${renderUsd(usdMax)}`;
	const held = usage.held_until;
	const spent = held === null ? "" : `; budget used up until ${localTime(held)}`;
	return `${tokens}, ${cost}${bound} today${spent}`;
}

/** `awake: a terminal is attached`, `since 05 Apr 03:12, after 45m of idle time, freed 412 MB`. */
function renderPlacement({ state, host, epoch, on_lost: lost, reason }: PlacementJson): string {
	const lease = epoch === null ? "" : `, lease ${epoch}`;
	const where = state === "held" ? `this host (${host}${lease}): ` : "";
	return plainLine(`${where}${reason}; on_lost: ${lost}`);
}

function renderHibernation(hibernation: HibernationJson): string {
	const { state, since, idle_ms: idleMs, freed_bytes: freed, why_awake: why } = hibernation;
	const idle = renderElapsed(idleMs ?? 0);
	if (state === "awake") return why === null ? "not running" : `awake, idle for ${idle}: ${why}`;
	const memory = freed === null ? "" : `, freed ${Math.round(freed / 1_000_000)} MB`;
	const begun = since === null ? "" : ` since ${localTime(since)}`;
	if (state === "stopping") return `stopping${begun}, after ${idle} of idle time`;
	return `hibernated${begun}, after ${idle} of idle time${memory}`;
}

/** `12 folders; restarted 3s ago: src/a.js changed; not watched: …`. */
function renderFileWatch({
	folders,
	problem,
	restarted_at: at,
	files,
	too_many: tooMany,
}: FileWatchJson): string {
	const parts = [countOf(folders, "folder")];
	if (at !== null) {
		const ago = renderElapsed(Math.max(0, Date.now() - Date.parse(at)));
		parts.push(`restarted ${ago} ago: ${files.map(plainLine).join(", ")} changed`);
	}
	if (tooMany) parts.push("files keep changing: the next restart is delayed");
	if (problem !== null) parts.push(plainLine(problem));
	return parts.join("; ");
}

/** `unhealthy since 05 Apr 03:12: no answer within 10s (failed 4 times in a row, checked 12s ago)`. */
function renderHealthCheck(check: HealthCheckJson): string {
	const { state, at, error, consecutive_failures: failures, failures: limit, waits } = check;
	if (at === null) return "not checked yet";
	const checked = `checked ${renderElapsed(Math.max(0, Date.now() - Date.parse(at)))} ago`;
	if (error === null) return `${state}, ${checked}`;
	const since = check.unhealthy_since;
	const how = since === null ? state : `${state} since ${localTime(since)}`;
	const next = waits === null ? "" : `; ${waits}`;
	const until = since === null ? `, unhealthy from ${limit}` : "";
	return `${how}: ${plainLine(error)} (failed ${failures} times in a row${until}, ${checked})${next}`;
}

/** Whether calls are admitted, since when not, and how to admit them. */
function renderCircuit(detail: AgentDetailJson): string {
	const failed = `${countOf(detail.consecutive_failures, "consecutive call")} failed`;
	const resume = `\`reeve resume ${detail.id}\` closes it`;
	if (detail.circuit === "open") {
		const until = detail.circuit_open_until;
		const then =
			until === null ? "" : ` until ${localTime(until)}, then one call is allowed as a probe`;
		return `open: ${failed}; calls are refused${then}; ${resume}`;
	}
	if (detail.circuit === "half_open") {
		return `half open: ${failed}; the next call is a probe that closes or reopens it; ${resume}`;
	}
	return detail.health === "healthy" ? "closed" : `closed: ${failed}`;
}

/** `degraded: flapping 2 of 5, budget 4 of 20 within 1h`. */
function renderMemory({ state, context: { settings } }: Crash): string {
	const { flaps, policy, runningMs, budgetSpentAt, waits } = state;
	const { exits, withinMs } = settings.budget;
	const waited = waits.limit + waits.trouble;
	const spent = budgetSpentAt.filter((at) => at >= runningMs - withinMs).length;
	const parts = [
		settings.halt === "never"
			? `flapping ${countOf(flaps, "time")}, never halted`
			: `flapping ${flaps} of ${settings.haltThreshold}`,
		`failed ${spent} of ${exits} times within ${renderDuration(withinMs)} of running time`,
		...(waited > 0 ? [`waited ${countOf(waited, "time")}`] : []),
	];
	return `${policy}: ${parts.join(", ")}`;
}

/** The variables of its next start by source: names, never values. */
function printEnvironment({ environment }: AgentDetailJson, output: Output): void {
	const { colors } = output;
	output.result("");
	output.result(
		`environment${environment.env_file === null ? "" : ` (env_file ${plainLine(environment.env_file)})`}`,
	);
	for (const source of ENV_SOURCES) {
		const names = environment.variables
			.filter((each) => each.source === source)
			.map(({ name, set }) => (set ? name : `${name} (not set)`));
		if (names.length > 0) output.result(`  ${colors.dim(source.padEnd(9))} ${names.join(", ")}`);
	}
	for (const warning of environment.warnings) {
		output.result(`  ${colors.yellow("warning")}   ${plainLine(warning)}`);
	}
}

function printExits({ exits }: AgentDetailJson, output: Output): void {
	output.result("");
	if (exits.length === 0) {
		output.result("No exits yet.");
		return;
	}
	output.result(output.colors.bold("Last exits"));
	const rows = exits
		.slice(0, EXITS_SHOWN_MAX)
		.map((exit) =>
			[
				localTime(exit.at),
				renderElapsed(exit.uptime_ms),
				renderExitShort(exit),
				exit.class ?? "-",
				exit.reason,
			].map((text) => ({ text })),
		);
	const head = ["AT", "RAN", "EXIT", "CLASS", "REASON"];
	for (const line of renderTable(head, rows, output.columns, ["CLASS", "RAN"])) output.result(line);
}

function printOutput(lines: readonly string[], output: Output): void {
	if (lines.length === 0) return;
	output.result("");
	output.result(output.colors.bold("Last output before the exit"));
	for (const line of lines) output.result(`  ${plainLine(line)}`);
}

function printSimulation(
	detail: AgentDetailJson,
	rows: readonly RehearsalRow[],
	output: Output,
): void {
	output.result("");
	if (rows.length === 0) {
		const { id, last_exit } = detail;
		const afterFix = `, or until \`reeve up ${id}\` finds that it can be started`;
		const isChecked = last_exit?.cause === "spawn_error";
		output.result(
			`The agent stays halted until \`reeve resume ${id}\`${isChecked ? afterFix : ""}.`,
		);
		return;
	}
	const title =
		detail.process === "running" ? "If it exited now" : "If it started and exited immediately";
	output.result(output.colors.bold(title));
	const cells = rows.map((row) =>
		[renderStep(row), row.class ?? row.kind ?? "-", row.policy, renderAction(row), row.reason].map(
			(text) => ({ text }),
		),
	);
	const head = ["EXIT", "CLASS", "STATE", "ACTION", "REASON"];
	for (const line of renderTable(head, cells, output.columns, ["CLASS"])) output.result(line);
}
