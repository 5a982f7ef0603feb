/** The marks of states: round runs, square rests, a clock waits, corners need you. Always followed by a word. */

import type { JSX } from "preact";
import {
	type AgentStatusState,
	STATUS_STYLES,
	type StatusStyle,
} from "../../../src/core/agent-status.js";

/** Tasks have a few shapes of their own. */
export type Shape = StatusStyle["shape"] | "check" | "square_stroke";
export type Tone = StatusStyle["tone"];

const octagon = () => <path d="M5.2 1h5.6L15 5.2v5.6L10.8 15H5.2L1 10.8V5.2Z" />;
const ring = () => <circle class="line" cx="8" cy="8" r="6.2" />;
const box = () => <rect class="line" x="2.75" y="2.75" width="10.5" height="10.5" rx="1" />;

/**
 * A new element for each drawing: Preact links an element to the place where it was drawn last, so one that is shared keeps every
 * earlier tree in memory.
 */
const SHAPES: Readonly<Record<Shape, () => JSX.Element>> = {
	octagon_keyhole: () => (
		<>
			{octagon()}
			<path class="in" d="M8 4.4a1.9 1.9 0 0 1 .9 3.6l.6 3.4h-3l.6-3.4a1.9 1.9 0 0 1 .9-3.6Z" />
		</>
	),
	octagon_bar: () => (
		<>
			{octagon()}
			<path class="in line" d="M4.6 8h6.8" />
		</>
	),
	octagon_cross: () => (
		<>
			{octagon()}
			<path class="in line" d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" />
		</>
	),
	diamond: () => (
		<>
			<path d="M8 .4 15.6 8 8 15.6.4 8Z" />
			<path class="in thin" d="M6.2 6.5a1.8 1.8 0 1 1 2.7 1.6c-.6.3-.9.6-.9 1.2" />
			<circle class="in" cx="8" cy="11.4" r=".95" />
		</>
	),
	triangle: () => (
		<>
			<path class="line" d="M8 2.2 14.6 13.6H1.4Z" />
			<path class="thin" d="M8 6.2v3.4" />
			<circle cx="8" cy="11.6" r=".9" />
		</>
	),
	ring_square: () => (
		<>
			{ring()}
			<rect x="5.75" y="5.75" width="4.5" height="4.5" />
		</>
	),
	clock: () => (
		<>
			{ring()}
			<path class="line" d="M8 4.6V8l2.4 1.5" />
		</>
	),
	arrow: () => (
		<>
			<path class="line" d="M13.9 8a5.9 5.9 0 1 1-1.8-4.3l1.4 1.4" />
			<path class="line" d="M13.9 1.8v3.5h-3.5" />
		</>
	),
	moon: () => <path d="M6.2 1.6a6.6 6.6 0 1 0 8.2 8.2A5.6 5.6 0 0 1 6.2 1.6Z" />,
	square_check: () => (
		<>
			{box()}
			<path class="line" d="m5.2 8.2 2 2 3.6-4.2" />
		</>
	),
	square_stroke: () => (
		<>
			{box()}
			<path class="line" d="m4.5 11.5 7-7" />
		</>
	),
	square: box,
	dots: () => (
		<>
			<circle cx="3" cy="8" r="1.5" />
			<circle cx="8" cy="8" r="1.5" />
			<circle cx="13" cy="8" r="1.5" />
		</>
	),
	half: () => (
		<>
			<circle class="line" cx="8" cy="8" r="5.4" />
			<path d="M8 2.6a5.4 5.4 0 0 1 0 10.8Z" />
		</>
	),
	disc: () => <circle cx="8" cy="8" r="5.8" />,
	disc_check: () => (
		<>
			<circle cx="8" cy="8" r="7" />
			<path class="in line" d="m4.9 8.3 2.1 2.1 4.1-4.6" />
		</>
	),
	ring: () => <circle class="thick" cx="8" cy="8" r="5" />,
	dashed_ring: () => <circle class="line dash" cx="8" cy="8" r="6" />,
	check: () => <path class="thick" d="m2.8 8.6 3.4 3.4 7-7.8" />,
};

export interface MarkProps {
	readonly shape: Shape;
	readonly tone: Tone;
	readonly size?: number;
}

export function Mark({ shape, tone, size = 16 }: MarkProps) {
	return (
		<svg class={`mark ${tone}`} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
			{SHAPES[shape]()}
		</svg>
	);
}

export function StateMark({ state, size = 16 }: { state: AgentStatusState; size?: number }) {
	const { shape, tone } = STATUS_STYLES[state];
	return <Mark shape={shape} tone={tone} size={size} />;
}
