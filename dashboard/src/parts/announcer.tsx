/** The one live region of the page: at most one sentence in five seconds, the most urgent first. */

import { signal } from "@preact/signals";
import { visibleLine } from "../format.js";

const EVERY_MS = 5_000;

const spoken = signal("");
let waiting: { readonly text: string; readonly urgent: boolean } | null = null;
let timer: number | null = null;

/** Says it to screen readers. A sentence that waits gives way to an urgent one, not to another. */
export function announce(text: string, urgent = false): void {
	if (timer === null) say(text);
	else if (waiting === null || urgent || !waiting.urgent) waiting = { text, urgent };
}

function say(text: string): void {
	spoken.value = visibleLine(text);
	timer = setTimeout(() => {
		timer = null;
		const next = waiting;
		waiting = null;
		if (next !== null) say(next.text);
	}, EVERY_MS);
}

export function Announcer() {
	return (
		<div class="away" role="status" aria-live="polite">
			{spoken}
		</div>
	);
}
