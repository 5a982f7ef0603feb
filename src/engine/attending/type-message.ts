/** Types a message into an agent's terminal and submits it. */

import type { AdapterProfile } from "../../core/adapter.js";
import { isShown, pasteText } from "../../core/inbox.js";
import { KEY_BYTES, readScreen } from "../../core/screen.js";
import type { Backend, RunHandle } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import { pass } from "../waiting.js";

/** Enter is sent as a separate key: together with text, some CLIs read it as a newline. */
export const SUBMIT_AFTER_MS = 300;

export interface Keyboard {
	readonly backend: Backend;
	readonly handle: RunHandle;
	readonly clock: Clock;
	readonly profile: AdapterProfile;
}

/** How long the message may take to appear, and to leave the input after Enter; a starting CLI may be busy. */
const SHOWN_WITHIN_MS = 2_000;
const POLL_MS = 100;

/** False if it cannot be typed now. */
export async function typeMessage(keyboard: Keyboard, text: string): Promise<boolean> {
	const { backend, handle, clock, profile } = keyboard;
	if (!(await acceptsInput(keyboard))) return false;
	const before = await screenOf(keyboard);
	const safe = pasteText(text);
	if (profile.paste) await backend.paste(handle, safe);
	else await backend.input(handle, Buffer.from(safe));
	// A CLI that reads the message and Enter at the same time treats Enter as a newline in the message.
	const appears = (screen: string) => isShown(text, before ?? "", screen);
	const isThere = await waitForScreen(keyboard, appears);
	await pass(clock, SUBMIT_AFTER_MS);
	const unsent = await screenOf(keyboard);
	await pressEnter(keyboard);
	if (!isThere || unsent === null || !appears(unsent)) return true;
	// An unchanged screen with the message: the key was ignored.
	const isTaken = await waitForScreen(keyboard, (screen) => screen !== unsent);
	if (!isTaken && (await acceptsInput(keyboard))) await pressEnter(keyboard);
	return true;
}

/** The screen; null if nothing is known about it. */
async function screenOf({ backend, handle, profile }: Keyboard): Promise<string | null> {
	if (profile.screen === null) return null;
	const { text, isIncomplete } = await backend.screen(handle);
	return isIncomplete ? null : text;
}

async function waitForScreen(
	keyboard: Keyboard,
	holds: (screen: string) => boolean,
): Promise<boolean> {
	const { clock } = keyboard;
	const untilMs = clock.now().steadyMs + SHOWN_WITHIN_MS;
	for (;;) {
		const screen = await screenOf(keyboard);
		if (screen === null) return false;
		if (holds(screen)) return true;
		if (clock.now().steadyMs >= untilMs) return false;
		await pass(clock, POLL_MS);
	}
}

export async function pressEnter({ backend, handle }: Keyboard): Promise<void> {
	await backend.input(handle, Buffer.from(KEY_BYTES.enter));
}

/** Whether the input is the only thing that receives text: a paste would answer a question. */
export async function acceptsInput(keyboard: Keyboard): Promise<boolean> {
	const { screen } = keyboard.profile;
	if (screen === null) return true;
	const text = await screenOf(keyboard);
	// A question may be on the part that is missing.
	if (text === null) return false;
	const { besidesLimit, hidesInput } = readScreen(screen, text);
	return besidesLimit !== "waiting_input" && !hidesInput;
}
