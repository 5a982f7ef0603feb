/**
 * The conversation of an agent's runs: acquired before a start, held by the running process, released
 * when it ends. A run without its conversation does not start.
 */

import { type ConversationStart, isConversationGone } from "../../core/conversation.js";
import type { AgentSign } from "../../core/sign.js";
import type { ConversationLease } from "../../ports/adapter.js";
import type { ProcessIdentity } from "../../ports/backend.js";
import type { NewEvent, RunConversation } from "../../ports/store.js";
import type { Agent } from "./agent-state.js";
import type { ClassifiedRun } from "./classify-run.js";
import type { PersistedAgent } from "./persisted-agent.js";
import { type SessionRun, toStoredRun } from "./run.js";
import type { SessionWorld } from "./session-world.js";

export type AcquiredConversation =
	| { readonly ok: true; readonly conversation: RunConversation | null }
	/** Another holder has it, temporarily. */
	| { readonly ok: false; readonly detail: string };

export async function acquireConversation(
	{ leases, adapterOf }: SessionWorld,
	{ id: agentId, spec }: Agent,
	runId: string,
	start: ConversationStart | null,
): Promise<AcquiredConversation> {
	if (start === null) return { ok: true, conversation: null };
	if (start.id === null) return { ok: true, conversation: { ...start, lease: null } };
	const taken = await leases.take(`${adapterOf(spec).name}/${start.id}`, { agentId, runId });
	if (!taken.ok) return taken;
	return { ok: true, conversation: { ...start, lease: taken.lease } };
}

/** Passes the lease to the agent's process. False if it was lost, so that the agent must stop. */
export async function bindConversation(
	{ leases }: SessionWorld,
	lease: ConversationLease | null | undefined,
	process: ProcessIdentity,
): Promise<boolean> {
	return lease === null || lease === undefined || (await leases.bind(lease, process));
}

/** Releases the lease of a run that has no process; while this daemon lives, no other daemon can take it over. */
export async function releaseConversation(
	{ leases }: SessionWorld,
	{ conversation }: SessionRun,
): Promise<void> {
	if (conversation?.lease) await leases.release(conversation.lease);
}

/** The id that a CLI has reported for its conversation; null if it was known before, or is unknown. */
function reportedConversation({ id }: RunConversation, signs: readonly AgentSign[]): string | null {
	if (id !== null) return null;
	return signs.findLast(({ conversation }) => conversation !== undefined)?.conversation ?? null;
}

/** The CLI has reported its conversation: from now on the agent resumes this one, and holds its lease. */
export async function recordConversation(
	sessions: SessionWorld,
	agent: PersistedAgent,
	run: SessionRun,
	id: string,
): Promise<void> {
	const { runId, conversation, handle } = run;
	if (conversation === null || conversation.id !== null || handle === null) return;
	// Some CLIs report background conversations, which cannot be resumed.
	if ((await sessions.isRecorded(agent.now.spec, id)) === false) return;
	const start = { mode: conversation.mode, id };
	const taken = await acquireConversation(sessions, agent.now, runId, start);
	if (!taken.ok || taken.conversation === null) return;
	await bindConversation(sessions, taken.conversation.lease, handle.process);
	run.conversation = taken.conversation;
	await agent.save({ conversation: id }, [], (transaction) =>
		transaction.putRun(toStoredRun(agent.now.id, run, "running")),
	);
}

/** The consequences of a run's end for its conversation. */
export async function endConversation(
	sessions: SessionWorld,
	{ id: agentId, spec }: Agent,
	run: SessionRun,
	classified: ClassifiedRun,
): Promise<{ readonly changes: Partial<Agent>; readonly events: readonly NewEvent[] }> {
	const { adapterOf, isRecorded } = sessions;
	const { runId, conversation } = run;
	const none = { changes: {}, events: [] };
	const { report, lastOutput } = classified;
	if (conversation === null) return none;
	await releaseConversation(sessions, run);
	const reported = reportedConversation(conversation, classified.signs);
	// Some CLIs report background conversations, which cannot be resumed.
	if (reported !== null && (await isRecorded(spec, reported).catch(() => null)) !== false) {
		return { changes: { conversation: reported }, events: [] };
	}
	const { id, mode } = conversation;
	if (mode !== "resume" || id === null || report.code === 0) return none;
	const { profile } = adapterOf(spec);
	if (!isConversationGone(profile, true, report, lastOutput)) return none;
	const reason = `it exited right after a start that resumed conversation ${id}; the next start begins a new one`;
	const about = { agent: agentId, run_id: runId } as const;
	const data = { conversation: id, reason };
	return {
		changes: { conversation: null },
		events: [{ ...about, type: "agent.conversation_lost", data }],
	};
}
