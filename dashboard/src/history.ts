/** The last 24 hours of all agents, read once and again when a run starts or ends. */

import { computed, signal } from "@preact/signals";
import type { AgentHistoryJson } from "../../src/http/contract/history.js";
import { minute } from "./clock.js";
import { moveWindow } from "./day.js";
import { onEvent } from "./fleet.js";
import { answering, callAll } from "./hosts.js";
import { isLive } from "./live.js";

export interface Histories {
	readonly from: number;
	readonly to: number;
	readonly byId: ReadonlyMap<string, AgentHistoryJson>;
}

export const histories = signal<Histories>({ from: 0, to: 1, byId: new Map() });

/** The time window that is drawn: it ends now, also while no event arrives. Without a connection it stays. */
export const drawn = computed(() =>
	moveWindow(histories.value, isLive.value ? minute.value / 1_000 : 0),
);

/** A minute is less than a pixel, so drawings need no more. */
const READ_AGAIN_MS = 60_000;

async function read(): Promise<void> {
	const { from, to, agents } = await callAll("GET /api/v1/history", "agents", {
		query: { hours: 24 },
	});
	histories.value = { from, to, byId: new Map(agents.map((each) => [each.id, each])) };
}

/** Reads it while the drawing is on the screen; the returned function ends that. */
export function followHistory(): () => void {
	let timer: number | null = null;
	let readAtMs = Date.now();
	void read().catch(() => {});
	const stopHosts = answering.subscribe((hosts) => {
		if (hosts.length > 0) void read().catch(() => {});
	});
	const stop = onEvent(({ type }) => {
		if (timer !== null || !/^agent\.(started|exited|activity)$/.test(type)) return;
		timer = setTimeout(
			() => {
				timer = null;
				readAtMs = Date.now();
				void read().catch(() => {});
			},
			Math.max(1_000, readAtMs + READ_AGAIN_MS - Date.now()),
		);
	});
	return () => {
		stop();
		stopHosts();
		if (timer !== null) clearTimeout(timer);
	};
}
