/**
 * The delivery of a message to an agent: typed when the agent is ready, confirmed by its CLI, or failed
 * with a reason. With a CLI that confirms messages, delivery is exactly once: a message that was not
 * confirmed by the end of a run was not submitted, and is typed again in the next run.
 */

import type { Activity } from "./states.js";

export const MESSAGE_PHASES = ["queued", "typing", "typed", "dead"] as const;
/**
 * `typing` is recorded before the first key, so that the next daemon can see an interrupted delivery.
 */
export type MessagePhase = (typeof MESSAGE_PHASES)[number];

export interface Message {
	readonly id: string;
	readonly agentId: string;
	readonly text: string;
	readonly acceptedAtMs: number;
	readonly phase: MessagePhase;
	/** Number of runs in which it was typed. */
	readonly attempts: number;
	/** How often Enter was pressed again in this run. */
	readonly enters: number;
	/** The run that it was typed into. */
	readonly runId: string | null;
	/** Start of the phase, or time of the last Enter; wall time. */
	readonly atMs: number;
	/**
	 * When a daemon first started to type it; wall time, null while it is queued. Any later confirmation of this text
	 * belongs to this message, however often it was typed or Enter was pressed. Messages stored by older daemons lack it.
	 */
	readonly typedAtMs?: number | null;
	/** Why delivery failed. */
	readonly reason: string | null;
}

export interface DeliveryFacts {
	readonly runId: string;
	readonly activity: Activity;
	/** Whether the CLI has confirmed it since it was typed. */
	readonly confirmed: boolean;
	/** Whether the CLI has reported it, but has not saved it yet: it is neither typed again nor done. */
	readonly unsaved?: boolean;
	/** Whether the CLI confirms messages. */
	readonly confirms: boolean;
	readonly nowMs: number;
}

export type DeliveryStep =
	| { readonly type: "wait" }
	| { readonly type: "type" }
	/** The input may contain the message, not submitted. */
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
	if (facts.unsaved === true) return WAIT;
	if (facts.nowMs - atMs < CONFIRM_WITHIN_MS || facts.activity !== "ready") return WAIT;
	// Typing it again could duplicate it; Enter alone is harmless.
	if (enters < ENTERS_MAX) return { type: "enter" };
	// It was interrupted before the message was typed, otherwise Enter would have submitted it.
	if (phase === "typing" && attempts < ATTEMPTS_MAX) return { type: "type" };
	return { type: "dead", reason: "the message was typed, but the agent did not confirm it" };
}

/**
 * Whether a prompt reported by a CLI contains this message: whitespace may have changed, and a person may have typed
 * other text before it, or after it and before its Enter.
 */
export function hasText(prompt: string, text: string): boolean {
	const plain = (words: string) => words.replaceAll(/\s+/g, " ").trim();
	const [whole, wanted] = [plain(prompt), plain(text)];
	return whole.endsWith(wanted) || whole.startsWith(wanted);
}

/** Only letters and digits: a screen wraps, frames and pads a text. */
const lettersOf = (text: string) => text.replaceAll(/[^\p{L}\p{N}]+/gu, "");
/** Enough characters to recognize a message: its end, where the cursor is. */
const SHOWN_LENGTH = 24;
const PASTE_MARK = /\bpasted?\b/giu;

/** Whether a typed message has appeared on the screen; some CLIs show long messages as a placeholder. */
export function isShown(text: string, before: string, now: string): boolean {
	const end = lettersOf(text).slice(-SHOWN_LENGTH);
	const count = (screen: string) => lettersOf(screen).split(end).length;
	const marks = (screen: string) => (screen.match(PASTE_MARK) ?? []).length;
	return end === "" || count(now) > count(before) || marks(now) > marks(before);
}

const ESC = "\u001b";

/** The message without sequences that could end the paste early. */
export function pasteText(text: string): string {
	return text.replaceAll("\r\n", "\n").replaceAll(ESC, "");
}

/** A paste for a program that has enabled bracketed paste. */
export function markPaste(text: string): string {
	return `${ESC}[200~${text}${ESC}[201~`;
}
