/** The requests of `reeve top` to the daemon about one agent. Each resolves with the result as text. */

import type { Client } from "../../client/client.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { isFailedStart, START_WORDS } from "../start-report.js";

const ANSWER = "POST /api/v1/agents/:id/questions/:question/answer";

export async function chooseAnswer(
	client: Client,
	{ id, question }: AgentJson,
	number: number,
): Promise<string | null> {
	const choice = question?.choices.find((each) => each.number === number);
	if (question === null || choice === undefined) return null;
	const request = { place: [id, question.id], body: { choice: number } };
	const { label } = await client.call(ANSWER, request);
	return `${id}: answered "${label}"`;
}

/** An answer to a question, or a message. */
export async function sendText(
	client: Client,
	{ id, question }: { readonly id: string; readonly question?: string },
	text: string,
): Promise<string> {
	if (question !== undefined) {
		await client.call(ANSWER, { place: [id, question], body: { text } });
		return `${id}: answered`;
	}
	const request = { place: id, body: { text } };
	const { message } = await client.call("POST /api/v1/agents/:id/send", request);
	return `${id}: ${message == null ? "typed" : "accepted; typed when it is ready"}`;
}

export async function resumeAgent(client: Client, { id }: AgentJson): Promise<string> {
	const { outcome, circuit_from: circuit } = await client.call("POST /api/v1/agents/:id/resume", {
		place: id,
	});
	const closed = circuit === "closed" ? "" : ", circuit closed";
	return `${id}: ${outcome ? START_WORDS[outcome] : "resumed"}${closed}`;
}

export async function markSeen(client: Client, { id, status }: AgentJson): Promise<null> {
	if (status.state === "finished") {
		await client.call("POST /api/v1/agents/:id/seen", { place: id });
	}
	return null;
}

export async function restartAgent(client: Client, id: string): Promise<string> {
	const request = { place: id, body: {} };
	const { agents } = await client.call("POST /api/v1/agents/:scope/restart", request);
	const start = agents[0]?.start ?? null;
	if (start === null) return `${id}: not restarted: ${agents[0]?.reason ?? "unknown"}`;
	const why = isFailedStart(start.outcome) ? `: ${start.reason}` : "";
	return `${id}: ${START_WORDS[start.outcome]}${why}`;
}

export async function stopAgent(client: Client, id: string): Promise<string> {
	const request = { place: id, body: {} };
	const { agents } = await client.call("POST /api/v1/agents/:scope/down", request);
	const outcome = agents[0]?.outcome ?? "not_proven";
	if (outcome === "not_proven") return `${id}: not proven stopped: ${agents[0]?.reason}`;
	return `${id}: stopped${outcome === "timed_out_killed" ? " (killed after its timeout)" : ""}`;
}
