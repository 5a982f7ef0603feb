/** `reeve resume`, `reeve answer` and `reeve send`: a word to one agent. */

import { CLI_EXIT, ReeveError } from "../../core/errors.js";
import type { Routes } from "../../http/contract/routes.js";
import { checkAgentId, countOf } from "../arguments.js";
import { connect } from "../connect.js";
import type { Output } from "../output.js";
import { STARTED_WORDS } from "./up.js";

type Answer = Routes["POST /api/v1/agents/:id/answer"]["body"]["answer"];

const SEND_BYTES_MAX = 1_048_576;

export async function runResume(
	id: string,
	options: { json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const place = checkAgentId(id);
	const reply = await connect(env).client.call("POST /api/v1/agents/:id/resume", { place });
	if (options.json) output.json({ id, ...reply });
	else output.result(`${id}: ${renderResumed(reply)}`);
	return CLI_EXIT.done;
}

type Resumed = Routes["POST /api/v1/agents/:id/resume"]["reply"];

const RELEASED_WORDS: Readonly<Record<Resumed["released"][number], string>> = {
	account: "it no longer waits for its account's usage limit",
	budget: "its budget no longer keeps it today",
};

function renderResumed({ from, circuit_from: circuit, released }: Resumed): string {
	// Of one that was well and only waited, nothing is forgotten.
	const keeps = from === "healthy" && released.length > 0;
	return [
		keeps ? "resumed" : `resumed (it was ${from})`,
		...released.map((hold) => RELEASED_WORDS[hold]),
		...(keeps ? [] : ["its history of exits is forgotten"]),
		...(circuit === "closed" ? [] : [`its circuit, which was ${circuit}, is closed`]),
	].join("; ");
}

export async function runAnswer(
	id: string,
	answer: Answer,
	options: { json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const request = { place: checkAgentId(id), body: { answer } };
	const { outcome } = await connect(env).client.call("POST /api/v1/agents/:id/answer", request);
	if (options.json) output.json({ id, answer, outcome });
	else output.result(`${id}: ${STARTED_WORDS[outcome]}`);
	return outcome === "failed" || outcome === "halted" ? CLI_EXIT.failed : CLI_EXIT.done;
}

export async function runSend(
	id: string,
	text: string | undefined,
	options: { submit: boolean; json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const place = checkAgentId(id);
	const { submit } = options;
	const typed = text === undefined || text === "-" ? await readTyped(submit) : text;
	if (typed === "" && !submit) {
		throw new ReeveError(
			"usage",
			"there is nothing to send",
			"Give a text, or leave --no-submit out.",
		);
	}
	const body = { text: typed, submit };
	const sent = await connect(env).client.call("POST /api/v1/agents/:id/send", { place, body });
	const { bytes, message, process: state, desired } = sent;
	if (options.json) output.json({ id, bytes, submitted: submit, message, process: state, desired });
	else if (message) {
		const size = countOf(bytes, "byte");
		output.result(`${id}: accepted ${size}; ${whenTyped(id, sent)} (\`reeve inbox\`)`);
	} else output.result(`${id}: sent ${countOf(bytes, "byte")}${submit ? ", and Enter" : ""}`);
	return CLI_EXIT.done;
}

function whenTyped(
	id: string,
	{ process: state, desired }: Routes["POST /api/v1/agents/:id/send"]["reply"],
): string {
	if (state !== "stopped") return "typed when it is ready";
	return desired === "down"
		? `it is stopped, so the text waits until \`reeve up ${id}\``
		: `it does not run now, so the text waits; \`reeve explain ${id}\` says for what`;
}

/** What comes from stdin. With Enter to follow, the newline that ends it is not typed as well. */
async function readTyped(submit: boolean): Promise<string> {
	if (process.stdin.isTTY) {
		const hint = "Give it as an argument, or pipe it in: `reeve send web:coder < prompt.txt`.";
		throw new ReeveError("usage", "there is no text to send", hint);
	}
	const chunks: Buffer[] = [];
	let length = 0;
	for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
		length += chunk.length;
		if (length > SEND_BYTES_MAX) {
			throw new ReeveError(
				"usage",
				"the text is larger than 1MiB",
				"Put it into a file and send its name.",
			);
		}
		chunks.push(chunk);
	}
	const text = decode(Buffer.concat(chunks));
	return submit ? text.replace(/\r?\n$/, "") : text;
}

function decode(bytes: Uint8Array): string {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		throw new ReeveError("usage", "what came on stdin is not UTF-8", "Only text can be typed.");
	}
}
