/** The actions of the operator on an agent. Each returns the sentence for the toast. */

import { call } from "./api.js";
import type { Agent } from "./fleet.js";
import { countOf } from "./format.js";
import { ask } from "./parts/dialog.js";

export async function resume(id: string): Promise<string> {
	const reply = await call("POST /api/v1/agents/:id/resume", { place: [id] });
	if (reply.outcome && reply.outcome !== "started" && reply.outcome !== "already_running") {
		return `${id} is no longer halted: ${reply.outcome.replaceAll("_", " ")}.`;
	}
	return `${id} starts again.`;
}

export async function closeCircuit(id: string): Promise<string> {
	await call("POST /api/v1/agents/:id/resume", { place: [id] });
	return `Calls to ${id} are accepted again.`;
}

export async function start(id: string): Promise<string> {
	const { agents } = await call("POST /api/v1/agents/:scope/up", { place: [id] });
	const [first] = agents;
	return first === undefined || first.outcome === "started"
		? `${id} starts.`
		: `${id}: ${first.reason}.`;
}

export async function markSeen(ids: readonly string[]): Promise<undefined> {
	await Promise.all(ids.map((id) => call("POST /api/v1/agents/:id/seen", { place: [id] })));
}

export async function answer(
	id: string,
	question: string,
	body: { readonly choice?: number | "continue" | "fresh" | "stop"; readonly text?: string },
): Promise<string> {
	const reply = await call("POST /api/v1/agents/:id/questions/:question/answer", {
		place: [id, question],
		body,
	});
	return `Answered: ${reply.label}`;
}

/** Whether stopping it would interrupt something. */
const isBusy = ({ status }: Agent) => status.state === "working" || status.state === "stalled";

async function restartNow(id: string, fresh: boolean): Promise<string> {
	const { agents } = await call("POST /api/v1/agents/:scope/restart", {
		place: [id],
		body: { fresh },
	});
	const outcome = agents[0]?.start?.outcome;
	if (outcome !== undefined && outcome !== "started") {
		return `${id} is stopped, but not started: ${agents[0]?.start?.reason ?? outcome}.`;
	}
	return fresh ? `${id} starts with a new conversation.` : `${id} starts again.`;
}

export function askRestart(agent: Agent): undefined {
	const { id } = agent;
	return ask({
		title: `Restart ${id}?`,
		text: `${isBusy(agent) ? "It is in the middle of a turn, which ends unfinished. " : ""}Reeve stops it with everything it started, then starts it again in the same conversation.`,
		safe: "Keep running",
		verb: "Restart it",
		failed: "Not restarted",
		do: () => restartNow(id, false),
	});
}

export function askFresh(agent: Agent): undefined {
	const { id } = agent;
	return ask({
		title: `Start ${id} with a new conversation?`,
		text: "Reeve stops it and starts it without its memory. The old conversation stays on the disk of its CLI.",
		safe: "Keep running",
		verb: "Start fresh",
		failed: "Not restarted",
		do: () => restartNow(id, true),
	});
}

export function askStop(agent: Agent): undefined {
	const { id } = agent;
	return ask({
		title: `Stop ${id}?`,
		text: `${isBusy(agent) ? "It is in the middle of a turn. " : ""}Reeve lets it finish its work, then stops it with all processes that it started. It stays stopped until you start it.`,
		safe: "Keep running",
		verb: "Stop it",
		failed: "Not stopped",
		do: async () => {
			const { agents } = await call("POST /api/v1/agents/:scope/down", { place: [id], body: {} });
			const bad = agents.find(({ outcome }) => outcome === "not_proven");
			return bad === undefined ? `${id} is stopped.` : `${id}: ${bad.reason ?? "not proven gone"}.`;
		},
	});
}

export function askResumeAll(ids: readonly string[]): undefined {
	return ask({
		title: `Resume ${countOf(ids.length, "agent")}?`,
		text: `${ids.join(", ")}. Each starts again with an empty crash history. An agent whose cause is not fixed crashes again.`,
		safe: "Leave halted",
		verb: `Resume ${ids.length}`,
		danger: false,
		failed: "Not all resumed",
		do: async () => {
			for (const id of ids) await resume(id);
			return `${countOf(ids.length, "agent")} resumed.`;
		},
	});
}
