/** `reeve usage`: tokens and cost over time. */

import { renderUsd } from "../../core/budget.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { parseDuration } from "../../core/units.js";
import { checkScopes, invalidValue, isWithin, parseChoice } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { listAgents, resolveScopes } from "../resolve.js";
import { renderTable } from "../table.js";
import {
	renderCsv,
	sumOf,
	sumUsage,
	USAGE_GROUPS,
	type UsageGroup,
	type UsageSum,
} from "../usage-report.js";

export interface UsageOptions {
	readonly since: string;
	readonly by: string;
	readonly csv?: boolean;
	readonly json?: boolean;
}

const DAY_MS = 86_400_000;
/** As many days as the daemon keeps. */
const DAYS_MAX = 31;

export async function runUsage(
	scopes: readonly string[],
	{ since, by: group, csv, json }: UsageOptions,
	{ output, env }: Cli,
): Promise<number> {
	const by = parseChoice(group, USAGE_GROUPS, "--by");
	if (csv && json) {
		throw new ReeveError("usage", "--csv and --json cannot be combined", "Remove one of them.");
	}
	const { client } = connect(env);
	const first = parseSince(since);
	const { today, days } = await client.call("GET /api/v1/usage", { query: { days: DAYS_MAX } });
	const from = "days" in first ? dayBefore(today, first.days - 1) : first.day;
	const wanted = await chooseScopes(scopes, client);
	const rows = days.filter(
		({ day, agent }) => day >= from && wanted.some((scope) => isWithin(agent, scope)),
	);
	const sums = sumUsage(rows, by);
	const total = sumOf("total", rows);
	const oldest = dayBefore(today, DAYS_MAX - 1);
	if (from < oldest) {
		output.note(`usage is kept for ${DAYS_MAX} days: days before that are missing`);
	}
	if (json) output.json({ from, to: today, by, rows: sums, total });
	else if (csv)
		output.result(
			renderCsv(
				[by, ...COLUMNS],
				sums.map((sum) => cellsOf(sum)),
			),
		);
	else if (sums.length === 0) output.note(`no usage since ${from < oldest ? oldest : from}`);
	else {
		const rows = [...sums, total].map((sum) => linesOf(sum).map((text) => ({ text })));
		for (const line of renderTable(headerOf(by), rows, output.columns)) output.result(line);
	}
	return CLI_EXIT.done;
}

const COLUMNS = ["input", "output", "cache_read", "cache_write", "tokens", "usd"] as const;

function cellsOf(sum: UsageSum): readonly (string | number | null)[] {
	return [sum.name, ...COLUMNS.map((key) => sum[key])];
}

function headerOf(by: UsageGroup): string[] {
	return [by, "input", "output", "cache read", "cache write", "tokens", "cost"].map((name) =>
		name.toUpperCase(),
	);
}

function linesOf({ usd, usd_incomplete: isPart, ...sum }: UsageSum): string[] {
	const numbers = [sum.input, sum.output, sum.cache_read, sum.cache_write, sum.tokens];
	const cost = usd === null ? "-" : `${isPart ? ">" : ""}${renderUsd(usd)}`;
	return [sum.name, ...numbers.map((each) => each.toLocaleString("en-US")), cost];
}

function parseSince(text: string): { readonly days: number } | { readonly day: string } {
	if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))) return { day: text };
	const ms = parseDuration(text);
	if (ms !== null && ms > 0) return { days: Math.ceil(ms / DAY_MS) };
	const hint = "Use a number of days (7d) or a date (2031-04-05).";
	throw invalidValue("--since", text, hint);
}

/** A date without a time is read as UTC. */
function dayBefore(day: string, days: number): string {
	return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);
}

async function chooseScopes(
	scopes: readonly string[],
	client: ReturnType<typeof connect>["client"],
): Promise<readonly string[]> {
	if (scopes.length === 0) return ["*"];
	const agents = await listAgents(client, scopes);
	const ids = agents.map(({ id }) => id);
	return resolveScopes(checkScopes(scopes), ids, "the daemon");
}
