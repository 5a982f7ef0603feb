/** `reeve search`: searches the logs and transcripts of all agents. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { splitHost } from "../../core/remote.js";
import type { SearchMatchJson } from "../../http/contract/logs.js";
import { checkScopes, countOf, parseChoice, parseCount, parsePositive } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { listAgents, selectIds } from "../resolve.js";
import { renderMoment } from "./logs.js";

export interface SearchOptions {
	readonly lines: string;
	readonly context: string;
	readonly kind?: string;
	readonly json?: boolean;
}

const MATCHES_MAX = 500;
const CONTEXT_MAX = 10;

const KINDS = ["log", "transcript"] as const;

export async function runSearch(
	text: string,
	scopes: readonly string[],
	{ lines, context, kind, json }: SearchOptions,
	{ output, env }: Cli,
): Promise<number> {
	if (text === "" || text.length > 200) {
		throw new ReeveError("usage", "the text must have 1 to 200 characters");
	}
	const wanted = kind === undefined ? undefined : parseChoice(kind, KINDS, "--kind");
	const limit = Math.min(parsePositive(lines, "--lines"), MATCHES_MAX);
	const around = Math.min(parseCount(context, "--context"), CONTEXT_MAX);
	const { client } = connect(env);
	const agents = scopes.length === 0 ? null : await chooseAgents(scopes, client);
	const found = await client.call("GET /api/v1/search", {
		query: {
			text,
			limit,
			context: around,
			...(wanted !== undefined && { kind: wanted }),
			...(agents !== null && { agents: agents.join(",") }),
		},
	});
	const { matches, incomplete } = found;
	if (json) output.json(found);
	else for (const match of matches) printMatch(match, output);
	if (json) return matches.length > 0 ? CLI_EXIT.done : CLI_EXIT.failed;
	if (incomplete.length > 0) {
		output.note(
			`there may be more matches: ${countOf(incomplete.length, "agent")} not searched completely (${incomplete.slice(0, 5).join(", ")}${incomplete.length > 5 ? ", …" : ""}). Use a longer text, fewer agents or a larger -n.`,
		);
	} else if (matches.length === 0) output.note("no line matches");
	return matches.length > 0 ? CLI_EXIT.done : CLI_EXIT.failed;
}

async function chooseAgents(
	scopes: readonly string[],
	client: ReturnType<typeof connect>["client"],
) {
	const agents = await listAgents(client, scopes);
	const ids = agents.map(({ id }) => id);
	return selectIds(checkScopes(scopes), ids, "the daemon");
}

function printMatch(match: SearchMatchJson, { colors, result }: Output): void {
	const { agent, kind, at, until, before, text, after } = match;
	const span = [at, until].flatMap((each) => (each === null ? [] : [renderMoment(each)]));
	result([colors.cyan(agent), kind, colors.dim(span.join("..") || "unknown time")].join("  "));
	for (const line of before) result(`    ${line}`);
	result(colors.bold(`  > ${text}`));
	for (const line of after) result(`    ${line}`);
	result(colors.dim(`    ${openCommand(match)}`));
}

/** The command that shows the place. */
function openCommand({ agent, position, file, offset }: SearchMatchJson): string {
	if (position !== null) return `reeve logs ${agent} --around ${position}`;
	const command = `tail -c +${(offset ?? 0) + 1} ${quote(file ?? "")} | head -n 1`;
	const { host } = splitHost(agent);
	return host === null ? command : `on ${host}: ${command}`;
}

function quote(path: string): string {
	return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
