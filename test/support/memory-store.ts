/** A store in memory, for tests of the engine. It passes the conformance suite of stores, and rejects a second exit of a run (S8). */

import type { ReeveEvent } from "../../src/core/events.js";
import type { Message } from "../../src/core/inbox.js";
import type {
	StoredAccount,
	StoredFinishedTurn,
	StoredQuestion,
	StoredScreenQuestion,
	StoredUsage,
} from "../../src/ports/agent-store.js";
import type { StoredSchedule, StoredSlot } from "../../src/ports/schedule-store.js";
import type {
	EffectOf,
	EffectPayloads,
	PendingEffect,
	Store,
	StoredAgent,
	StoredExit,
	StoredRun,
	StoreTransaction,
} from "../../src/ports/store.js";
import { createJournal } from "./memory-journal.js";
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
	const cursors = new Map<string, number>();
	const messages = new Map<string, Message>();
	const questions = new Map<string, StoredQuestion>();
	const accounts = new Map<string, StoredAccount>();
	const usage = new Map<string, StoredUsage>();
	const screenQuestions = new Map<string, StoredScreenQuestion>();
	const finishedTurns = new Map<string, StoredFinishedTurn>();
	const schedules = new Map<string, StoredSchedule>();
	const slots = new Map<string, StoredSlot>();
	const events: ReeveEvent[] = [];
	const listeners = new Set<(events: readonly ReeveEvent[]) => void>();
	const journal = createJournal();
	const tasks = createMemoryTasks(journal);
	const transaction: StoreTransaction = {
		...tasks.writes,
		putAgent: (agent) => journal.set(agents, agent.id, copy(agent)),
		removeAgent: (id) => journal.delete(agents, id),
		putRun: (run) => journal.set(runs, run.runId, copy(run)),
		putExit(exit) {
			if (!runs.has(exit.runId)) throw new Error(`S8: run ${exit.runId} is unknown`);
			if (exits.has(exit.runId)) throw new Error(`S8: run ${exit.runId} has ended twice`);
			journal.set(exits, exit.runId, copy(exit));
		},
		putEffect: (effect) => journal.set(effects, effect.key, copy(effect)),
		removeEffect: (key) => journal.delete(effects, key),
		putCursor: (reader, seq) => journal.set(cursors, reader, seq),
		removeCursor: (reader) => journal.delete(cursors, reader),
		putMessage: (message) => journal.set(messages, message.id, copy(message)),
		removeMessage: (id) => journal.delete(messages, id),
		putQuestion: (question) => journal.set(questions, question.agent, copy(question)),
		removeQuestion: (agentId) => journal.delete(questions, agentId),
		putAccount: (account) => journal.set(accounts, account.account, copy(account)),
		putScreenQuestion: (kept) => journal.set(screenQuestions, kept.question.agent, copy(kept)),
		removeScreenQuestion: (agentId) => journal.delete(screenQuestions, agentId),
		putFinishedTurn: (turn) => journal.set(finishedTurns, turn.agent, copy(turn)),
		removeFinishedTurn: (agentId) => journal.delete(finishedTurns, agentId),
		putUsage: (row) => journal.set(usage, row.agentId, copy(row)),
		removeUsage: (agentId) => journal.delete(usage, agentId),
		putSchedule: (schedule) => journal.set(schedules, schedule.id, copy(schedule)),
		removeSchedule(id) {
			for (const slot of [...slots.values()]) {
				if (slot.schedule === id) journal.delete(slots, slot.id);
			}
			journal.delete(schedules, id);
		},
		putSlot(slot) {
			const before = slots.get(slot.id)?.status;
			if (before !== undefined && !isOpen(before) && before !== slot.status) {
				throw new Error(`slot ${slot.id} has ended: ${before}, then ${slot.status}`);
			}
			journal.set(slots, slot.id, copy(slot));
		},
		appendEvent(event, atMs) {
			const seq = events.length + 1;
			journal.onUndo(() => events.pop());
			events.push({ seq, at: new Date(atMs).toISOString(), ...copy(event) } as ReeveEvent);
		},
		onRollback: (undo) => journal.onUndo(undo),
	};
	return {
		...tasks.reads,
		events,
		exits,
		runs,
		readAgents: () => [...agents.values()].sort(inFleetOrder),
		readOpenRuns: () => [...runs.values()].filter((run) => run.state !== "ended"),
		readExits: (id, limit) =>
			[...exits.values()]
				.filter((exit) => exit.agentId === id)
				.toReversed()
				.slice(0, Math.max(limit, 0)),
		readExitsBefore: (id, before, limit) =>
			[...exits.values()]
				.map((exit, at) => ({ number: at + 1, exit }))
				.filter(({ number, exit }) => exit.agentId === id && number < before)
				.toReversed()
				.slice(0, limit),
		readEffects: (type) =>
			[...effects.values()]
				.filter((effect) => isOf(effect, type))
				.sort((a, b) => a.dueAtMs - b.dueAtMs),
		readCursor: (reader) => cursors.get(reader) ?? null,
		readMessages: () => [...messages.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
		readQuestions: () => [...questions.values()],
		readAccounts: () => [...accounts.values()],
		readScreenQuestions: () => [...screenQuestions.values()],
		readFinishedTurns: () => [...finishedTurns.values()],
		readUsage: () => [...usage.values()],
		readSchedules: () => [...schedules.values()].sort(inFleetOrder),
		readOpenSlots: () => [...slots.values()].filter(({ status }) => isOpen(status)),
		readSlots: (schedule, limit) =>
			[...slots.values()]
				.filter((slot) => slot.schedule === schedule)
				.toReversed()
				.slice(0, limit),
		readEvents: ({ afterSeq, limit, agent, types }) =>
			events
				.filter(
					(event) =>
						event.seq > afterSeq &&
						(agent === undefined || event.agent === agent) &&
						(types?.includes(event.type) ?? true),
				)
				.slice(0, limit),
		readEventsBefore: ({ beforeSeq, limit, agent }) =>
			events
				.filter((event) => event.seq < beforeSeq && (agent === undefined || event.agent === agent))
				.toReversed()
				.slice(0, limit),
		seqAt: (atMs) => events.find(({ at }) => Date.parse(at) >= atMs)?.seq ?? events.length + 1,
		lastSeq: () => events.length,
		firstSeq: () => 1,
		prune: async () => ({ events: 0, exits: 0, runs: 0, tasks: 0, plans: 0, slots: 0 }),
		async commit(change) {
			await Promise.resolve();
			const before = events.length;
			const result = journal.run(() => change(transaction));
			const published = events.slice(before);
			if (published.length > 0) for (const listener of listeners) listener(published);
			return result;
		},
		accept: async (act) => act(),
		acceptWithRequest: async (act) => act({ hasBegun: false }),
		detach: (act) => act(),
		onCommit(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		health: () => ({ ok: true }),
		close: async () => {},
	};
}

function isOf<Type extends keyof EffectPayloads>(
	effect: PendingEffect,
	type: Type,
): effect is EffectOf<Type> & PendingEffect {
	return effect.type === type;
}

const isOpen = (status: StoredSlot["status"]) => status === "queued" || status === "fired";

type Placed = Pick<StoredSchedule, "fleetFile" | "position">;
const inFleetOrder = (a: Placed, b: Placed) =>
	a.fleetFile === b.fleetFile ? a.position - b.position : a.fleetFile < b.fleetFile ? -1 : 1;

/** As if it had been written to disk and read back. */
function copy<T>(value: T): T {
	return JSON.parse(JSON.stringify(value)) as T;
}
