/**
 * Follows the agents of remotes: one list of each, then its events. Browsers keep few connections to one address open,
 * so only the first remotes are followed by their events; further ones are read at regular intervals.
 */

import type { ReeveEvent } from "../../src/core/events.js";
import { joinHost } from "../../src/core/remote.js";
import type { LiveResources } from "../../src/http/contract/streams.js";
import { explain } from "./act.js";
import { apiOf, call } from "./api.js";
import { now } from "./clock.js";
import { replaceRemote, resources, takeEvent } from "./fleet.js";
import { remotes, silent } from "./hosts.js";
import { readSse } from "./sse.js";

/** The daemon's own events, a log and requests need connections too: browsers open six. */
const STREAMS_MAX = 2;
const READ_AGAIN_MS = 10_000;
const RETRY_MS = 3_000;
const SILENT_MS_MAX = 30_000;

const followed = new Map<string, AbortController>();

/** Starts to follow remotes that answer, and stops with those that do not. */
export function followRemotes(): void {
	const reachable = remotes.value.filter(({ state }) => state === "reachable");
	const names = new Set(reachable.map(({ name }) => name));
	for (const [name, over] of followed) {
		if (names.has(name)) continue;
		over.abort();
		followed.delete(name);
		note(name, null);
		replaceRemote(name, []);
	}
	for (const name of names) {
		if (followed.has(name)) continue;
		const over = new AbortController();
		const streams = followed.size < STREAMS_MAX;
		followed.set(name, over);
		void follow(name, streams, over.signal);
	}
}

async function follow(name: string, streams: boolean, over: AbortSignal): Promise<void> {
	while (!over.aborted) {
		try {
			const { agents, seq } = await call("GET /api/v1/agents", { host: name, signal: over });
			note(name, null);
			replaceRemote(name, agents);
			if (streams) await stream(name, seq ?? 0, over);
			else await pause(READ_AGAIN_MS, over);
		} catch (error) {
			if (over.aborted) return;
			note(name, explain(error));
			replaceRemote(name, []);
			await pause(RETRY_MS, over);
		}
	}
}

function stream(name: string, seq: number, signal: AbortSignal): Promise<void> {
	const withName = (id: string | undefined) => (id === undefined ? id : joinHost(name, id));
	return readSse(`${apiOf(name)}/api/v1/events?follow=1&live=resources`, {
		...{ signal, silentMsMax: SILENT_MS_MAX, headers: { "last-event-id": String(seq) } },
		onMessage({ event: type, data }) {
			if (data === "") return;
			if (type === "resources") {
				const { agents } = JSON.parse(data) as LiveResources;
				const named = Object.entries(agents).map(([id, each]) => [joinHost(name, id), each]);
				resources.value = { ...resources.value, ...Object.fromEntries(named) };
			} else if (type === "message") {
				const event = JSON.parse(data) as ReeveEvent;
				const { agent, task, plan } = event;
				const ids = { agent: withName(agent), task: withName(task), plan: withName(plan) };
				takeEvent({ ...event, ...ids, host: name } as ReeveEvent, name);
			}
		},
	});
}

function note(name: string, why: string | null): void {
	if (why === null && !silent.value.has(name)) return;
	const next = new Map(silent.value);
	const sinceMs = next.get(name)?.sinceMs ?? now.peek();
	if (why === null) next.delete(name);
	else next.set(name, { sinceMs, why });
	silent.value = next;
}

function pause(ms: number, over: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, ms);
		over.addEventListener("abort", () => {
			clearTimeout(timer);
			resolve();
		});
	});
}
