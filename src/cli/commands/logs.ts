/** `reeve logs`: the output of an agent, made safe to display. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT, ReeveError } from "../../core/errors.js";
import { createSanitizer } from "../../core/safe-text.js";
import { parseCount } from "../arguments.js";
import { connect } from "../connect.js";
import type { Output } from "../output.js";
import { reconnecting } from "../reconnecting.js";
import { resolveAgent } from "../resolve.js";

export interface LogsOptions {
	readonly follow?: boolean;
	readonly lines: string;
	readonly reconnect: string;
	readonly raw?: boolean;
	readonly json?: boolean;
}

export async function runLogs(
	id: string,
	options: LogsOptions,
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const lines = parseCount(options.lines, "--lines");
	const follow = options.follow === true;
	if (options.raw && options.json) {
		const hint = "JSON cannot contain raw bytes. Remove one of them.";
		throw new ReeveError("usage", "--raw and --json cannot be combined", hint);
	}
	const { client } = connect(env);
	const agent = await resolveAgent(id, client);
	// A call agent never has a log, so a note is printed before following.
	if (follow && !options.json) await sayWhyEmpty(client, agent, output, { onlyCalls: true });
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
		await sayWhyEmpty(client, agent, output, { onlyCalls: false });
	return CLI_EXIT.done;
}

async function* noting<T>(chunks: AsyncIterable<T>, onChunk: () => void): AsyncGenerator<T> {
	for await (const chunk of chunks) {
		onChunk();
		yield chunk;
	}
}

/** An empty log may be correct, or the wrong place to look. */
async function sayWhyEmpty(
	client: Client,
	place: string,
	output: Output,
	{ onlyCalls }: { readonly onlyCalls: boolean },
): Promise<void> {
	const { kind } = await client.call("GET /api/v1/agents/:id", { place });
	if (kind === "call") {
		output.say(
			`${place} only runs when it is called, and its output is stored with each attempt: \`reeve tasks ls --agent ${place}\`, then \`reeve tasks show ID\``,
		);
	} else if (!onlyCalls) output.say(`${place} has no output yet`);
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
