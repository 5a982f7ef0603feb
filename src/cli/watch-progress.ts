/** Shows the progress of a long request by polling the daemon. Only on a terminal. */

import type { Client } from "../client/client.js";
import type { AgentJson } from "../http/contract/agents.js";
import type { Output } from "./output.js";

const POLL_MS = 250;
/** Shorter waits are over before a user could read the progress. */
const FIRST_POLL_MS = 400;

export interface Watched {
	readonly ids: readonly string[];
	readonly isDone: (agent: AgentJson) => boolean;
	/** The word for finished agents: `12/50 up`. */
	readonly word: string;
}

/** Waits for `work`, and shows how many of the agents are done. */
export async function withProgress<Value>(
	work: Promise<Value>,
	{ ids, isDone, word }: Watched,
	client: Client,
	{ progress }: Output,
): Promise<Value> {
	if (progress === null) return work;
	const wanted = new Set(ids);
	let over = false;
	const look = async () => {
		try {
			const { agents } = await client.call("GET /api/v1/agents");
			const done = agents.filter((agent) => wanted.has(agent.id) && isDone(agent)).length;
			if (!over) progress(`${done}/${wanted.size} ${word}`);
		} catch {
			// The request itself reports any error.
		}
		if (!over) timer = setTimeout(look, POLL_MS);
	};
	let timer = setTimeout(look, FIRST_POLL_MS);
	try {
		return await work;
	} finally {
		over = true;
		clearTimeout(timer);
		progress(null);
	}
}
