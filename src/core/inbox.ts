/**
 * What becomes of a text that was accepted for an agent: typed when it is ready, confirmed by its CLI,
 * or given up with a reason. A CLI that confirms what was submitted makes it exactly once: whatever it
 * has not confirmed by the end of a run was not submitted, and is typed again in the next.
 */

import type { Activity } from "./states.js";

export const MESSAGE_PHASES = ["queued", "typing", "typed", "dead"] as const;
/** `typing` is recorded before the first key, so that a daemon that dies meanwhile leaves a trace. */
export type MessagePhase = (typeof MESSAGE_PHASES)[number];

export interface Message {
	readonly id: string;
	readonly agentId: string;
	readonly text: string;
	readonly acceptedAtMs: number;
	readonly phase: MessagePhase;
	/** Runs in which it was typed. */
	readonly attempts: number;
	/** How often Enter was pressed again in this run. */
	readonly enters: number;
	/** Of the run that it was typed into. */
	readonly runId: string | null;
	/** When the phase, or the last Enter, began; wall time. */
	readonly atMs: number;
	/**
	 * When the daemon first began to type it; wall time, null while it is queued. Any confirmation from then on
	 * is one of this message, however often it was typed or Enter was pressed since. Messages stored by older
	 * daemons have none.
	 */
	readonly typedAtMs?: number | null;
	/** Why it was given up. */
	readonly reason: string | null;
}

export interface DeliveryFacts {
	readonly runId: string;
	readonly activity: Activity;
	/** Whether the CLI has confirmed it since it was typed. */
	readonly confirmed: boolean;
	/** Whether the CLI confirms at all. */
	readonly confirms: boolean;
	readonly nowMs: number;
}

export type DeliveryStep =
	| { readonly type: "wait" }
	| { readonly type: "type" }
	/** The text may stand in the input, not submitted. */
	| { readonly type: "enter" }
	| { readonly type: "delivered"; readonly confirmed: boolean }
	| { readonly type: "dead"; readonly reason: string };

const ATTEMPTS_MAX = 3;
const ENTERS_MAX = 2;
const CONFIRM_WITHIN_MS = 15_000;

const WAIT: DeliveryStep = { type: "wait" };

export function decideDelivery(message: Message, facts: DeliveryFacts): DeliveryStep {
	const { phase, runId, attempts, enters, atMs } = message;
	if (phase === "dead") return WAIT;
	if (phase === "queued") return facts.activity === "ready" ? { type: "type" } : WAIT;
	if (facts.confirmed) return { type: "delivered", confirmed: true };
	if (!facts.confirms) {
		if (phase === "typed") return { type: "delivered", confirmed: false };
		const reason =
			"the daemon stopped while it typed the message, and this CLI does not confirm messages";
		return { type: "dead", reason };
	}
	if (runId !== facts.runId) {
		if (attempts >= ATTEMPTS_MAX) {
			return { type: "dead", reason: `typed in ${attempts} runs, and none confirmed the message` };
		}
		return facts.activity === "ready" ? { type: "type" } : WAIT;
	}
	if (facts.nowMs - atMs < CONFIRM_WITHIN_MS || facts.activity !== "ready") return WAIT;
	// Typing it again could duplicate it; Enter alone is harmless.
	if (enters < ENTERS_MAX) return { type: "enter" };
	// Cut short before it was typed, or Enter would have submitted it by now.
	if (phase === "typing" && attempts < ATTEMPTS_MAX) return { type: "type" };
	return { type: "dead", reason: "the message was typed, but the agent did not confirm it" };
}

/**
 * Whether a prompt that a CLI tells of has this text: blanks and line ends may have changed on the way, and
 * something may have stood in the input before it was typed.
 */
export function hasText(prompt: string, text: string): boolean {
	const plain = (words: string) => words.replaceAll(/\s+/g, " ").trim();
	return plain(prompt).endsWith(plain(text));
}

/** Letters and digits alone: a screen wraps a text, frames it and fills it up with blanks. */
const lettersOf = (text: string) => text.replaceAll(/[^\p{L}\p{N}]+/gu, "");
/** Enough to know a text by; its end, which is where the cursor is. */
const SHOWN_LENGTH = 24;
const PASTE_MARK = /\bpasted?\b/giu;

/** Whether a text that was typed is on the screen and was not there before; long ones are shown as a mark by some CLIs. */
export function isShown(text: string, before: string, now: string): boolean {
	const end = lettersOf(text).slice(-SHOWN_LENGTH);
	const count = (screen: string) => lettersOf(screen).split(end).length;
	const marks = (screen: string) => (screen.match(PASTE_MARK) ?? []).length;
	return end === "" || count(now) > count(before) || marks(now) > marks(before);
}

const ESC = "\u001b";

/** The text as it may be pasted: without anything that could end the paste early. */
export function pasteText(text: string): string {
	return text.replaceAll("\r\n", "\n").replaceAll(ESC, "");
}

/** A paste for a program that has asked for the markers of bracketed paste. */
export function markPaste(text: string): string {
	return `${ESC}[200~${text}${ESC}[201~`;
}
