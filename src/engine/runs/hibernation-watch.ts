/**
 * Checks repeatedly whether a running agent may hibernate. Called by the attendant at the end of each of its looks, so
 * nothing is typed into the agent meanwhile. The idle time is not stored: under a new daemon it starts again.
 */

import type { SessionSpec } from "../../config/spec.js";
import type { KnownActivity } from "../../core/activity.js";
import {
	decideHibernation,
	type HibernationFacts,
	type HibernationState,
	type HibernationView,
	type HiddenFacts,
} from "../../core/hibernation.js";
import type { AgentSign } from "../../core/sign.js";
import type { LifeWorld } from "./life-world.js";
import type { SessionRun } from "./run.js";

/** After a check for hidden work that found a reason to wait, unless the agent has worked since; each reads all processes. */
const HIDDEN_EVERY_MS = 30_000;

export interface HibernationWatch {
	look(known: KnownActivity, signs: readonly AgentSign[]): Promise<void>;
	readonly view: () => HibernationView | null;
}

/** The decision, to be recorded by the agent's owner, which checks again what may have changed. */
export type OnHibernate = (idleMs: number, memoryBytes: number | null) => Promise<void>;

export const NO_HIBERNATION: HibernationWatch = { look: async () => {}, view: () => null };

export function watchHibernation(
	world: LifeWorld,
	spec: SessionSpec,
	run: SessionRun,
	isReady: () => boolean,
	onHibernate: OnHibernate,
): HibernationWatch {
	const { hibernate } = spec;
	const { handle, backend, runId } = run;
	if (hibernate === undefined || handle === null) return NO_HIBERNATION;
	const { clock, sessions } = world;
	const nowMs = () => clock.now().steadyMs;
	const process = handle.process;
	let state: HibernationState = { idleSinceMs: nowMs() };
	let reason = "it has just started";
	let hiddenAtMs = Number.NEGATIVE_INFINITY;

	const factsOf = (known: KnownActivity, signs: readonly AgentSign[]): HibernationFacts => ({
		resumes: sessions.adapterOf(spec).profile.conversation.id !== "none",
		isReady: isReady(),
		isEnding: run.askedBy !== null || run.failing !== null || run.gone !== null,
		activity: known.activity,
		messages: world.inbox.head(spec.id) === null ? 0 : 1,
		hasQuestion: world.hasQuestion(spec.id, runId),
		hasDraft: world.drafts.has(spec.id, signs) || (world.drafts.isKnown(spec.id) ? false : null),
		viewers: world.viewers.count(spec.id),
		hasFailedTurn: known.failure !== null,
		isHeld: world.accounts.holdOf(spec) !== null,
		dependents: world.gate.dependentsOf(spec.id),
		nowMs: nowMs(),
	});

	async function lookDeeper(signs: readonly AgentSign[]): Promise<HiddenFacts> {
		const [tools, others, conversation] = await Promise.all([
			sessions.toolWork(runId, process).catch(() => null),
			backend.viewers === undefined
				? { count: 0, lastAtMs: null }
				: backend.viewers(handle as NonNullable<typeof handle>).catch(() => null),
			conversationOf(),
		]);
		const processes = tools?.processes ?? null;
		const promptedAtMs = signs.findLast(({ prompt }) => prompt !== undefined)?.atMs ?? 0;
		return {
			tools: processes === null ? null : processes.split(",").filter(Boolean).length,
			otherViewers: others?.count ?? null,
			wasAttached: others !== null && (others.lastAtMs ?? 0) > promptedAtMs,
			conversation,
		};
	}

	async function conversationOf(): Promise<HiddenFacts["conversation"]> {
		const id = run.conversation?.id ?? null;
		if (id === null) return "unknown";
		const recorded = await sessions.isRecorded(spec, id).catch(() => false);
		// An id that Reeve has chosen proves nothing until the CLI has recorded something under it.
		const isChosen = sessions.adapterOf(spec).profile.conversation.id === "chosen";
		return recorded === true || (recorded === null && !isChosen) ? "confirmed" : "unconfirmed";
	}

	return {
		async look(known, signs) {
			const first = decideHibernation(state, factsOf(known, signs), null, hibernate);
			if (first.state.idleSinceMs !== state.idleSinceMs) {
				// It has worked since, which may have removed the reason of the last check.
				hiddenAtMs = Number.NEGATIVE_INFINITY;
			}
			state = first.state;
			if (first.action !== "look" || nowMs() - hiddenAtMs < HIDDEN_EVERY_MS) {
				if (first.action === "wait") reason = first.reason;
				return;
			}
			hiddenAtMs = nowMs();
			const hidden = await lookDeeper(signs);
			const decision = decideHibernation(state, factsOf(known, signs), hidden, hibernate);
			({ state, reason } = decision);
			if (decision.action !== "hibernate") return;
			const memoryBytes = await sessions.memory(runId, process).catch(() => null);
			await onHibernate(nowMs() - state.idleSinceMs, memoryBytes);
		},
		view: () => ({ reason, idleMs: Math.max(0, nowMs() - state.idleSinceMs) }),
	};
}
