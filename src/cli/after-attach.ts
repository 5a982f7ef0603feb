/** The messages to an attached user when the agent's terminal closes, and the question they can answer there. */

import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.js";
import { plainLine } from "../core/safe-text.js";
import type { AgentJson } from "../http/contract/agents.js";
import { reasonBesideState, renderState } from "./agent-table.js";
import type { Output } from "./output.js";
import { START_WORDS } from "./start-report.js";

/** An exit is classified and recorded a moment after the terminal closes. */
const RECORDED_MS_MAX = 5_000;
const LOOK_EVERY_MS = 50;
const ANSWERS = ["fresh", "continue", "stop"] as const;
type Answer = (typeof ANSWERS)[number];

export interface AfterAttach {
	readonly id: string;
	/** The attached run; null if unknown. */
	readonly runId: string | null;
	readonly client: Client;
	readonly output: Output;
	/** Whether the user at this terminal may be asked. */
	readonly mayAsk: boolean;
}

/** Prints what follows the exit. True if an answer given here started the agent again. */
export async function tellAfterExit(after: AfterAttach): Promise<boolean> {
	const { id, output, client, mayAsk } = after;
	const agent = await recordedState(after);
	if (agent === null) return false;
	const reason = plainLine(reasonBesideState(agent));
	if (!agent.waiting) {
		output.say(`${id}: ${renderState(agent, Date.now())}: ${reason}`);
		const hint = hintOf(agent);
		if (hint !== null) output.say(`hint: ${hint}`);
		return false;
	}
	output.say(`${id}: ${reason}`);
	const answer = mayAsk ? await askOperator() : null;
	if (answer === null) {
		output.say(`hint: decide what happens next with \`reeve answer ${id} ${ANSWERS.join("|")}\``);
		return false;
	}
	const place = { place: id, body: { answer } };
	const { outcome } = await client.call("POST /api/v1/agents/:id/answer", place);
	output.say(`${id}: ${START_WORDS[outcome]}`);
	return outcome === "started";
}

/**
 * The agent once its exit is recorded; its current state if that takes too long, null if it cannot be
 * read.
 */
async function recordedState({ client, id, runId }: AfterAttach): Promise<AgentJson | null> {
	const untilMs = performance.now() + RECORDED_MS_MAX;
	for (;;) {
		const agent = await client.call("GET /api/v1/agents/:id", { place: id }).catch(() => null);
		// The run id is removed with its record, and another run may have started by now. The terminal may
		// close before the daemon notices the exit.
		const isOld = runId === null ? agent?.pid === null : agent?.run_id === runId;
		if (agent === null || agent.run_id === null || !isOld) return agent;
		if (performance.now() > untilMs) return agent;
		await sleep(LOOK_EVERY_MS);
	}
}

function hintOf({ id, policy, desired, process }: AgentJson): string | null {
	if (policy === "halted") return `run \`reeve resume ${id}\` to start it again`;
	if (desired === "down") return `run \`reeve up ${id}\` to start it`;
	return process === "stopped" || process === "running"
		? `run \`reeve attach ${id}\` to attach again once it is running`
		: null;
}

/** Null if the user leaves the question open with Enter, Ctrl-C or Ctrl-D. */
async function askOperator(): Promise<Answer | null> {
	const lines = createInterface({ input: process.stdin, output: process.stderr });
	const closed = new Promise<null>((resolve) => lines.once("close", () => resolve(null)));
	lines.once("SIGINT", () => lines.close());
	const question =
		"Start a fresh conversation, continue, or stop? [fresh/continue/stop, Enter to decide later] ";
	try {
		for (;;) {
			const line = await Promise.race([lines.question(question).catch(() => null), closed]);
			const given = line?.trim().toLowerCase() ?? "";
			if (given === "") return null;
			const fits = ANSWERS.find((answer) => answer.startsWith(given));
			if (fits !== undefined) return fits;
		}
	} finally {
		lines.close();
	}
}
