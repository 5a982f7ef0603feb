/** Messages and dead letters: read when events say that they changed. */

import { computed, effect, signal } from "@preact/signals";
import type { Routes } from "../../src/http/contract/routes.js";
import type { TaskJson } from "../../src/http/contract/tasks.js";
import { agents, inboxChanged, tasksChanged } from "./fleet.js";
import { callAll } from "./hosts.js";

type Message = Routes["GET /api/v1/inbox"]["reply"]["messages"][number];

export const messages = signal<readonly Message[]>([]);
export const letters = signal<readonly TaskJson[]>([]);
/** Whether there are more than the page has read. */
export const moreLetters = signal(false);

const LETTERS_MAX = 200;

export const letterCounts = computed(() => {
	const counts = new Map<string, number>();
	for (const { agent } of letters.value) counts.set(agent, (counts.get(agent) ?? 0) + 1);
	return counts;
});

const REASONS_MAX = 3;

/** Why calls to this agent failed, each reason once: `push: no answer in 30 s (2)`. */
export function letterReasons(id: string): readonly string[] {
	const counts = new Map<string, number>();
	for (const { agent, action, error, reason } of letters.value) {
		if (agent !== id) continue;
		const text = `${action}: ${error?.message ?? reason}`;
		counts.set(text, (counts.get(text) ?? 0) + 1);
	}
	return [...counts]
		.slice(0, REASONS_MAX)
		.map(([text, count]) => (count === 1 ? text : `${text} (${count})`));
}

/** Keeps them current from now on. */
export function followInbox(): void {
	effect(() => {
		if (inboxChanged.value === 0) return;
		void callAll("GET /api/v1/inbox", "messages").then(
			(reply) => {
				messages.value = reply.messages;
			},
			() => {},
		);
	});
	effect(() => {
		if (tasksChanged.value === 0 || agents.peek() === null) return;
		void callAll("GET /api/v1/dead-letters", "tasks", { query: { limit: LETTERS_MAX } }).then(
			(reply) => {
				letters.value = reply.tasks;
				moreLetters.value = reply.next !== null;
			},
			() => {},
		);
	});
}
