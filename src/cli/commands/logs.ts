/** `reeve logs`: the output of agents, made safe to display. */

import type { Client, MergedLine } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { createSanitizer } from "../../core/safe-text.js";
import { checkScopes, parseCount, parseMoment, parsePositive } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { reconnecting } from "../reconnecting.js";
import { listAgents, resolveAgent, selectIds } from "../resolve.js";

export interface LogsOptions {
	readonly follow?: boolean;
	readonly lines?: string;
	readonly since?: string;
	readonly until?: string;
	readonly grep?: string;
	readonly ignoreCase?: boolean;
	readonly around?: string;
	readonly time?: boolean;
	readonly reconnect: string;
	readonly raw?: boolean;
	readonly json?: boolean;
}

const LINES = 200;

export async function runLogs(
	scopes: readonly string[],
	options: LogsOptions,
	{ output, env }: Cli,
): Promise<number> {
	checkOptions(options);
	const { client } = connect(env);
	const agents = await chooseAgents(scopes, client);
	const { since, until, grep, time } = options;
	const [agent] = agents;
	if (options.around !== undefined)
		return showAround(agents, options.around, client, options, output);
	const asLines = since !== undefined || until !== undefined || grep !== undefined || time === true;
	if (agent !== undefined && agents.length === 1 && !asLines)
		return showOne(agent, client, options, output);
	if (options.raw) {
		const hint = "Name one agent, and filter the bytes with other programs.";
		throw new ReeveError("usage", "--raw shows all output of one agent only", hint);
	}
	return showMerged(agents, client, options, output);
}

function checkOptions({ raw, json, lines, since, until, follow, grep, ignoreCase }: LogsOptions) {
	const refuse = (message: string, hint: string) => {
		throw new ReeveError("usage", message, hint);
	};
	if (raw && json) {
		refuse(
			"--raw and --json cannot be combined",
			"JSON cannot contain raw bytes. Remove one of them.",
		);
	}
	if (lines !== undefined && since !== undefined)
		refuse(
			"--lines and --since cannot be combined",
			"--since shows all lines. Remove one of them.",
		);
	if (until !== undefined && follow)
		refuse("--until and --follow cannot be combined", "Remove one of them.");
	if (ignoreCase && grep === undefined) refuse("--ignore-case needs --grep", "Add --grep PATTERN.");
}

/** One full id is not looked up. Call agents have no log, so a project stands for its other agents. */
async function chooseAgents(scopes: readonly string[], client: Client): Promise<readonly string[]> {
	const [only] = scopes;
	if (only !== undefined && scopes.length === 1 && only.includes(":")) {
		return [await resolveAgent(only, client)];
	}
	const agents = await listAgents(client, scopes);
	const all = agents.map(({ id }) => id);
	const ids = selectIds(scopes.length === 0 ? ["*"] : checkScopes(scopes), all, "the daemon");
	const calls = new Set(agents.filter(({ kind }) => kind === "call").map(({ id }) => id));
	const withLogs = ids.filter((id) => !calls.has(id));
	return withLogs.length === 0 ? ids.slice(0, 1) : withLogs;
}

async function showOne(
	agent: string,
	client: Client,
	options: LogsOptions,
	output: Output,
): Promise<number> {
	const lines = options.lines === undefined ? LINES : parseCount(options.lines, "--lines");
	const follow = options.follow === true;
	// A call agent never has a log, so a note is printed before following.
	if (follow && !options.json) await printWhyEmpty(client, agent, output, { onlyCalls: true });
	let isEmpty = true;
	const connection = follow ? reconnecting(options.reconnect, output) : {};
	const chunks = noting(client.logs(agent, { lines, follow, ...connection }), () => {
		isEmpty = false;
	});
	if (options.raw) {
		for await (const chunk of chunks) await output.raw(chunk);
	} else if (!options.json) {
		for await (const text of sanitized(chunks)) await output.write(text);
	} else if (follow) {
		for await (const line of linesOf(sanitized(chunks))) await output.jsonLine({ id: agent, line });
	} else {
		const all: string[] = [];
		for await (const line of linesOf(sanitized(chunks))) all.push(line);
		output.json({ id: agent, lines: all });
	}
	if (isEmpty && lines > 0 && !follow && !options.json)
		await printWhyEmpty(client, agent, output, { onlyCalls: false });
	return CLI_EXIT.done;
}

async function showMerged(
	agents: readonly string[],
	client: Client,
	options: LogsOptions,
	output: Output,
): Promise<number> {
	const { lines, since, until, grep, ignoreCase, reconnect, json, follow = false } = options;
	const print = createLinePrinter(agents, output);
	const found = client.mergedLogs({
		agents,
		grep,
		ignoreCase,
		follow,
		...(since === undefined && { lines: parseCount(lines ?? String(LINES), "--lines") }),
		...(since !== undefined && { since: parseMoment(since, "--since") }),
		...(until !== undefined && { until: parseMoment(until, "--until") }),
		...(follow && reconnecting(reconnect, output)),
	});
	let isEmpty = true;
	for await (const line of found) {
		isEmpty = false;
		if (line.afterRemoved) {
			output.note(`older output of ${line.agent} was removed by log rotation before it was read`);
		}
		const { agent, at, until: latest, text } = line;
		if (json) await output.jsonLine({ id: agent, at, until: latest, line: text });
		else await print(line);
	}
	const [only] = agents;
	if (!isEmpty || follow || json) return CLI_EXIT.done;
	const isFiltered = (since ?? until ?? grep) !== undefined;
	if (isFiltered) output.note("no line matches");
	else if (agents.length === 1 && only) {
		await printWhyEmpty(client, only, output, { onlyCalls: false });
	} else output.note("these agents have no output yet");
	return CLI_EXIT.done;
}

const AROUND = 20;

/** The lines on both sides of a position. */
async function showAround(
	[agent, other]: readonly string[],
	position: string,
	client: Client,
	{ lines, json, follow, raw, since, until, grep }: LogsOptions,
	output: Output,
): Promise<number> {
	const others = [follow, raw, since, until, grep].filter((each) => each !== undefined);
	if (agent === undefined || other !== undefined || others.length > 0) {
		const hint = "Use `reeve logs AGENT --around POSITION -n COUNT`.";
		throw new ReeveError("usage", "--around needs one agent and no other filter", hint);
	}
	const limit = lines === undefined ? AROUND : Math.min(parsePositive(lines, "--lines"), 1_000);
	const read = (query: { readonly before?: string; readonly after?: string }) =>
		client.call("GET /api/v1/agents/:id/logs/lines", { place: agent, query: { ...query, limit } });
	const [older, newer] = [await read({ before: position }), await read({ after: position })];
	if (json) {
		output.json({ id: agent, before: older.lines, after: newer.lines });
		return CLI_EXIT.done;
	}
	for (const { text } of older.lines) output.result(`  ${text}`);
	const [first, ...rest] = newer.lines;
	if (first !== undefined && first.position !== position) {
		output.note(
			"these lines were removed by log rotation; showing the oldest stored lines instead",
		);
	}
	if (first !== undefined) output.result(output.colors.bold(`> ${first.text}`));
	for (const { text } of rest) output.result(`  ${text}`);
	return CLI_EXIT.done;
}

const PAINTS = ["cyan", "yellow", "green", "magenta", "blue"] as const;

/** Prints lines like `web:coder | 06:07:08.123 text`, each agent in its own color. */
function createLinePrinter(agents: readonly string[], output: Output) {
	const width = Math.max(...agents.map((agent) => agent.length));
	const prefixes = new Map(
		agents.map((agent, index) => {
			const paint = output.colors[PAINTS[index % PAINTS.length] ?? "cyan"];
			return [agent, agents.length === 1 ? "" : `${paint(`${agent.padEnd(width)} |`)} `];
		}),
	);
	return async ({ agent, at, until, text }: MergedLine) => {
		const time = output.colors.dim(renderSpan(at, until));
		await output.write(`${prefixes.get(agent) ?? ""}${time} ${text}\n`);
	};
}

/** A time of an unknown moment is printed as the interval that contains it. */
function renderSpan(at: string, until: string | null): string {
	const [from, to] = [renderMoment(at), until === null ? null : renderMoment(until)];
	return to === null || to === from ? from : `${from}..${to}`;
}

/** Local time; with its date unless that is today. */
export function renderMoment(iso: string): string {
	const time = new Date(iso);
	const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(":");
	const text = `${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
	if (time.toDateString() === new Date().toDateString()) return text;
	return `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())} ${text}`;
}

const twoDigits = (number: number) => String(number).padStart(2, "0");

async function* noting<T>(chunks: AsyncIterable<T>, onChunk: () => void): AsyncGenerator<T> {
	for await (const chunk of chunks) {
		onChunk();
		yield chunk;
	}
}

/** An empty log may be correct, or the wrong place to look. */
async function printWhyEmpty(
	client: Client,
	place: string,
	output: Output,
	{ onlyCalls }: { readonly onlyCalls: boolean },
): Promise<void> {
	const { kind } = await client.call("GET /api/v1/agents/:id", { place });
	if (kind === "call") {
		output.note(
			`${place} only runs when it is called, and its output is stored with each attempt: \`reeve tasks ls --agent ${place}\`, then \`reeve tasks show ID\``,
		);
	} else if (!onlyCalls) output.note(`${place} has no output yet`);
}

async function* sanitized(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
	const sanitizer = createSanitizer();
	let last = "";
	const seen = (text: string) => {
		last = text.at(-1) ?? last;
		return text;
	};
	try {
		for await (const chunk of chunks) yield seen(sanitizer.write(chunk));
	} finally {
		yield seen(sanitizer.end());
		// A log that stops in the middle of a line must not run into an error or the prompt.
		if (last !== "" && last !== "\n") yield "\n";
	}
}

async function* linesOf(parts: AsyncIterable<string>): AsyncGenerator<string> {
	let rest = "";
	for await (const part of parts) {
		const lines = (rest + part).split("\n");
		rest = lines.pop() ?? "";
		yield* lines;
	}
	if (rest !== "") yield rest;
}
