/** One start of a run that is recorded as intended: prepares it, acquires its conversation, starts it. */

import { messageOf } from "../../core/message-of.js";
import type { RunHandle, StartFailure, StartRequest } from "../../ports/backend.js";
import { isForbiddenHere } from "../placement.js";
import type { LifeWorld } from "./life-world.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { type SessionRun, toStoredRun } from "./run.js";
import { acquireConversation } from "./run-conversation.js";

export type Launched =
	| { readonly outcome: "started"; readonly handle: RunHandle }
	| { readonly outcome: "failed"; readonly failure: StartFailure }
	/** The backend could not determine whether it has started. */
	| { readonly outcome: "unknown" }
	/** It lost its lease in the meantime, so nothing was started. */
	| { readonly outcome: "lease_lost" };

export async function launchRun(
	world: LifeWorld,
	agent: PersistedAgent,
	run: SessionRun,
): Promise<Launched> {
	const ready = await prepareRun(world, agent, run).catch((error: unknown) =>
		// Nothing has started yet: a full disk or a failing store must not leave the agent starting forever.
		failed(false, `cannot prepare the start: ${messageOf(error)}`),
	);
	if ("outcome" in ready) return ready;
	// The daemon may have been frozen for any time since the gate admitted it.
	const { leases } = world;
	if (isForbiddenHere(leases, agent.now.spec)) return { outcome: "lease_lost" };
	const deadline = leases.deadline(agent.now.id);
	const more = deadline === null ? {} : { deadline };
	const started = await run.backend
		.start({ ...ready.request, runId: run.runId, ...more })
		.catch(() => "unknown" as const);
	if (started === "unknown") return { outcome: "unknown" };
	if (!started.ok) {
		const isLate = deadline !== null && isForbiddenHere(leases, agent.now.spec);
		return isLate ? { outcome: "lease_lost" } : { outcome: "failed", failure: started.failure };
	}
	return { outcome: "started", handle: started.handle };
}

async function prepareRun(
	world: LifeWorld,
	agent: PersistedAgent,
	run: SessionRun,
): Promise<Launched | { readonly request: Omit<StartRequest, "runId"> }> {
	const { spec, conversation = null } = agent.now;
	const { withContinue, runId } = run;
	const prepared = await world.sessions.prepare(spec, { withContinue, conversation });
	if (!prepared.ok) return failed(true, prepared.detail);
	const taken = await acquireConversation(
		world.sessions,
		agent.now,
		runId,
		prepared.conversation ?? null,
	);
	if (!taken.ok) return failed(false, taken.detail);
	if (taken.conversation !== null) {
		run.conversation = taken.conversation;
		const { id, mode } = taken.conversation;
		const data = { conversation: id, mode };
		// Before the start, so that the next daemon resumes exactly this conversation.
		await agent.save(
			{ conversation: id },
			[{ type: "agent.conversation", agent: agent.now.id, run_id: runId, data }],
			(transaction) => transaction.putRun(toStoredRun(agent.now.id, run, "intended")),
		);
	}
	return { request: prepared.request };
}

function failed(permanent: boolean, detail: string): Launched {
	return { outcome: "failed", failure: { permanent, detail } };
}
