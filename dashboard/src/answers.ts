/** Answers that were just given: their cards stay as one line for a moment, so that nothing moves at once. */

import { signal } from "@preact/signals";

const SHOWN_MS = 5_000;

/** The line of each, by question. */
export const answers = signal<ReadonlyMap<string, string>>(new Map());

export function noteAnswered(question: string, text: string): void {
	answers.value = new Map(answers.value).set(question, text);
	setTimeout(() => {
		const next = new Map(answers.value);
		next.delete(question);
		answers.value = next;
	}, SHOWN_MS);
}
