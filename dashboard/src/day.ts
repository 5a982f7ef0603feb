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

/** A time window in seconds since 1970, and where it ended when it was read. */
export interface DayWindow {
	readonly from: number;
	readonly to: number;
	readonly readTo: number;
}

/** Moves a window that was read a while ago so that it ends at `to`. */
export function moveWindow(
	read: { readonly from: number; readonly to: number },
	to: number,
): DayWindow {
	const by = Math.max(0, to - read.to);
	return { from: read.from + by, to: read.to + by, readTo: read.to };
}

/** Spans that were open when the history was read last until the end of the window: a change is an event. */
export function lastsUntil(end: number | null, { to, readTo }: Omit<DayWindow, "from">): number {
	return end === null || end >= readTo - 1 ? to : end;
}

/** Leaves out runs and spans that are over before the window. */
export function insideOf(
	{ runs, work, waits }: Pick<AgentHistoryJson, "runs" | "work" | "waits">,
	{ from }: Pick<DayWindow, "from">,
): Pick<AgentHistoryJson, "runs" | "work" | "waits"> {
	const isInside = ([, end]: readonly [number, number | null, ...unknown[]]) =>
		end === null || end >= from;
	return {
		runs: runs.filter(isInside),
		work: work.filter(isInside),
		waits: waits.filter(isInside),
	};
}

/** A label with its place: the text begins or ends at `x`. */
export interface PlacedLabel {
	readonly mark: DayMark;
	readonly x: number;
	readonly anchor: "start" | "end";
}

const URGENCY: Readonly<Record<TickKind, number>> = { failed: 0, limited: 1, asked: 2 };
const LABEL_GAP = 12;

/** The labels that fit beside each other: failures first, then limits, the newest first. */
export function placeLabels(
	marks: readonly DayMark[],
	scale: (second: number) => number,
	{ widthOf, width }: { readonly widthOf: (label: string) => number; readonly width: number },
): readonly PlacedLabel[] {
	const taken: (readonly [from: number, to: number])[] = [];
	const urgent = [...marks].sort((a, b) => URGENCY[a.kind] - URGENCY[b.kind] || b.at - a.at);
	return urgent.flatMap((mark): PlacedLabel[] => {
		const [x, length] = [scale(mark.at), widthOf(mark.label)];
		const isEnd = x + length > width;
		const [from, to] = isEnd ? [x - length, x] : [x, x + length];
		if (taken.some(([start, end]) => from < end + LABEL_GAP && to > start - LABEL_GAP)) return [];
		taken.push([from, to]);
		return [{ mark, x: isEnd ? x + 2 : x - 2, anchor: isEnd ? "end" : "start" }];
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
