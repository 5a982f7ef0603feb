/**
 * When the next key of a dialog may be pressed. A loaded host shows the effect of a key seconds later. A key that is
 * pressed again in between moves the selection past the wanted choice, or confirms the next dialog. So each key waits
 * until the effect of the previous one is visible. A key without any effect was lost and is pressed again after a
 * while; the dialog must then be stable before another key is pressed.
 */

import type { Key } from "./screen.js";

export interface DialogObservation {
	/** The dialog and which of its choices is selected. */
	readonly seen: string;
	/** The next key on the way to the wanted choice. */
	readonly key: Key;
	/** Steady time. */
	readonly nowMs: number;
}

export interface DialogState {
	/** The key whose effect is not visible yet. */
	readonly pending: {
		readonly seen: string;
		readonly firstMs: number;
		readonly lastMs: number;
		readonly presses: number;
	} | null;
	/** Keys may still be in flight: how long the dialog must be stable. */
	readonly settle: {
		readonly seen: string;
		readonly sinceMs: number;
		readonly forMs: number;
	} | null;
	/** The longest time until an effect was visible. */
	readonly lagMs: number;
}

const ARROW_AGAIN_MS = 5_000;
/** A second Enter may confirm the next dialog, so it is the last resort. */
const ENTER_AGAIN_MS = 20_000;
const SETTLE_MS = 5_000;

/** A daemon that died a moment ago may have pressed a key. */
export const AFTER_ADOPTION: DialogState = {
	pending: null,
	settle: { seen: "", sinceMs: 0, forMs: SETTLE_MS },
	lagMs: 0,
};
export const NO_DIALOG_KEYS: DialogState = { pending: null, settle: null, lagMs: 0 };

export function decideDialogKey(
	before: DialogState,
	look: DialogObservation,
): { readonly state: DialogState; readonly key: Key | null } {
	const { pending } = before;
	if (pending?.seen === look.seen) return waitForEffect(before, pending, look);
	const state = pending === null ? before : noteEffect(before, pending, look.nowMs);
	if (state.settle !== null && !hasSettled(state.settle, look)) {
		const { seen, sinceMs } = state.settle;
		const isSame = seen === look.seen;
		const settle = { ...state.settle, seen: look.seen, sinceMs: isSame ? sinceMs : look.nowMs };
		return { state: { ...state, settle }, key: null };
	}
	return { state: { ...state, settle: null, pending: press(look) }, key: look.key };
}

type PendingKey = NonNullable<DialogState["pending"]>;

const press = ({ seen, nowMs }: DialogObservation) => ({
	seen,
	firstMs: nowMs,
	lastMs: nowMs,
	presses: 1,
});

function hasSettled(
	{ seen, sinceMs, forMs }: NonNullable<DialogState["settle"]>,
	look: DialogObservation,
): boolean {
	return seen === look.seen && look.nowMs - sinceMs >= forMs;
}

/** The same choice of the same dialog as before the key. */
function waitForEffect(state: DialogState, pending: PendingKey, look: DialogObservation) {
	const patienceMs = look.key === "enter" ? ENTER_AGAIN_MS : ARROW_AGAIN_MS;
	if (look.nowMs - pending.lastMs < Math.max(patienceMs, 2 * state.lagMs)) {
		return { state, key: null };
	}
	const again = { ...pending, lastMs: look.nowMs, presses: pending.presses + 1 };
	return { state: { ...state, pending: again }, key: look.key };
}

function noteEffect(
	{ settle, lagMs }: DialogState,
	pending: PendingKey,
	nowMs: number,
): DialogState {
	const tookMs = nowMs - pending.firstMs;
	const isUnsure = pending.presses > 1;
	return {
		pending: null,
		settle: isUnsure ? { seen: "", sinceMs: nowMs, forMs: Math.max(SETTLE_MS, tookMs) } : settle,
		lagMs: Math.max(lagMs, tookMs),
	};
}
