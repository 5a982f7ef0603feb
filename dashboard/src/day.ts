/** The day of an agent as marks on an axis: exits that are close become one, with one label. */

import type { AgentHistoryJson } from "../../src/http/contract/history.js";
import { type TickKind, tickOf } from "./ticks.js";

export interface DayMark {
	/** Seconds since 1970. */
	readonly at: number;
	readonly kind: TickKind;
	readonly label: string;
	/** How many exits are in it. */
	readonly count: number;
}

const WORDS: Readonly<Record<string, readonly [one: string, several: string]>> = {
	crash: ["crash", "crashes"],
	unknown: ["crash", "crashes"],
	usage_limit: ["usage limit", "usage limits"],
	auth: ["login lost", "logins lost"],
	overloaded: ["overloaded", "times overloaded"],
	config: ["invalid settings", "times invalid settings"],
	requested: ["stopped on request", "stops on request"],
	completed: ["ended by itself", "ends by itself"],
	out_of_memory: ["out of memory", "times out of memory"],
	spawn_error: ["could not start", "times it could not start"],
	unhealthy: ["unhealthy", "times unhealthy"],
	start_timeout: ["not ready in time", "times not ready in time"],
};

/** Groups exits that are closer than `near` seconds. */
export function marksOf(
	{ runs }: Pick<AgentHistoryJson, "runs">,
	near: number,
): readonly DayMark[] {
	const exits = runs.flatMap(([, end, cause, how]) =>
		end === null
			? []
			: [
					{
						at: end,
						cause: how === "clean" ? "completed" : (cause ?? "unknown"),
						kind: tickOf(cause, how),
					},
				],
	);
	exits.sort((a, b) => a.at - b.at);
	const groups: (typeof exits)[] = [];
	for (const exit of exits) {
		const last = groups.at(-1);
		if (last !== undefined && exit.at - (last[0]?.at ?? 0) < near) last.push(exit);
		else groups.push([exit]);
	}
	return groups.map((group) => {
		const worst =
			group.find(({ kind }) => kind === "failed") ?? group.find(({ kind }) => kind === "limited");
		return {
			at: group[0]?.at ?? 0,
			kind: worst?.kind ?? "asked",
			label: labelOf(group.map(({ cause }) => cause)),
			count: group.length,
		};
	});
}

function labelOf(causes: readonly string[]): string {
	const counts = new Map<string, number>();
	for (const cause of causes) counts.set(cause, (counts.get(cause) ?? 0) + 1);
	return [...counts]
		.map(([cause, count]) => {
			const [one, several] = WORDS[cause] ?? [cause, cause];
			return count === 1 ? one : `${count} ${several}`;
		})
		.join(", then ");
}

/** The labels that fit beside each other; `width` is the space of a label. */
export function placeLabels(
	marks: readonly DayMark[],
	scale: (second: number) => number,
	width: (mark: DayMark) => number,
): readonly DayMark[] {
	let free = Number.NEGATIVE_INFINITY;
	const important = [...marks].sort((a, b) => a.at - b.at);
	return important.filter((mark) => {
		const x = scale(mark.at);
		if (x < free) return false;
		free = x + width(mark) + 12;
		return true;
	});
}

/** The latest cluster of exits that is worth a second axis: at least two exits within ten minutes. */
export function crashCluster(
	runs: readonly { readonly started: number; readonly ended: number | null }[],
): { readonly from: number; readonly to: number } | null {
	const ends = runs.flatMap(({ ended }) => (ended === null ? [] : [ended])).sort((a, b) => a - b);
	const last = ends.at(-1);
	for (let index = ends.length - 1; index > 0 && last !== undefined; index -= 1) {
		const [end, before] = [ends[index] ?? 0, ends[index - 1] ?? 0];
		if (end - before > 600) continue;
		let first = index - 1;
		while (first > 0 && (ends[first] ?? 0) - (ends[first - 1] ?? 0) <= 600 && index - first < 7)
			first -= 1;
		const [from, to] = [ends[first] ?? 0, end];
		const margin = Math.max((to - from) * 0.15, 5);
		return { from: from - margin, to: to + margin };
	}
	return null;
}
