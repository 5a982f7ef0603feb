/** `reeve logs`: what an agent wrote, made safe to look at. */

import type { Client } from "../../client/client.js";
import { CLI_EXIT, ReeveError } from "../../core/errors.js";
import { checkAgentId, parseCount } from "../arguments.js";
import { connect } from "../connect.js";
import type { Output } from "../output.js";
import { createSanitizer } from "../sanitize.js";

export interface LogsOptions {
	readonly follow?: boolean;
	readonly lines: string;
	readonly raw?: boolean;
	readonly json?: boolean;
}

export async function runLogs(
	id: string,
	options: LogsOptions,
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const agent = checkAgentId(id);
	const lines = parseCount(options.lines, "--lines");
	const follow = options.follow === true;
	if (options.raw && options.json) {
		const hint = "JSON holds text; leave one of them out.";
		throw new ReeveError("usage", "either --raw or --json, not both", hint);
	}
	const { client } = connect(env);
	// Nothing of a call agent will ever come, so whoever follows is told before.
	if (follow && !options.json) await sayWhyEmpty(client, agent, output, { onlyCalls: true });
	let isEmpty = true;
	const chunks = noting(client.logs(agent, { lines, follow }), () => {
		isEmpty = false;
	});
	if (options.raw) await passOn(chunks, output);
	else if (!options.json) await passOn(sanitized(chunks), output);
	else if (follow) {
		for await (const line of linesOf(sanitized(chunks))) await output.jsonLine({ id, line });
	} else {
		const all: string[] = [];
		for await (const line of linesOf(sanitized(chunks))) all.push(line);
		output.json({ id, lines: all });
	}
	if (isEmpty && !follow && !options.json)
		await sayWhyEmpty(client, agent, output, { onlyCalls: false });
	if (!follow) return CLI_EXIT.done;
	throw new ReeveError("connection_lost", "the daemon has ended, and the log with it");
}

async function* noting<T>(chunks: AsyncIterable<T>, onChunk: () => void): AsyncGenerator<T> {
	for await (const chunk of chunks) {
		onChunk();
		yield chunk;
	}
}

/** An empty log may be all there is, or the wrong place to look. */
async function sayWhyEmpty(
	client: Client,
	place: string,
	output: Output,
	{ onlyCalls }: { readonly onlyCalls: boolean },
): Promise<void> {
	const { kind } = await client.call("GET /api/v1/agents/:id", { place });
	if (kind === "call") {
		output.say(
			`${place} runs only when it is called, and what it prints is kept with each attempt: \`reeve tasks ls --agent ${place}\`, then \`reeve tasks show ID\``,
		);
	} else if (!onlyCalls) output.say(`${place} has printed nothing yet`);
}

async function passOn(parts: AsyncIterable<string | Uint8Array>, output: Output): Promise<void> {
	for await (const part of parts) await output.write(part);
}

async function* sanitized(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
	const sanitizer = createSanitizer();
	let last = "";
	const seen = (text: string) => {
		last = text.at(-1) ?? last;
		return text;
	};
	for await (const chunk of chunks) yield seen(sanitizer.write(chunk));
	yield seen(sanitizer.end());
	// A log that stops in the middle of a line must not run into the prompt.
	if (last !== "" && last !== "\n") yield "\n";
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
