/** The last 24 hours of an agent at full width: runs, work, waits, labelled exits, and a line for now. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type DayWindow, insideOf, lastsUntil, marksOf, placeLabels } from "../day.js";
import type { Agent } from "../fleet.js";
import { renderClock, renderDay } from "../format.js";
import { drawn, histories } from "../history.js";
import { drawPaths, summarize } from "./strip.js";

const HEIGHT = 20;
const TOP = 20;
const HOUR_S = 3_600;

/** The width of an element, as it changes. */
export function useWidth(start: number) {
	const element = useRef<HTMLDivElement>(null);
	const width = useSignal(start);
	useEffect(() => {
		if (element.current === null) return undefined;
		const observer = new ResizeObserver(([entry]) => {
			if (entry) width.value = Math.floor(entry.contentRect.width);
		});
		observer.observe(element.current);
		return () => observer.disconnect();
	}, []);
	return { element, width };
}

export function DayStrip({ agent, labels = true }: { agent: Agent; labels?: boolean }) {
	const { element, width } = useWidth(1_000);
	const history = histories.value.byId.get(agent.id);
	const window = drawn.value;
	const { from, to } = window;
	const scale = (second: number) =>
		Math.min(Math.max((second - from) / Math.max(to - from, 1), 0), 1) * width.value;
	const top = labels ? TOP : 0;
	return (
		<div class="day" ref={element}>
			{history !== undefined && (
				<svg
					height={top + HEIGHT + 22}
					width={width.value}
					role="img"
					aria-label={summarize(history)}
				>
					<Hours from={from} to={to} scale={scale} top={top} width={width.value} />
					<g transform={`translate(0 ${top})`}>
						<Bands history={history} scale={scale} window={window} />
					</g>
					{labels && (
						<Labels history={history} scale={scale} width={width.value} from={from} to={to} />
					)}
					<path class="now-line" d={`M${width.value - 1} ${top - 3}v${HEIGHT + 6}`} />
				</svg>
			)}
		</div>
	);
}

type History = NonNullable<ReturnType<typeof histories.value.byId.get>>;
type ScaleProps = { readonly scale: (second: number) => number };

function Bands({ history, scale, window }: ScaleProps & { history: History; window: DayWindow }) {
	const paths = drawPaths(history, scale, window, { height: HEIGHT, band: 14, tick: 2 });
	const waits = insideOf(history, window).waits.filter(([, , kind]) => kind !== "input");
	return (
		<>
			<Hatch id="wait-hatch" />
			<path class="ran" d={paths.ran} />
			<path class="worked" d={paths.worked} />
			{waits.map(([start, end]) => (
				<rect
					key={start}
					x={scale(start)}
					y={3}
					height={14}
					width={Math.max(scale(lastsUntil(end, window)) - scale(start), 1)}
					fill="url(#wait-hatch)"
				/>
			))}
			<path class="tick asked" d={paths.asked} />
			<path class="tick limited" d={paths.limited} />
			<path class="tick failed" d={paths.failed} />
		</>
	);
}

export function Hatch({ id }: { id: string }) {
	return (
		<defs>
			<pattern
				id={id}
				width="6"
				height="6"
				patternUnits="userSpaceOnUse"
				patternTransform="rotate(45)"
			>
				<rect class="hatch-ground" width="6" height="6" />
				<path class="hatch" d="M1 0v6" />
			</pattern>
		</defs>
	);
}

function Hours({
	from,
	to,
	scale,
	top,
	width,
}: ScaleProps & { from: number; to: number; top: number; width: number }) {
	const step = (width < 500 ? 6 : 2) * HOUR_S;
	const offset = new Date(from * 1_000).getTimezoneOffset() * 60;
	const hours: number[] = [];
	for (let at = Math.ceil((from - offset) / step) * step + offset; at < to; at += step)
		hours.push(at);
	return (
		<>
			{hours.map((at) => {
				const x = scale(at);
				const midnight = new Date(at * 1_000).getHours() === 0;
				return (
					<g key={at}>
						<path class="grid-line" d={`M${x} ${top}v${HEIGHT + 6}`} />
						{x > 20 && x < width - 70 && (
							<text x={x} y={top + HEIGHT + 20} text-anchor="middle">
								{midnight ? `${renderDay(at * 1_000)} ` : ""}
								{renderClock(at * 1_000)}
							</text>
						)}
					</g>
				);
			})}
			<text class="label" x={width} y={top + HEIGHT + 20} text-anchor="end">
				now {renderClock(to * 1_000)}
			</text>
		</>
	);
}

function Labels({
	history,
	scale,
	width,
	from,
	to,
}: ScaleProps & { history: History; width: number; from: number; to: number }) {
	// Exits closer than 6 px become one mark.
	const near = ((to - from) / Math.max(width, 1)) * 6;
	const marks = marksOf(history, Math.max(near, 60));
	const inside = marks.filter(({ at }) => at >= from);
	const widthOf = (label: string) => label.length * 6.4;
	return (
		<>
			{placeLabels(inside, scale, { widthOf, width }).map(({ mark, x, anchor }) => (
				<text key={mark.at} class={`label ${mark.kind}`} x={x} y={12} text-anchor={anchor}>
					{mark.label}
				</text>
			))}
		</>
	);
}
