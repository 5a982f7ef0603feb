/**
 * Whether an idle agent may hibernate now: its process is stopped, and a later start resumes its
 * conversation. Anything that might be work, or might be lost, refuses it; so does anything unknown.
 */

import type { Activity } from "./states.js";
import { renderDuration, renderElapsed } from "./units.js";

export interface HibernationSettings {
	/** How long the agent must have been idle. */
	readonly afterMs: number;
}

/** The facts that every look at a running agent has. */
export interface HibernationFacts {
	/** Whether its adapter can resume a conversation. */
	readonly resumes: boolean;
	readonly isReady: boolean;
	/** A stop, restart or failure of the run is in progress. */
	readonly isEnding: boolean;
	readonly activity: Activity;
	/** Messages that are not delivered yet. */
	readonly messages: number;
	readonly hasQuestion: boolean;
	/** Whether a person has typed unsubmitted text; null if an earlier daemon may have seen some. */
	readonly hasDraft: boolean | null;
	/** Terminals attached through the daemon. */
	readonly viewers: number;
	/** Whether its last turn failed, so that Reeve or a person has to continue it. */
	readonly hasFailedTurn: boolean;
	/** Whether it waits for a usage limit. */
	readonly isHeld: boolean;
	/** Agents that depend on it and are up. */
	readonly dependents: readonly string[];
	/** Steady time. */
	readonly nowMs: number;
}

/** The facts that take work to collect: only once the agent has been idle for long enough. */
export interface HiddenFacts {
	/** Processes of its tools; null if they cannot be listed. */
	readonly tools: number | null;
	/** Terminals attached without the daemon; null if unknown. */
	readonly otherViewers: number | null;
	/** Whether one was attached that way since the last prompt, so that it may have left a draft. */
	readonly wasAttached: boolean;
	/** `confirmed` if its conversation has an id and, where that can be checked, a record. */
	readonly conversation: "confirmed" | "unconfirmed" | "unknown";
}

export interface HibernationState {
	/** Steady time since which nothing refused because of work. */
	readonly idleSinceMs: number;
}

export type HibernationAction = "wait" | "look" | "hibernate";

export interface HibernationDecision {
	readonly state: HibernationState;
	/** `look`: decide again with the hidden facts. */
	readonly action: HibernationAction;
	readonly reason: string;
}

/** `hidden` is null until the decision asks for it. */
export function decideHibernation(
	state: HibernationState,
	facts: HibernationFacts,
	hidden: HiddenFacts | null,
	{ afterMs }: HibernationSettings,
): HibernationDecision {
	const busy = workOf(facts);
	if (busy !== null) return refuse({ idleSinceMs: facts.nowMs }, busy);
	const obstacle = obstacleOf(facts);
	if (obstacle !== null) return refuse(state, obstacle);
	const idleMs = facts.nowMs - state.idleSinceMs;
	if (idleMs < afterMs) {
		return refuse(state, `hibernates after ${renderDuration(afterMs)} without work`);
	}
	if (hidden === null) return { state, action: "look", reason: "checking for background work" };
	const work = hiddenWorkOf(hidden);
	if (work !== null) return refuse({ idleSinceMs: facts.nowMs }, work);
	const unproven = unprovenOf(hidden);
	if (unproven !== null) return refuse(state, unproven);
	return { state, action: "hibernate", reason: `idle for ${renderDuration(wholeSeconds(idleMs))}` };
}

const wholeSeconds = (ms: number) => Math.floor(ms / 1_000) * 1_000;

function refuse(state: HibernationState, reason: string): HibernationDecision {
	return { state, action: "wait", reason };
}

/** The work that it has, as text; the idle time starts after it. */
function workOf(facts: HibernationFacts): string | null {
	const { activity, messages, viewers } = facts;
	if (!facts.isReady) return "it is not ready";
	if (facts.isEnding) return "it is stopping";
	if (facts.isHeld || activity === "rate_limited") return "it waits for a usage limit";
	if (facts.hasQuestion || activity === "waiting_input") return "it waits for an answer";
	if (activity === "unknown") return "its activity is unknown";
	if (activity !== "ready") return `it is ${activity}`;
	if (messages > 0) return messages === 1 ? "it has a message" : `it has ${messages} messages`;
	if (facts.hasDraft === true) return "a person has typed text into it without submitting it";
	if (viewers > 0)
		return viewers === 1 ? "a terminal is attached" : `${viewers} terminals are attached`;
	return null;
}

/** The obstacle that is not work: a stop would lose something, or could not be undone. As text. */
function obstacleOf(facts: HibernationFacts): string | null {
	const { dependents } = facts;
	if (!facts.resumes) return "its adapter cannot resume a conversation";
	if (facts.hasFailedTurn) return "its last turn failed";
	if (facts.hasDraft === null) {
		return "a person may have typed into it before the daemon started; its idle time counts again after its next turn";
	}
	const [first] = dependents;
	if (first === undefined) return null;
	return dependents.length === 1
		? `${first} depends on it`
		: `${dependents.length} agents depend on it`;
}

function hiddenWorkOf({ tools, otherViewers }: HiddenFacts): string | null {
	if (tools === null) return "its processes cannot be listed";
	if (tools > 0)
		return tools === 1 ? "a tool is still running" : `${tools} tools are still running`;
	if (otherViewers === null) return "it is unknown whether a terminal is attached";
	return otherViewers > 0 ? "a terminal is attached" : null;
}

function unprovenOf({ conversation, wasAttached }: HiddenFacts): string | null {
	if (wasAttached)
		return "a terminal was attached since its last prompt, and may have left a draft";
	switch (conversation) {
		case "confirmed":
			return null;
		case "unconfirmed":
			return "its conversation has no record yet";
		case "unknown":
			return "the id of its conversation is unknown";
		default:
			return conversation satisfies never;
	}
}

/** Why a hibernated agent is started; `not_stopped`: its process was still there, so it never hibernated. */
export type WakeCause =
	| "message"
	| "attach"
	| "operator"
	| "dependent"
	| "settings"
	| "not_stopped";

/** Why an agent does not hibernate yet. */
export interface HibernationView {
	readonly reason: string;
	readonly idleMs: number;
}

/** A decided or completed hibernation, as stored. */
export interface Hibernation {
	/** The run that is stopped for it. */
	readonly runId: string;
	/** Wall time of the decision. */
	readonly sinceMs: number;
	readonly idleMs: number;
	/** The memory of its processes before; null if unknown. */
	readonly freedBytes: number | null;
}

/** The reason for the start, as text. */
export const WOKEN_BY: Readonly<Record<WakeCause, string>> = {
	message: "woken by a message",
	attach: "woken by an attached terminal",
	operator: "woken by the operator",
	dependent: "woken by an agent that depends on it",
	settings: "woken by new settings",
	not_stopped: "it did not hibernate: its process was still running",
};

/** `hibernated after 45m of idle time, freed 412 MB; a message or an attach starts it again`. */
export function renderHibernation({ idleMs, freedBytes }: Hibernation): string {
	const freed = freedBytes === null ? "" : `, freed ${Math.round(freedBytes / 1_000_000)} MB`;
	const idle = renderElapsed(wholeSeconds(idleMs));
	return `hibernated after ${idle} of idle time${freed}; a message or an attach starts it again`;
}
