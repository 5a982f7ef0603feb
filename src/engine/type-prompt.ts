/** Typing a text into an agent's terminal and submitting it. */

import type { AdapterProfile } from "../core/adapter.js";
import { pasteBytes } from "../core/inbox.js";
import { KEY_BYTES, readScreen } from "../core/screen.js";
import type { Backend, RunHandle } from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import { pass } from "./waiting.js";

/** Enter goes as a key of its own: typed together with a text, some CLIs take it for a line break. */
const SUBMIT_AFTER_MS = 300;

export interface Keyboard {
	readonly backend: Backend;
	readonly handle: RunHandle;
	readonly clock: Clock;
	readonly profile: AdapterProfile;
}

/** False when it cannot be typed into now. */
export async function typePrompt(keyboard: Keyboard, text: string): Promise<boolean> {
	const { backend, handle, clock, profile } = keyboard;
	if (!(await takesText(keyboard))) return false;
	await backend.input(handle, Buffer.from(pasteBytes(text, profile.paste)));
	await pass(clock, SUBMIT_AFTER_MS);
	await pressEnter(keyboard);
	return true;
}

export async function pressEnter({ backend, handle }: Keyboard): Promise<void> {
	await backend.input(handle, Buffer.from(KEY_BYTES.enter));
}

/** Whether nothing but its input is there to be typed into: a paste would answer a question. */
export async function takesText({ backend, handle, profile }: Keyboard): Promise<boolean> {
	if (profile.screen === null) return true;
	const { besidesLimit, hidesInput } = readScreen(profile.screen, await backend.screen(handle));
	return besidesLimit !== "waiting_input" && !hidesInput;
}
