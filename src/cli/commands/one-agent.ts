/** `reeve resume` and `reeve send`: commands for one agent. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import type { Routes } from "../../http/contract/routes.js";
import { countOf } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { resolveAgent } from "../resolve.js";
import { isFailedStart } from "../start-report.js";

const SEND_BYTES_MAX = 1_048_576;

export async function runResume(
	name: string,
	options: { json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const id = await resolveAgent(name, client);
	const reply = await client.call("POST /api/v1/agents/:id/resume", { place: id });
	if (options.json) output.json({ id, ...reply });
	else output.result(`${id}: ${renderResumed(id, reply)}`);
	const failed = reply.outcome != null && isFailedStart(reply.outcome);
	return failed ? CLI_EXIT.failed : CLI_EXIT.done;
}

type Resumed = Routes["POST /api/v1/agents/:id/resume"]["reply"];

const RELEASED_WORDS: Readonly<Record<Resumed["released"][number], string>> = {
	turn: "queued messages are delivered again",
	account: "it no longer waits for its account's usage limit",
	budget: "its budget is lifted for today",
};

/** The outcome of the start after a resume, if it is not simply running. */
function renderStart(id: string, outcome: Resumed["outcome"]): readonly string[] {
	switch (outcome) {
		case "stopped":
			return [`it is stopped: run \`reeve up ${id}\` to start it`];
		case "failed":
		case "halted":
			return [`its start failed: \`reeve explain ${id}\` shows why`];
		case "waiting":
		case "over_budget":
			return [`it has not started yet: \`reeve explain ${id}\` shows why`];
		default:
			return outcome === "started" ? ["started"] : [];
	}
}

function renderResumed(
	id: string,
	{ from, circuit_from: circuit, released, outcome }: Resumed,
): string {
	// The history of a healthy agent that only waited is not cleared.
	const keeps = from === "healthy" && released.length > 0;
	return [
		keeps || from === "healthy" ? "resumed" : `resumed (was ${from})`,
		...released.map((hold) => RELEASED_WORDS[hold]),
		...(keeps || outcome === null ? [] : ["its exit history is cleared"]),
		...(circuit === "closed" ? [] : [`its circuit is closed (was ${circuit})`]),
		...renderStart(id, outcome),
	].join("; ");
}

export async function runSend(
	name: string,
	text: string | undefined,
	options: { submit: boolean; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { submit } = options;
	const typed = text === undefined || text === "-" ? await readTyped(submit) : text;
	if (typed === "" && !submit) {
		throw new ReeveError("usage", "the message is empty", "Pass a message, or remove --no-submit.");
	}
	const { client } = connect(env);
	const id = await resolveAgent(name, client);
	const body = { text: typed, submit };
	const sent = await client.call("POST /api/v1/agents/:id/send", { place: id, body });
	const { bytes, message, process: state, desired, hibernated } = sent;
	if (options.json) {
		output.json({ id, bytes, submitted: submit, message, process: state, desired, hibernated });
	} else if (message) {
		const size = countOf(bytes, "byte");
		output.result(`${id}: accepted ${size}; ${whenTyped(id, sent)} (\`reeve inbox\`)`);
	} else output.result(`${id}: sent ${countOf(bytes, "byte")}${submit ? ", and Enter" : ""}`);
	return CLI_EXIT.done;
}

function whenTyped(
	id: string,
	{ process: state, desired, hibernated }: Routes["POST /api/v1/agents/:id/send"]["reply"],
): string {
	if (hibernated) return "the agent is hibernated and starts again to receive it";
	if (state !== "stopped") return "delivered when the agent is ready";
	return desired === "down"
		? `the agent is stopped, so the message is queued until \`reeve up ${id}\``
		: `the agent is not running, so the message is queued; \`reeve explain ${id}\` shows why`;
}

/** The message from stdin. If Enter follows, the trailing newline is removed. */
async function readTyped(submit: boolean): Promise<string> {
	if (process.stdin.isTTY) {
		const hint = "Pass it as an argument, or pipe it in: `reeve send web:coder < message.txt`.";
		throw new ReeveError("usage", "there is no message to send", hint);
	}
	const chunks: Buffer[] = [];
	let length = 0;
	for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
		length += chunk.length;
		if (length > SEND_BYTES_MAX) {
			throw new ReeveError(
				"usage",
				"the message is larger than 1MiB",
				"Write it to a file and send the file name.",
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
		throw new ReeveError("usage", "stdin is not valid UTF-8", "Messages must be text.");
	}
}
