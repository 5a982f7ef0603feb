/**
 * The queues of shared tasks, on DBOS Transact. The package `@dbos-inc/dbos-sdk` is loaded here and nowhere else, when
 * a host has a task to share. One workflow is one place of a task in its queue: it ends when the host is done with the
 * task. It has no steps, because an attempt that was interrupted must not be repeated unasked; it is never recovered
 * under its own id, because every launch has a new executor id.
 */

import type { Pool, PoolClient } from "pg";
import { ReeveError } from "../../core/errors.js";
import type { ServedAgent, Stranded, Turn } from "../../ports/shared-tasks.js";
import type { StoredTask } from "../../ports/task-store.js";

type Dbos = typeof import("@dbos-inc/dbos-sdk");
type DbosClient = Awaited<ReturnType<Dbos["DBOSClient"]["create"]>>;

const SCHEMA = "reeve_dbos";
const APPLICATION = "reeve";
const WORKFLOW = "task";
/**
 * Executors take only work of their own version. It changes when an older host could not run a task of a newer one, so
 * hosts can be upgraded one after another.
 */
const VERSION = "1";
/** The pool has the connections; DBOS only names this one in messages. */
const NAMED_URL = "postgres://reeve:reeve@cluster:5432/reeve";
/** Of an idle queue. The default of a second would delay every task by half of that. */
const POLL_MS = 100;
/** Any number that other programs on the same server do not use. */
const LAUNCH_LOCK = 7_237_311_004;
/** Reeve runs tasks with a high priority first, DBOS those with a low number. */
const PRIORITY_MAX = 1_000;
const DISCARDED_MAX = 1_000;

export interface DbosQueues {
	prepare(boot: string): Promise<void>;
	/** Puts tasks into their queues, in the transaction of this client. */
	enqueue(client: PoolClient, entries: readonly QueueEntry[]): Promise<void>;
	serve(boot: string, agents: readonly ServedAgent[], run: Run, signal: AbortSignal): Promise<void>;
	/** The entries that hosts, or one daemon, have taken and not yet finished. */
	taken(boot: string | null): Promise<readonly Stranded[]>;
	discard(entries: readonly Stranded[]): Promise<void>;
	/** Removes some finished entries; returns how many. */
	prune(finishedBeforeMs: number): Promise<number>;
	close(): Promise<void>;
}

export interface QueueEntry {
	readonly task: StoredTask;
	readonly ticket: number;
	readonly afterMs: number;
}

type Run = (turn: Turn) => Promise<void>;
type Workflow = (taskId: string, ticket: number, agentId: string) => Promise<void>;

/** DBOS is one per process: what its only workflow calls. */
let runTask: Run | null = null;
let registered = false;
let launches = 0;
/** One launch or shutdown at a time. */
let turn: Promise<unknown> = Promise.resolve();

export function createDbosQueues(pool: Pool): DbosQueues {
	let client: Promise<DbosClient> | null = null;
	const connect = async () => {
		client ??= loadDbos().then(({ DBOSClient }) =>
			DBOSClient.create({
				systemDatabaseUrl: NAMED_URL,
				systemDatabasePool: pool,
				systemDatabaseSchemaName: SCHEMA,
				applicationName: APPLICATION,
				logger: SILENT,
			}),
		);
		client.catch(() => {
			client = null;
		});
		return client;
	};
	return {
		async prepare(boot) {
			const { rowCount } = await pool.query(
				"SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'workflow_status'",
				[SCHEMA],
			);
			if (rowCount !== 0) return;
			const dbos = await loadDbos();
			await inTurn(() => serve(dbos, pool, boot, [], async () => {}, AbortSignal.timeout(0)));
		},
		async enqueue(transaction, entries) {
			const now = entries.filter(({ afterMs }) => afterMs <= 0);
			if (now.length > 0) await enqueueNow(transaction, now);
			// The function of the database knows no delay.
			for (const { task, ticket, afterMs } of entries) {
				if (afterMs <= 0) continue;
				const { taskId, agentId, priority } = task;
				await (await connect()).enqueueInTransaction<Workflow>(
					transaction,
					{
						...{ queueName: queueOf(agentId), workflowName: WORKFLOW, appVersion: VERSION },
						workflowID: idOf({ taskId, ticket }),
						priority: PRIORITY_MAX - priority,
						delaySeconds: afterMs / 1_000,
					},
					...([taskId, ticket, agentId] as const),
				);
			}
		},
		async serve(boot, agents, run, signal) {
			const dbos = await loadDbos();
			const served = inTurn(() => serve(dbos, pool, boot, agents, run, signal));
			await served;
		},
		async taken(boot) {
			const found = await (await connect()).listWorkflows({
				status: "PENDING",
				workflowName: WORKFLOW,
				...(boot !== null && { executorId: executorsOf(boot) }),
				loadInput: false,
				loadOutput: false,
			});
			return found.map(({ workflowID, executorId = "" }) => ({
				...entryOf(workflowID),
				boot: executorId.split("/")[0] ?? "",
			}));
		},
		async discard(entries) {
			if (entries.length > 0) await (await connect()).cancelWorkflows(entries.map(idOf));
		},
		async prune(finishedBeforeMs) {
			const dbos = await connect();
			const finished = await dbos.listWorkflows({
				status: ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
				workflowName: WORKFLOW,
				completedBefore: new Date(finishedBeforeMs).toISOString(),
				limit: DISCARDED_MAX,
				loadInput: false,
				loadOutput: false,
			});
			if (finished.length > 0) {
				await dbos.deleteWorkflows(finished.map(({ workflowID }) => workflowID));
			}
			return finished.length;
		},
		async close() {
			await (await client)?.destroy();
		},
	};
}

/** All in one statement: one for each would be most of the cost of a task. */
async function enqueueNow(client: PoolClient, entries: readonly QueueEntry[]): Promise<void> {
	await client.query(
		`SELECT ${SCHEMA}.enqueue_workflow(workflow_name => $1, queue_name => n.queue, workflow_id => n.id,
				positional_args => ARRAY[to_json(n.task), to_json(n.ticket), to_json(n.agent)],
				app_version => $2, priority => n.priority)
			FROM unnest($3::text[], $4::text[], $5::int[], $6::text[], $7::text[], $8::int[])
				AS n (id, task, ticket, agent, queue, priority)`,
		[
			...[WORKFLOW, VERSION],
			entries.map(({ task, ticket }) => idOf({ taskId: task.taskId, ticket })),
			entries.map(({ task }) => task.taskId),
			entries.map(({ ticket }) => ticket),
			entries.map(({ task }) => task.agentId),
			entries.map(({ task }) => queueOf(task.agentId)),
			entries.map(({ task }) => PRIORITY_MAX - task.priority),
		],
	);
}

/** Until the signal aborts. Attempts that run at that moment go on, and store their ends as before. */
async function serve(
	{ DBOS }: Dbos,
	pool: Pool,
	boot: string,
	agents: readonly ServedAgent[],
	run: Run,
	signal: AbortSignal,
): Promise<void> {
	runTask = run;
	if (!registered) {
		registered = true;
		DBOS.registerWorkflow(
			async (taskId: string, ticket: number, agentId: string) => {
				await runTask?.({ taskId, ticket, agentId });
			},
			{ name: WORKFLOW },
		);
	}
	launches += 1;
	const config = {
		name: APPLICATION,
		systemDatabaseUrl: NAMED_URL,
		systemDatabasePool: pool,
		systemDatabaseSchemaName: SCHEMA,
		applicationVersion: VERSION,
		executorID: `${boot}/${launches}`,
		listenQueues: agents.map(({ agent }) => queueOf(agent)),
		useListenNotify: false,
		logger: SILENT,
	};
	try {
		await launch(DBOS, pool, config);
		for (const { agent, slots } of agents) {
			// No limit for all hosts: with one, two hosts that poll at once wait for up to two minutes.
			await DBOS.registerQueue(queueOf(agent), {
				workerConcurrency: slots,
				minPollingIntervalMs: POLL_MS,
				onConflict: "always_update",
			});
		}
		if (!signal.aborted) {
			await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
		}
	} finally {
		await DBOS.shutdown().catch(() => {});
	}
}

/** Two hosts that create the tables of DBOS at the same time would disturb each other. */
async function launch(
	DBOS: Dbos["DBOS"],
	pool: Pool,
	config: Parameters<Dbos["DBOS"]["setConfig"]>[0],
): Promise<void> {
	DBOS.setConfig({ ...config, runMigrations: false });
	try {
		await DBOS.launch();
		return;
	} catch {
		// The tables are missing or old.
		await DBOS.shutdown().catch(() => {});
	}
	const client = await pool.connect();
	let failed: Error | undefined;
	try {
		await client.query("SELECT pg_advisory_lock($1)", [LAUNCH_LOCK]);
		DBOS.setConfig({ ...config, runMigrations: true });
		await DBOS.launch();
		await client.query("SELECT pg_advisory_unlock($1)", [LAUNCH_LOCK]);
	} catch (error) {
		failed = error as Error;
		throw new ReeveError(
			"cluster_unavailable",
			`the queues of the cluster cannot be opened: ${failed.message}`,
			"If the role of this daemon may not create tables, create them as the owner of the database: docs/guides/cluster.md.",
		);
	} finally {
		client.release(failed);
	}
}

function inTurn<T>(work: () => Promise<T>): Promise<T> {
	const next = turn.then(work, work);
	turn = next.catch(() => {});
	return next;
}

async function loadDbos(): Promise<Dbos> {
	try {
		return await import("@dbos-inc/dbos-sdk");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
		throw new ReeveError(
			"cluster_unavailable",
			"the package `@dbos-inc/dbos-sdk`, which shared tasks need, is not installed",
			"Install it beside Reeve, for example `npm install --global @dbos-inc/dbos-sdk@5.3.0`, and restart the daemon.",
		);
	}
}

const executorsOf = (boot: string) =>
	Array.from({ length: launches }, (_, index) => `${boot}/${index + 1}`);

const queueOf = (agentId: string) => `agent/${agentId}`;

const idOf = ({ taskId, ticket }: Pick<Stranded, "taskId" | "ticket">) => `${taskId}.${ticket}`;

function entryOf(id: string): Pick<Stranded, "taskId" | "ticket"> {
	const at = id.lastIndexOf(".");
	return { taskId: id.slice(0, at), ticket: Number(id.slice(at + 1)) };
}

/** Its failures show in what it does not do; the daemon reports those. */
const SILENT = { info() {}, debug() {}, warn() {}, error() {} };
