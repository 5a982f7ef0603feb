/** The title and the icon of the tab: the number of agents that need you, and the first state of the fleet. */

import { computed, effect } from "@preact/signals";
import {
	type AgentStatusState,
	ATTENTION_ORDER,
	STATUS_STYLES,
} from "../../src/core/agent-status.js";
import { list } from "./fleet.js";
import { isLive } from "./live.js";
import { needsCount } from "./parts/needs-list.js";

/** The most urgent state that an agent is in, as at the top of `reeve top`; `ready` for an empty fleet. */
export const worstState = computed((): AgentStatusState => {
	if (!isLive.value) return "unknown";
	const found = new Set(list.value.map(({ status }) => status.state));
	return ATTENTION_ORDER.find((state) => found.has(state)) ?? "ready";
});

const COLORS = {
	red: "#b4231a",
	amber: "#c26f00",
	blue: "#1d5bb8",
	green: "#0b7667",
	grey: "#5f6871",
};
const ICONS: Partial<Record<string, string>> = {
	red: '<path d="M5.2 1h5.6L15 5.2v5.6L10.8 15H5.2L1 10.8V5.2Z"/>',
	amber: '<path d="M8 .4 15.6 8 8 15.6.4 8Z"/>',
};
const RING = '<circle cx="8" cy="8" r="5" fill="none" stroke="currentColor" stroke-width="2.5"/>';

export function followFavicon(): void {
	effect(() => {
		const count = needsCount.value;
		document.title = count === 0 ? "Reeve" : `(${count}) Reeve`;
	});
	effect(() => {
		const { tone } = STATUS_STYLES[worstState.value];
		const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="${COLORS[tone]}" color="${COLORS[tone]}">${ICONS[tone] ?? RING}</svg>`;
		const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
		if (link !== null) link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
	});
}
