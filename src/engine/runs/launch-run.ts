/**
 * One start of a run that is recorded as intended: prepares it, acquires its conversation, starts it.
 */

import type { RunHandle, StartFailure, StartRequest } from "../../ports/backend.js";
import type { StoredExit } from "../../ports/store.js";
import { startEffectKey, toStoredRun } from "./agent-record.js";
import { continuesConversation, type LiveRun } from "./agent-state.js";
import type { KeptAgent } from "./kept-agent.js";
import type { LifeWorld } from "./life-world.js";
import { takeConversation } from "./run-conversation.js";

export type Launched =
	| { readonly outcome: "started"; readonly handle: RunHandle }
	| { readonly outcome: "failed"; readonly failure: StartFailure }
	/** The backend could not determine whether it has started. */
	| { readonly outcome: "unknown" };

/** Why an agent does not run whose start is recorded. */
export const STARTING = "starting";

/** The intent is recorded before the start, so that a start that was never confirmed is found. */
export async function recordIntent(
	kept: KeptAgent,
	live: LiveRun,
	lastExit: StoredExit | null,
): Promise<void> {
	const { id } = kept.now;
	// A parked agent counts its restart when it starts.
	const restarts = kept.now.restarts + (lastExit?.cause === "usage_limit" ? 1 : 0);
	await kept.save({ reason: STARTING, restarts }, [], (transaction) => {
		transaction.putRun(toStoredRun(id, live, "intended"));
		transaction.removeEffect(startEffectKey(id));
	});
}

export function startedEvent(
	live: LiveRun,
	{ handle }: { readonly handle: RunHandle },
	lastExit: StoredExit | null,
) {
	const withContinue = continuesConversation(live, lastExit);
	const data = { pid: handle.process.pid, with_continue: withContinue };
	return { type: "agent.started", data } as const;
}

export async function launchRun(
	world: LifeWorld,
	kept: KeptAgent,
	live: LiveRun,
): Promise<Launched> {
	const ready = await prepareRun(world, kept, live).catch((error: unknown) =>
		// Nothing has started yet: a full disk or a failing store must not leave the agent starting
		// forever.
		failed(false, `cannot prepare the start: ${messageOf(error)}`),
	);
	if ("outcome" in ready) return ready;
	const started = await live.backend
		.start({ ...ready.request, runId: live.runId })
		.catch(() => "unknown" as const);
	if (started === "unknown") return { outcome: "unknown" };
	if (!started.ok) return { outcome: "failed", failure: started.failure };
	return { outcome: "started", handle: started.handle };
}

async function prepareRun(
	world: LifeWorld,
	kept: KeptAgent,
	live: LiveRun,
): Promise<Launched | { readonly request: Omit<StartRequest, "runId"> }> {
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
		// Before the start, so that the next daemon resumes exactly this conversation.
		await kept.save(
			{ conversation: id },
			[{ type: "agent.conversation", agent: kept.now.id, run_id: runId, data }],
			(transaction) => transaction.putRun(toStoredRun(kept.now.id, live, "intended")),
		);
	}
	return { request: prepared.request };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function failed(permanent: boolean, detail: string): Launched {
	return { outcome: "failed", failure: { permanent, detail } };
}
