/** The result of an action, as a toast: its effect, or the reason why it failed. */

import { ApiError } from "./api.js";
import { sentence } from "./format.js";
import { announce } from "./parts/announcer.js";
import { toast } from "./toasts.js";

/** Waits for an action and shows its result. Returns whether it succeeded. */
export async function act(action: Promise<string | undefined>, failed: string): Promise<boolean> {
	try {
		const text = await action;
		if (text !== undefined) toast({ text, good: true });
		if (text !== undefined) announce(text);
		return true;
	} catch (error) {
		const text = `${failed}: ${explain(error)}`;
		toast({ text, good: false });
		announce(text, true);
		return false;
	}
}

/** The daemon's words, with its hint. */
export function explain(error: unknown): string {
	if (!(error instanceof ApiError)) return String(error);
	return `${error.message}.${error.hint === "" ? "" : ` ${sentence(error.hint)}`}`;
}
