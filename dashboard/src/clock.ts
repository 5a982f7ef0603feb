/** The time of the page: one timer, each second, and only while the page is visible. */

import { computed, signal } from "@preact/signals";

const TICK_MS = 1_000;
/** Below this, the difference to the daemon's clock is the delay of the network. */
const OFFSET_MS_MIN = 2_000;

let offsetMs = 0;

/** The daemon's time, by the second. */
export const now = signal(Date.now());
/** The same by the minute, for drawings. */
export const minute = computed(() => Math.floor(now.value / 60_000) * 60_000);

/** Sets the clock by the daemon's own, which dates everything that the page shows. */
export function setClock(date: string | null): void {
	const ms = Date.parse(date ?? "") - Date.now();
	if (!Number.isNaN(ms)) offsetMs = Math.abs(ms) < OFFSET_MS_MIN ? 0 : ms;
	tick();
}

function tick(): void {
	now.value = Date.now() + offsetMs;
}

setInterval(() => {
	if (document.visibilityState === "visible") tick();
}, TICK_MS);
document.addEventListener("visibilitychange", tick);
