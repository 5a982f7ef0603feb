/**
 * Answers a question on an agent's screen: moves the selection to the wanted choice and confirms it. Each
 * key is pressed right after a look at a fresh screen that shows the same question, and Enter only if
 * exactly the wanted choice is selected. Enter is pressed at most once.
 */

import { AFTER_ADOPTION, decideDialogKey, NO_DIALOG_KEYS } from "../../core/dialog-keys.js";
import { keyTowards, type ShownQuestion } from "../../core/question-screen.js";
import { KEY_BYTES } from "../../core/screen.js";
import type { Backend, RunHandle } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import { pass } from "../waiting.js";

export interface Press {
	readonly backend: Backend;
	readonly handle: RunHandle;
	readonly clock: Clock;
	/** The question on a fresh screen, if it is the one to answer; null if that is gone. */
	readonly look: () => Promise<ShownQuestion | null>;
	/** Index of the wanted choice. */
	readonly wanted: number;
	/** Grows when a person types at this terminal. */
	readonly typed: () => number;
	/** How long no person has typed there. */
	readonly quietForMs: () => number;
	/** Whether keys of an earlier attempt may still be in flight. */
	readonly isUnsure: boolean;
}

export type Pressed =
	/** The question left the screen after the choice was confirmed. */
	| "answered"
	/** It left the screen before. */
	| "gone"
	/** A key had no visible effect. `confirmed`: Enter was pressed. */
	| { readonly notTaken: true; readonly confirmed: boolean }
	/** A person is typing at the terminal. */
	| "in_use";

const POLL_MS = 100;
/** Keys typed a moment ago may still change the selection, or answer the question. */
const QUIET_MS = 1_500;
/** Less than the time after which `decideDialogKey` would press Enter again. */
const PRESS_MS_MAX = 15_000;
/** A repaint may hide the question for a moment. */
const GONE_MS = 1_000;

export async function pressChoice(press: Press): Promise<Pressed> {
	const { backend, handle, clock, wanted, isUnsure } = press;
	const untilMs = clock.now().steadyMs + PRESS_MS_MAX;
	let state = isUnsure ? AFTER_ADOPTION : NO_DIALOG_KEYS;
	let confirmed = false;
	let goneSinceMs: number | null = null;
	let inUse = false;
	for (; clock.now().steadyMs < untilMs; await pass(clock, POLL_MS)) {
		const typed = press.typed();
		const shown = await press.look();
		const nowMs = clock.now().steadyMs;
		goneSinceMs = shown === null ? (goneSinceMs ?? nowMs) : null;
		if (goneSinceMs !== null && nowMs - goneSinceMs >= GONE_MS) {
			return confirmed ? "answered" : "gone";
		}
		if (shown === null || confirmed) continue;
		// Nothing may happen between this check and the key.
		inUse = press.typed() !== typed || press.quietForMs() < QUIET_MS;
		if (inUse) continue;
		const key = keyTowards(shown, wanted);
		const next = decideDialogKey(state, { seen: `${shown.selected}`, key, nowMs });
		state = next.state;
		if (next.key === null) continue;
		confirmed = next.key === "enter";
		await backend.input(handle, Buffer.from(KEY_BYTES[next.key]));
	}
	return inUse && !confirmed ? "in_use" : { notTaken: true, confirmed };
}
