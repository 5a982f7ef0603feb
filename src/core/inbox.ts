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
		const reason = "the daemon ended while it was typed, and this CLI does not tell what arrived";
		return { type: "dead", reason };
	}
	if (runId !== facts.runId) {
		if (attempts >= ATTEMPTS_MAX) {
			return { type: "dead", reason: `typed into ${attempts} runs, and none confirmed it` };
		}
		return facts.activity === "ready" ? { type: "type" } : WAIT;
	}
	if (facts.nowMs - atMs < CONFIRM_WITHIN_MS || facts.activity !== "ready") return WAIT;
	// Typed again it might be there twice; Enter alone harms nobody.
	if (enters < ENTERS_MAX) return { type: "enter" };
	// Cut short before it was typed, or Enter would have submitted it by now.
	if (phase === "typing" && attempts < ATTEMPTS_MAX) return { type: "type" };
	return { type: "dead", reason: "it was typed, and the agent never confirmed it" };
}

/**
 * Whether a prompt that a CLI tells of has this text: blanks and line ends may have changed on the way, and
 * something may have stood in the input before it was typed.
 */
export function hasText(prompt: string, text: string): boolean {
	const plain = (words: string) => words.replaceAll(/\s+/g, " ").trim();
	return plain(prompt).endsWith(plain(text));
}

const ESC = "\u001b";

/** The text as a terminal takes in a paste; what could end the paste early is left out. */
export function pasteBytes(text: string, bracketed: boolean): string {
	const safe = text.replaceAll("\r\n", "\n").replaceAll(ESC, "");
	return bracketed ? `${ESC}[200~${safe}${ESC}[201~` : safe;
}
