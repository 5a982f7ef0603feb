/** Who types into a terminal, as text, and how to get the keyboard from another client. */

import type { KeyboardJson } from "../../src/http/contract/agent-parts.js";
import { caller } from "./access.js";
import { now } from "./clock.js";
import { renderWhen, sentence, visibleLine } from "./format.js";
import { ask } from "./parts/dialog.js";

export type Keyboard = KeyboardJson;

/** `token laptop`, `another tab of this browser`. */
function holderName(holder: Keyboard): string {
	const isThis = holder.by === "session" && holder.who === `token ${caller.value?.id}`;
	return isThis ? "another tab of this browser" : visibleLine(holder.label);
}

/** `Token laptop has had the keyboard since 14:02`. */
export function holderWords(holder: Keyboard): string {
	const since = renderWhen(Date.parse(holder.since), now.peek(), false);
	return `${sentence(holderName(holder))} has had the keyboard since ${since}`;
}

export function askTakeOver(id: string, holder: Keyboard, take: () => void): undefined {
	return ask({
		title: `Take over the keyboard of ${id}?`,
		text: `${holderWords(holder)}. Its keys are ignored until you give the keyboard back, and the terminal gets the size of your window.`,
		safe: "Keep watching",
		verb: "Take over",
		danger: false,
		failed: "Not taken over",
		do: async () => {
			take();
			return undefined;
		},
	});
}
