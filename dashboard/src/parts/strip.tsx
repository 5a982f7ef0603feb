/**
 * Time as a drawing: a grey band means that the agent ran, green that it worked, a thin blue line that it waited, no band that it was down; a tick is an exit.
 * The strip of a row and the day of an agent are the same drawing at different scales.
 */

import type { AgentHistoryJson } from "../../../src/http/contract/history.js";
import { type DayWindow, insideOf, lastsUntil } from "../day.js";
import { countOf } from "../format.js";
import { tickOf } from "../ticks.js";

/** Where a second is on the drawing. */
export type Scale = (second: number) => number;

export interface Paths {
	readonly ran: string;
	readonly worked: string;
	readonly waited: string;
	readonly failed: string;
	readonly limited: string;
	readonly asked: string;
}

interface Shape {
	readonly height: number;
	/** The band's height; ticks take the whole. */
	readonly band: number;
	readonly tick: number;
}

export function drawPaths(
	history: AgentHistoryJson,
	scale: Scale,
	window: DayWindow,
	{ height, band, tick }: Shape,
): Paths {
	const { runs, work, waits } = insideOf(history, window);
	const top = (height - band) / 2;
	const bar = (from: number, to: number) => {
		const [x, end] = [scale(from), scale(to)];
		const width = Math.max(end - x, 0.75);
		return `M${round(x)} ${top}h${round(width)}v${band}h${round(-width)}Z`;
	};
	const ticks = (kind: string) =>
		runs
			.filter(([, end, cause, how]) => end !== null && tickOf(cause, how) === kind)
			.map(([, end]) => `M${round(scale(end ?? 0) - tick / 2)} 0h${tick}v${height}h${-tick}Z`)
			.join("");
	const middle = height / 2 - 1;
	return {
		ran: runs.map(([start, end]) => bar(start, end ?? window.to)).join(""),
		worked: work.map(([start, end]) => bar(start, lastsUntil(end, window))).join(""),
		waited: waits
			.filter(([, , kind]) => kind !== "input")
			.map(([start, end]) => {
				const x = scale(start);
				const width = round(Math.max(scale(lastsUntil(end, window)) - x, 0.75));
				return `M${round(x)} ${middle}h${width}v2h${-width}Z`;
			})
			.join(""),
		failed: ticks("failed"),
		limited: ticks("limited"),
		asked: ticks("asked"),
	};
}

function round(value: number): number {
	return Math.round(value * 10) / 10;
}

export interface StripProps {
	readonly history: AgentHistoryJson | undefined;
	readonly window: DayWindow;
	readonly width?: number;
}

/** The last 24 hours of an agent, in a row. */
export function Strip({ history, window, width = 120 }: StripProps) {
	if (history === undefined)
		return <svg class="strip" width={width} height="16" aria-hidden="true" />;
	const { from, to } = window;
	const scale = (second: number) => Math.min(Math.max((second - from) / (to - from), 0), 1) * width;
	const paths = drawPaths(history, scale, window, { height: 16, band: 6, tick: 2 });
	return (
		<svg class="strip" width={width} height="16" role="img" aria-label={summarize(history)}>
			<path class="ran" d={paths.ran} />
			<path class="worked" d={paths.worked} />
			<path class="waited" d={paths.waited} />
			<path class="tick asked" d={paths.asked} />
			<path class="tick limited" d={paths.limited} />
			<path class="tick failed" d={paths.failed} />
		</svg>
	);
}

/** `5 restarts in 24 h: 2 failed exits, 1 usage limit`. */
export function summarize({ runs, restarts }: AgentHistoryJson, hours = 24): string {
	const ends = runs.filter(([, end]) => end !== null).map(([, , cause, how]) => tickOf(cause, how));
	const count = (kind: string) => ends.filter((each) => each === kind).length;
	const parts = [
		[count("failed"), "failed exit", "failed exits"] as const,
		[count("limited"), "usage limit", "usage limits"] as const,
	].flatMap(([found, one, many]) => (found === 0 ? [] : [countOf(found, one, many)]));
	const head = `${countOf(restarts, "restart")} in ${hours} h`;
	return parts.length === 0 ? head : `${head}: ${parts.join(", ")}`;
}
