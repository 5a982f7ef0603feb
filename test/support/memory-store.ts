/** A store in memory, for tests of what stands above it. Holds what a real one promises, and checks S8. */

import type { ReeveEvent } from "../../src/core/events.js";
import type {
	PendingEffect,
	Store,
	StoredAgent,
	StoredExit,
	StoredRun,
	StoreTransaction,
} from "../../src/ports/store.js";
import { createMemoryTasks } from "./memory-tasks.js";

export interface MemoryStore extends Store {
	readonly events: readonly ReeveEvent[];
	readonly exits: ReadonlyMap<string, StoredExit>;
	readonly runs: ReadonlyMap<string, StoredRun>;
}

export function createMemoryStore(): MemoryStore {
	const agents = new Map<string, StoredAgent>();
	const runs = new Map<string, StoredRun>();
	const exits = new Map<string, StoredExit>();
	const effects = new Map<string, PendingEffect>();
	const events: ReeveEvent[] = [];
	const listeners = new Set<(events: readonly ReeveEvent[]) => void>();
	const tasks = createMemoryTasks();
	const transaction: StoreTransaction = {
		...tasks.writes,
		putAgent: (agent) => void agents.set(agent.id, copy(agent)),
		removeAgent: (id) => void agents.delete(id),
		putRun: (run) => void runs.set(run.runId, copy(run)),
		putExit(exit) {
			if (exits.has(exit.runId)) throw new Error(`S8: run ${exit.runId} has ended twice`);
			exits.set(exit.runId, copy(exit));
		},
		putEffect: (effect) => void effects.set(effect.key, copy(effect)),
		removeEffect: (key) => void effects.delete(key),
		appendEvent(event, atMs) {
			const seq = events.length + 1;
			events.push({ seq, at: new Date(atMs).toISOString(), ...copy(event) } as ReeveEvent);
		},
		// Nothing is ever rolled back here.
		onRollback: () => {},
	};
	return {
		...tasks.reads,
		events,
		exits,
		runs,
		readAgents: () => [...agents.values()].sort((a, b) => a.position - b.position),
		readOpenRuns: () => [...runs.values()].filter((run) => run.state !== "ended"),
		readExits: (id, limit) =>
			[...exits.values()]
				.filter((exit) => exit.agentId === id)
				.toReversed()
				.slice(0, limit),
		readEffects: () => [...effects.values()],
		readEvents: ({ afterSeq, limit, agent }) =>
			events
				.filter((event) => event.seq > afterSeq && (agent === undefined || event.agent === agent))
				.slice(0, limit),
		lastSeq: () => events.length,
		firstSeq: () => 1,
		prune: async () => ({ events: 0, exits: 0, runs: 0, tasks: 0, plans: 0 }),
		async commit(change) {
			await Promise.resolve();
			const before = events.length;
			const result = change(transaction);
			for (const listener of listeners) listener(events.slice(before));
			return result;
		},
		accept: async (act) => act(),
		acceptPassing: async (act) => act({ hasBegun: false }),
		detach: (act) => act(),
		onCommit(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		health: () => ({ ok: true }),
		close: async () => {},
	};
}

/** As if it had been written to disk and read back. */
function copy<T>(value: T): T {
	return JSON.parse(JSON.stringify(value)) as T;
}
