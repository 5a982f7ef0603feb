/** The questions that are answered one after the other, and which of them is shown. */

import { signal } from "@preact/signals";
import type { Agent } from "./fleet.js";

interface Step {
	readonly agent: string;
	readonly question: string;
}

export const going = signal<{ readonly steps: readonly Step[]; readonly at: number } | null>(null);

export function goThrough(found: readonly Agent[]): undefined {
	const steps = found.flatMap(({ id, question }) =>
		question ? [{ agent: id, question: question.id }] : [],
	);
	if (steps.length > 0) going.value = { steps, at: 0 };
	return undefined;
}

/** The end of the list closes it. */
export function goTo(at: number): void {
	const { value } = going;
	if (value === null) return;
	going.value = at < value.steps.length ? { ...value, at } : null;
}
