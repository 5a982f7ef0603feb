/**
 * Changes of shared tasks, many in one transaction. Those that arrive while a transaction is under way wait for the
 * next one, so the number of transactions depends on the database and not on the number of tasks. Changes of one host
 * are stored one after another, so the numbers of its events have the order of their commits.
 */

import type { Pool, PoolClient } from "pg";
import { type BreakerState, NEW_BREAKER } from "../../core/breaker.js";
import type { Member } from "../../core/cluster.js";
import type {
	ChangedShared,
	DecideShared,
	NewSharedTask,
	SharedEvent,
	SharedTask,
	SharedWrites,
} from "../../ports/shared-tasks.js";
import type { NewEvent } from "../../ports/store.js";
import type { StoredTask, TaskInput } from "../../ports/task-store.js";
import type { DbosQueues, QueueEntry } from "./dbos-queues.js";
import { COLUMNS, sharedOf } from "./task-rows.js";

const BATCH_MAX = 200;
const RETRIES_MAX = 5;
/** A deadlock, or a serialization failure: the same transaction may succeed now. */
const TRANSIENT = new Set(["40P01", "40001", "55P03"]);
/** The database refused the data of some operation. */
const OF_DATA = /^(22|23|42)/;
/** Another daemon has taken the place of this one in the cluster. */
const NO_MEMBER = "this daemon is not a member of the cluster";

type Decided = { readonly circuit: BreakerState; readonly events: readonly NewEvent[] };

export type Operation =
	| { readonly type: "accept"; readonly task: NewSharedTask }
	| {
			readonly type: "change";
			readonly taskId: string;
			readonly decide: DecideShared;
			/** Also reads the input of the task. */
			readonly withInput: boolean;
	  }
	| {
			readonly type: "circuit";
			readonly agentId: string;
			readonly decide: (circuit: BreakerState, atMs: number) => Decided;
	  };

/** The result of an operation: an earlier task, the writes of a change, or the earlier circuit. */
type Result = StoredTask | ChangedShared | BreakerState | null;

interface Waiting {
	readonly member: Member;
	readonly operation: Operation;
	readonly resolve: (result: Result) => void;
	readonly reject: (error: unknown) => void;
}

export class ChangeBatches {
	readonly #pool: Pool;
	readonly #queues: DbosQueues;
	readonly #waiting: Waiting[] = [];
	#onEvents: (events: readonly SharedEvent[]) => void = () => {};
	#isRunning = false;

	constructor(pool: Pool, queues: DbosQueues) {
		this.#pool = pool;
		this.#queues = queues;
	}

	onEvents(listener: (events: readonly SharedEvent[]) => void): void {
		this.#onEvents = listener;
	}

	apply(member: Member, operation: Operation): Promise<Result> {
		return new Promise((resolve, reject) => {
			this.#waiting.push({ member, operation, resolve, reject });
			void this.#run();
		});
	}

	async #run(): Promise<void> {
		if (this.#isRunning) return;
		this.#isRunning = true;
		while (this.#waiting.length > 0) {
			const batch = this.#waiting.splice(0, BATCH_MAX);
			if (await this.#store(batch)) continue;
			// One of them cannot be stored: each gets a transaction of its own.
			for (const each of batch) await this.#store([each]);
		}
		this.#isRunning = false;
	}

	/** False if it must be tried in smaller parts. */
	async #store(batch: readonly Waiting[]): Promise<boolean> {
		for (let tries = 1; ; tries++) {
			try {
				const { results, events } = await this.#transact(batch);
				this.#onEvents(events);
				for (const [at, { resolve }] of batch.entries()) resolve(results[at] ?? null);
				return true;
			} catch (caught) {
				let error = caught;
				const code = String((error as { code?: unknown }).code);
				if (TRANSIENT.has(code) && tries < RETRIES_MAX) continue;
				const isOfOne = error instanceof OperationFailed || OF_DATA.test(code);
				if (batch.length > 1 && isOfOne) return false;
				if (error instanceof OperationFailed) error = error.cause;
				for (const { reject } of batch) reject(error);
				return true;
			}
		}
	}

	async #transact(batch: readonly Waiting[]) {
		const client = await this.#pool.connect();
		let failed: Error | undefined;
		try {
			await client.query("BEGIN");
			const done = await new Transaction(client, this.#queues, batch).run();
			await client.query("COMMIT");
			return done;
		} catch (error) {
			failed = error as Error;
			throw error;
		} finally {
			// A connection with an open transaction is closed, which rolls it back.
			client.release(failed);
		}
	}
}

/** A decision threw. The others of its transaction are not affected. */
class OperationFailed extends Error {}

/** One transaction: loads and locks what its operations need, decides them in order, and writes. */
class Transaction {
	readonly #client: PoolClient;
	readonly #queues: DbosQueues;
	readonly #batch: readonly Waiting[];
	readonly #tasks = new Map<string, SharedTask>();
	readonly #inputs = new Map<string, TaskInput>();
	readonly #circuits = new Map<string, BreakerState>();
	/** Attempts that run, by agent. */
	readonly #running = new Map<string, number>();
	readonly #changed = new Map<string, SharedTask>();
	readonly #changedCircuits = new Map<string, BreakerState>();
	readonly #attempts: (readonly [taskId: string, n: number, record: string])[] = [];
	readonly #results = new Map<string, unknown>();
	readonly #events: { readonly home: string; readonly event: NewEvent }[] = [];
	readonly #queued: QueueEntry[] = [];
	#atMs = 0;

	constructor(client: PoolClient, queues: DbosQueues, batch: readonly Waiting[]) {
		this.#client = client;
		this.#queues = queues;
		this.#batch = batch;
	}

	async run() {
		await this.#checkMembers();
		await this.#load();
		const accepted = await this.#insert();
		const results = this.#batch.map((each) => {
			try {
				return this.#decide(each, accepted);
			} catch (cause) {
				throw new OperationFailed("a decision failed", { cause });
			}
		});
		await this.#write();
		if (this.#queued.length > 0) await this.#queues.enqueue(this.#client, this.#queued);
		return { results, events: await this.#writeEvents() };
	}

	/** A daemon that was replaced must write nothing. */
	async #checkMembers(): Promise<void> {
		const [first] = this.#batch;
		if (first === undefined) return;
		const { host, home, boot } = first.member;
		const { rows } = await this.#client.query(
			`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at_ms,
				EXISTS (SELECT FROM reeve.hosts WHERE host = $1 AND home = $2 AND boot = $3) AS is_member`,
			[host, home, boot],
		);
		if (rows[0].is_member !== true) throw new Error(NO_MEMBER);
		this.#atMs = Math.round(rows[0].at_ms);
	}

	async #load(): Promise<void> {
		const ids: string[] = [];
		const inputs: string[] = [];
		const agents = new Set<string>();
		for (const { operation } of this.#batch) {
			if (operation.type === "change") {
				ids.push(operation.taskId);
				if (operation.withInput) inputs.push(operation.taskId);
			} else if (operation.type === "circuit") agents.add(operation.agentId);
			else if (operation.task.replays !== undefined) ids.push(operation.task.replays.taskId);
		}
		if (ids.length > 0) {
			const { rows } = await this.#client.query(
				`SELECT ${COLUMNS} FROM reeve.tasks WHERE task_id = ANY ($1) ORDER BY task_id FOR UPDATE`,
				[ids],
			);
			for (const row of rows) {
				const shared = sharedOf(row);
				this.#tasks.set(shared.task.taskId, shared);
				agents.add(shared.task.agentId);
			}
		}
		if (inputs.length > 0) {
			const { rows } = await this.#client.query(
				"SELECT task_id, input FROM reeve.tasks WHERE task_id = ANY ($1) AND input IS NOT NULL",
				[inputs],
			);
			for (const { task_id: id, input } of rows) this.#inputs.set(id, JSON.parse(input));
		}
		if (agents.size === 0) return;
		await this.#loadCircuits([...agents].toSorted());
		// After the circuits are locked, so that no other host starts one of them now.
		const { rows } = await this.#client.query(
			`SELECT agent, count(*)::int AS count FROM reeve.tasks
				WHERE agent = ANY ($1) AND boot IS NOT NULL GROUP BY agent`,
			[[...agents]],
		);
		for (const { agent, count } of rows) this.#running.set(agent, count);
	}

	async #loadCircuits(agents: readonly string[]): Promise<void> {
		const read = async () => {
			const { rows } = await this.#client.query(
				"SELECT agent, state FROM reeve.circuits WHERE agent = ANY ($1) ORDER BY agent FOR UPDATE",
				[agents],
			);
			for (const { agent, state } of rows) this.#circuits.set(agent, state);
			return rows.length;
		};
		if ((await read()) === agents.length) return;
		await this.#client.query(
			`INSERT INTO reeve.circuits (agent, state) SELECT agent, $2 FROM unnest($1::text[]) AS n (agent)
				ORDER BY agent ON CONFLICT DO NOTHING`,
			[agents, JSON.stringify(NEW_BREAKER)],
		);
		await read();
	}

	/** Inserts the accepted tasks; returns the earlier task for each key that is already used. */
	async #insert(): Promise<ReadonlyMap<string, StoredTask>> {
		const accepted = this.#batch.flatMap(({ operation }) =>
			operation.type === "accept" ? [operation.task] : [],
		);
		if (accepted.length === 0) return new Map();
		const { rows } = await this.#client.query(
			`INSERT INTO reeve.tasks (task_id, agent, status, plan_id, idempotency_key, record, input, ticket,
					created_at_ms)
				SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
					$7::text[], $8::int[], $9::float8[])
				ON CONFLICT (idempotency_key) DO NOTHING RETURNING task_id`,
			[
				accepted.map(({ shared }) => shared.task.taskId),
				accepted.map(({ shared }) => shared.task.agentId),
				accepted.map(({ shared }) => shared.task.status),
				accepted.map(({ shared }) => shared.task.planId),
				accepted.map(({ shared }) => shared.task.idempotencyKey),
				accepted.map(({ shared }) => JSON.stringify(shared.task)),
				accepted.map(({ input }) => JSON.stringify(input)),
				accepted.map(({ shared }) => shared.ticket),
				accepted.map(({ shared }) => shared.task.createdAtMs),
			],
		);
		const isNew = new Set(rows.map(({ task_id }) => task_id));
		const keys = accepted.flatMap(({ shared: { task } }) =>
			isNew.has(task.taskId) || task.idempotencyKey === null ? [] : [task.idempotencyKey],
		);
		if (keys.length === 0) return new Map();
		const found = await this.#client.query(
			"SELECT record FROM reeve.tasks WHERE idempotency_key = ANY ($1)",
			[keys],
		);
		return new Map(
			found.rows.map(({ record }) => {
				const task = JSON.parse(record) as StoredTask;
				return [task.idempotencyKey ?? "", task];
			}),
		);
	}

	#decide({ member, operation }: Waiting, earlier: ReadonlyMap<string, StoredTask>): Result {
		switch (operation.type) {
			case "accept": {
				const { shared, events, replays } = operation.task;
				const { idempotencyKey } = shared.task;
				const known = idempotencyKey === null ? undefined : earlier.get(idempotencyKey);
				if (known !== undefined) return known;
				if (replays !== undefined) this.#change(member, replays.taskId, replays.decide);
				this.#note(member, events);
				this.#queued.push({ task: shared.task, ticket: shared.ticket, afterMs: 0 });
				return null;
			}
			case "change":
				return this.#withInput(operation, this.#change(member, operation.taskId, operation.decide));
			case "circuit": {
				const before = this.#circuits.get(operation.agentId) ?? NEW_BREAKER;
				const { circuit, events } = operation.decide(before, this.#atMs);
				this.#setCircuit(operation.agentId, circuit);
				this.#note(member, events);
				return before;
			}
		}
	}

	#withInput(
		{ taskId, withInput }: Extract<Operation, { type: "change" }>,
		writes: SharedWrites | null,
	): ChangedShared | null {
		if (writes === null) return null;
		return { ...writes, input: withInput ? (this.#inputs.get(taskId) ?? null) : null };
	}

	#change(member: Member, taskId: string, decide: DecideShared): SharedWrites | null {
		const shared = this.#tasks.get(taskId);
		if (shared === undefined) return null;
		const { agentId } = shared.task;
		const circuit = this.#circuits.get(agentId) ?? NEW_BREAKER;
		const running = this.#running.get(agentId) ?? 0;
		const writes = decide({ shared, circuit, running, atMs: this.#atMs });
		if (writes === null || writes.waits === true) return writes;
		const more = Number(writes.shared.runner !== null) - Number(shared.runner !== null);
		this.#running.set(agentId, running + more);
		this.#tasks.set(taskId, writes.shared);
		this.#changed.set(taskId, writes.shared);
		const { attempt, result, queueAfterMs } = writes;
		if (writes.circuit !== undefined) this.#setCircuit(shared.task.agentId, writes.circuit);
		if (attempt !== undefined) this.#attempts.push([taskId, attempt.n, JSON.stringify(attempt)]);
		if (result !== undefined) this.#results.set(taskId, result.value ?? null);
		if (queueAfterMs !== undefined) {
			const { task, ticket } = writes.shared;
			this.#queued.push({ task, ticket, afterMs: queueAfterMs });
		}
		this.#note(member, writes.events);
		return writes;
	}

	#setCircuit(agentId: string, circuit: BreakerState): void {
		this.#circuits.set(agentId, circuit);
		this.#changedCircuits.set(agentId, circuit);
	}

	#note({ home }: Member, events: readonly NewEvent[]): void {
		for (const event of events) this.#events.push({ home, event });
	}

	async #write(): Promise<void> {
		const changed = [...this.#changed.values()];
		if (changed.length > 0) {
			await this.#client.query(
				`UPDATE reeve.tasks t SET record = n.record, status = n.status, host = n.host, home = n.home,
						boot = n.boot, ticket = n.ticket, permit = n.permit::jsonb, takeovers = n.takeovers,
						blocked_since_ms = n.blocked, cancel_reason = n.cancel, open_letter = n.letter,
						ended_at_ms = n.ended, result = coalesce(n.result, t.result)
					FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
						$7::int[], $8::text[], $9::int[], $10::float8[], $11::text[], $12::bool[], $13::float8[],
						$14::text[])
						AS n (task_id, record, status, host, home, boot, ticket, permit, takeovers, blocked, cancel,
							letter, ended, result)
					WHERE t.task_id = n.task_id`,
				[
					changed.map(({ task }) => task.taskId),
					changed.map(({ task }) => JSON.stringify(task)),
					changed.map(({ task }) => task.status),
					changed.map(({ runner }) => runner?.host ?? null),
					changed.map(({ runner }) => runner?.home ?? null),
					changed.map(({ runner }) => runner?.boot ?? null),
					changed.map(({ ticket }) => ticket),
					changed.map(({ permit }) => (permit === null ? null : JSON.stringify(permit))),
					changed.map(({ takeovers }) => takeovers),
					changed.map(({ blockedSinceMs }) => blockedSinceMs),
					changed.map(({ cancelReason }) => cancelReason),
					changed.map(({ task }) => task.status === "dead_lettered" && task.letter === null),
					changed.map(({ task }) => task.endedAtMs),
					changed.map(({ task }) =>
						this.#results.has(task.taskId) ? JSON.stringify(this.#results.get(task.taskId)) : null,
					),
				],
			);
		}
		if (this.#attempts.length > 0) {
			await this.#client.query(
				`INSERT INTO reeve.attempts (task_id, n, record)
					SELECT * FROM unnest($1::text[], $2::int[], $3::text[])`,
				[0, 1, 2].map((at) => this.#attempts.map((attempt) => attempt[at])),
			);
		}
		const circuits = [...this.#changedCircuits];
		if (circuits.length > 0) {
			await this.#client.query(
				`UPDATE reeve.circuits c SET state = n.state::jsonb
					FROM unnest($1::text[], $2::text[]) AS n (agent, state) WHERE c.agent = n.agent`,
				[circuits.map(([agent]) => agent), circuits.map(([, state]) => JSON.stringify(state))],
			);
		}
	}

	async #writeEvents(): Promise<readonly SharedEvent[]> {
		if (this.#events.length === 0) return [];
		const { rows } = await this.#client.query(
			`INSERT INTO reeve.task_events (home, task_id, at_ms, event)
				SELECT home, task_id, $4, event
					FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS n (home, task_id, event, place)
					ORDER BY place
				RETURNING seq::float8 AS seq`,
			[
				this.#events.map(({ home }) => home),
				this.#events.map(({ event }) => event.task ?? null),
				this.#events.map(({ event }) => JSON.stringify(event)),
				this.#atMs,
			],
		);
		const seqs = rows.map(({ seq }) => Number(seq)).toSorted((a, b) => a - b);
		return this.#events.map(({ event }, at) => ({
			event,
			atMs: this.#atMs,
			seq: seqs[at] ?? 0,
		}));
	}
}
