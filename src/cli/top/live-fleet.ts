/**
 * The agents of the daemon, kept current by its events: one list at the start, then only the agents that an
 * event names, and those that wait for another agent, whose reason changes with it. Nothing is polled. After a lost
 * connection the list is read again.
 */

import type { Client, ConnectionChange } from "../../client/client.js";
import { ReeveError } from "../../core/errors.js";
import type { ReeveEvent } from "../../core/events.js";
import type { AgentJson } from "../../http/contract/agents.js";
import type { LiveResources } from "../../http/contract/streams.js";

export interface FleetListener {
	/** Called before all agents are read. */
	beforeList(): void;
	/** All agents. */
	onAgents(agents: readonly AgentJson[]): void;
	/** The current state of these agents; those that are missing were removed. */
	onChanged(agents: readonly AgentJson[], asked: ReadonlySet<string>): void;
	onResources(reading: LiveResources): void;
	onConnection(change: ConnectionChange): void;
}

/** Events of this time are answered with one request. */
const BATCH_MS = 200;
/** More changed agents than this are read with the whole list. */
const BATCH_MAX = 50;
const RETRY_MS = 1_000;
/** As long as the user waits. */
const RECONNECT_MS = 30 * 24 * 3_600_000;

/** Until `signal` aborts. Throws if the daemon refuses, or cannot be reached at the start. */
export async function followFleet(
	client: Client,
	listener: FleetListener,
	signal: AbortSignal,
): Promise<void> {
	const reader = createReader(client, listener, signal);
	for (;;) {
		const seq = await reader.readAll();
		try {
			const stream = client.events({
				after: seq,
				follow: true,
				signal,
				reconnectForMs: RECONNECT_MS,
				onResources: (reading) => listener.onResources(reading),
				onConnection(change) {
					listener.onConnection(change);
					if (change.state === "restored") reader.note(null);
				},
			});
			for await (const event of stream) reader.note(event);
			return;
		} catch (error) {
			// Another history, as after a restored backup: from its end.
			if (!(error instanceof ReeveError) || error.code !== "events_pruned") throw error;
		}
	}
}

/** Events that change the view of every agent of an account or a remote. */
const OF_ALL = /^(account|remote)\./;

function createReader(client: Client, listener: FleetListener, signal: AbortSignal) {
	let changed = new Set<string>();
	let isAll = false;
	let timer: NodeJS.Timeout | undefined;
	/** Agents that wait for another one: what happens to that one changes their state without an event of theirs. */
	const waiting = new Set<string>();

	function noteWaiting(agents: readonly AgentJson[]): void {
		for (const { id, status, blocked } of agents) {
			if (blocked !== null || status.state === "waits_for_dependency") waiting.add(id);
			else waiting.delete(id);
		}
	}

	/** Returns the number of the last event before the list. */
	async function readAll(): Promise<number> {
		listener.beforeList();
		const { agents, seq } = await client.call("GET /api/v1/agents");
		waiting.clear();
		noteWaiting(agents);
		listener.onAgents(agents);
		return seq ?? 0;
	}

	async function readChanged(): Promise<void> {
		const asked = new Set([...changed, ...waiting]);
		const all = isAll || asked.size > BATCH_MAX;
		changed = new Set();
		isAll = false;
		try {
			if (all) await readAll();
			else {
				const query = { ids: [...asked].join(",") };
				const { agents } = await client.call("GET /api/v1/agents", { query });
				for (const id of asked) waiting.delete(id);
				noteWaiting(agents);
				listener.onChanged(agents, asked);
			}
			timer = undefined;
			if (changed.size > 0 || isAll) schedule(BATCH_MS);
		} catch {
			// While the daemon is away the stream reports it; when it is back, this succeeds.
			isAll = true;
			timer = undefined;
			schedule(RETRY_MS);
		}
	}

	function schedule(ms: number): void {
		if (signal.aborted) return;
		timer ??= setTimeout(() => void readChanged(), ms);
	}

	signal.addEventListener("abort", () => clearTimeout(timer));
	return {
		readAll,
		/** Null means that anything may have changed. */
		note(event: ReeveEvent | null): void {
			if (event === null || OF_ALL.test(event.type)) isAll = true;
			else if (event.agent === undefined) return;
			else changed.add(event.agent);
			schedule(BATCH_MS);
		},
	};
}
