/** Which turn of its script a fake agent plays, and how often each was played before. */

import { appendFileSync, statSync } from "node:fs";
import type { FakeScript, FakeTurn } from "./script.js";

/** Selects the turn for a prompt and counts its use; an echo if the script has none. */
export type ChooseTurn = (prompt: string) => FakeTurn;

const ECHO: FakeTurn = { takes: 0, reply: "The fake received: {prompt}", eats_memory: false };

export function createChooseTurn({ turns }: FakeScript): ChooseTurn {
	const used = new Map<FakeTurn, number>();
	const countOf = (turn: FakeTurn) =>
		turn.counted_in === undefined ? (used.get(turn) ?? 0) : sizeOf(turn.counted_in);
	return (prompt) => {
		const chosen = turns.find(
			(turn) =>
				(turn.when === undefined || prompt.includes(turn.when)) &&
				(turn.times === undefined || countOf(turn) < turn.times),
		);
		if (chosen === undefined) return ECHO;
		used.set(chosen, (used.get(chosen) ?? 0) + 1);
		// One byte each: appending is atomic, even with several writers.
		if (chosen.counted_in !== undefined) appendFileSync(chosen.counted_in, ".");
		return chosen;
	};
}

function sizeOf(path: string): number {
	return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
