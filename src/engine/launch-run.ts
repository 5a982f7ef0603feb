/** One start of a run that is recorded as intended: prepares it, takes its conversation, starts it. */

import type { RunHandle, StartFailure } from "../ports/backend.js";
import { toStoredRun } from "./agent-record.js";
import type { LiveRun } from "./agent-state.js";
import type { KeptAgent } from "./kept-agent.js";
import type { LifeWorld } from "./life-world.js";
import { takeConversation } from "./run-conversation.js";

export type Launched =
	| { readonly outcome: "started"; readonly handle: RunHandle }
	| { readonly outcome: "failed"; readonly failure: StartFailure }
	/** The backend could not say whether it has started. */
	| { readonly outcome: "unknown" };

export async function launchRun(
	world: LifeWorld,
	kept: KeptAgent,
	live: LiveRun,
): Promise<Launched> {
	const { spec, conversation = null } = kept.now;
	const { withContinue, runId } = live;
	const prepared = await world.prepare(spec, { withContinue, conversation });
	if (!prepared.ok) return failed(true, prepared.detail);
	const taken = await takeConversation(
		world.sessions,
		kept.now,
		runId,
		prepared.conversation ?? null,
	);
	if (!taken.ok) return failed(false, taken.detail);
	if (taken.conversation !== null) {
		live.conversation = taken.conversation;
		const { id, mode } = taken.conversation;
		const data = { conversation: id, mode };
		// Before the start, so that whoever comes next takes up this conversation and no other.
		await kept.save(
			{ conversation: id },
			[{ type: "agent.conversation", agent: kept.now.id, run_id: runId, data }],
			(transaction) => transaction.putRun(toStoredRun(kept.now.id, live, "intended")),
		);
	}
	const started = await live.backend
		.start({ ...prepared.request, runId })
		.catch(() => "unknown" as const);
	if (started === "unknown") return { outcome: "unknown" };
	if (!started.ok) return { outcome: "failed", failure: started.failure };
	return { outcome: "started", handle: started.handle };
}

function failed(permanent: boolean, detail: string): Launched {
	return { outcome: "failed", failure: { permanent, detail } };
}
