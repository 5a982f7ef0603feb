import { describe, expect, test } from "vitest";
import { type BreakerState, DEFAULT_BREAKER, NEW_BREAKER } from "../../core/breaker.js";
import { DEFAULT_RETRY } from "../../core/retry.js";
import type { AttemptEnd } from "../../ports/executor.js";
import type { DecideShared, SharedTask } from "../../ports/shared-tasks.js";
import type { StoredTask } from "../../ports/task-store.js";
import {
	beginShared,
	cancelShared,
	deferShared,
	endShared,
	loseShared,
	strandShared,
} from "./decide-shared.js";

const MEMBER = { host: "one", home: "home", boot: "boot" };
const random = () => 0;

const TASK: StoredTask = {
	...{ taskId: "t", planId: "p", correlationId: "c", name: "root", alone: true, agentId: "p:a" },
	...{ action: "go", status: "queued", attempts: 0, timeoutMs: 1_000, idempotent: true },
	...{ priority: 0, dependsOn: [], released: true, running: null, next: null, error: null },
	...{ reason: "accepted", idempotencyKey: null, fingerprint: null, replayOf: null, letter: null },
	...{ createdAtMs: 0, endedAtMs: null, retry: { ...DEFAULT_RETRY, maxAttempts: 100, jitter: 0 } },
};

const SHARED: SharedTask = {
	...{ task: TASK, runner: null, ticket: 1, permit: null, takeovers: 0 },
	...{ blockedSinceMs: null, cancelReason: null },
};

/** A task with the circuit of its agent, to which changes are made one after another. */
function createRow(shared = SHARED, circuit: BreakerState = NEW_BREAKER) {
	const row = { shared, circuit, running: 0, atMs: 1_000 };
	return Object.assign(row, {
		apply(decide: DecideShared) {
			const writes = decide(row);
			if (writes !== null) row.shared = writes.shared;
			if (writes?.circuit !== undefined) row.circuit = writes.circuit;
			return writes;
		},
	});
}

const begin = (ticket: number, runId: string) => beginShared(MEMBER, ticket, runId, 4);
const lose = (runId: string) =>
	loseShared(runId, "host one was lost", undefined, DEFAULT_BREAKER, random);
const succeeded: AttemptEnd = { outcome: { ok: true, result: 1 }, log: "" };

describe("the start of an attempt", () => {
	test("is recorded with its host, once per ticket", () => {
		const row = createRow();
		expect(row.apply(begin(1, "r1"))?.events.map(({ data }) => data)).toMatchObject([
			{ to: "dispatched", host: "one" },
			{ to: "in_progress", host: "one" },
		]);
		expect(row.shared).toMatchObject({ runner: MEMBER, task: { host: "one", attempts: 1 } });
		expect(row.apply(begin(1, "r2"))).toBeNull();
		// Its own, whose answer was lost.
		expect(row.apply(begin(1, "r1"))).toMatchObject({ events: [] });
		expect(row.shared.task.attempts).toBe(1);
	});

	test("waits while enough attempts of its agent run in the cluster (T10)", () => {
		const row = createRow();
		row.running = 4;
		expect(row.apply(begin(1, "r1"))).toMatchObject({ waits: true });
		expect(row.shared).toBe(SHARED);
	});

	test("waits for an open circuit with a new place in the queue, and not longer than its deadline", () => {
		const openUntil = { steadyMs: 1_000_000_000, wallMs: 1_000_000_000 };
		const row = createRow(SHARED, { ...NEW_BREAKER, circuit: "open", generation: 1, openUntil });
		expect(row.apply(begin(1, "r1"))).toMatchObject({ queueAfterMs: 10_000 });
		expect(row.shared).toMatchObject({ ticket: 2, blockedSinceMs: 1_000 });
		row.atMs = 10_000_000;
		row.apply(begin(2, "r2"));
		expect(row.shared.task).toMatchObject({
			status: "dead_lettered",
			error: { code: "agent_unavailable" },
		});
	});
});

describe("a task whose host is lost", () => {
	test("is retried if it is idempotent, and a late answer changes nothing (T7)", () => {
		const row = createRow();
		row.apply(begin(1, "r1"));
		expect(row.apply(lose("r1"))).toMatchObject({ attempt: { n: 1, host: "one" } });
		expect(row.shared).toMatchObject({ ticket: 2, takeovers: 1, runner: null });
		expect(row.shared.task.status).toBe("retried");
		expect(row.apply(endShared("r1", succeeded, DEFAULT_BREAKER, random))).toBeNull();
	});

	test("is left to the operator if it is not", () => {
		const row = createRow({ ...SHARED, task: { ...TASK, idempotent: false } });
		row.apply(begin(1, "r1"));
		row.apply(lose("r1"));
		expect(row.shared.task.status).toBe("dead_lettered");
		expect(row.shared.task.reason).toContain("the operator decides");
	});

	test("ten times is dead-lettered, although attempts are left", () => {
		const row = createRow();
		for (let n = 1; n <= 10; n++) {
			expect(row.shared.task.status).toBe(n === 1 ? "queued" : "retried");
			row.apply(begin(row.shared.ticket, `r${n}`));
			row.apply(lose(`r${n}`));
		}
		expect(row.shared.task).toMatchObject({ status: "dead_lettered", attempts: 10 });
		expect(row.shared.task.reason).toContain("10 hosts were lost");
	});

	test("ten times before an attempt is dead-lettered untried", () => {
		const row = createRow();
		for (let n = 1; n <= 10; n++) row.apply(strandShared(row.shared.ticket));
		expect(row.shared.task).toMatchObject({ status: "dead_lettered", attempts: 0 });
		expect(row.shared.task.reason).toContain("10 hosts were lost");
	});

	test("after it was cancelled is cancelled", () => {
		const row = createRow();
		row.apply(begin(1, "r1"));
		expect(row.apply(cancelShared("by the operator"))?.events).toEqual([]);
		expect(row.shared.cancelReason).toBe("by the operator");
		row.apply(lose("r1"));
		expect(row.shared.task.status).toBe("cancelled");
	});
});

describe("an earlier ticket", () => {
	test("changes nothing", () => {
		const row = createRow();
		row.apply(deferShared(1, 500));
		expect(row.shared.ticket).toBe(2);
		for (const decide of [begin(1, "r1"), deferShared(1, 0), strandShared(1)]) {
			expect(row.apply(decide)).toBeNull();
		}
	});
});

test("a probe that is cancelled between two attempts returns its permit (B3)", () => {
	const row = createRow(SHARED, { ...NEW_BREAKER, circuit: "half_open", generation: 2 });
	row.apply(begin(1, "r1"));
	expect(row.circuit.probing).toBe(true);
	const failed: AttemptEnd = {
		outcome: { ok: false, error: "io", reason: "io", retryAfterMs: null },
		log: "",
	};
	row.apply(endShared("r1", failed, DEFAULT_BREAKER, random));
	expect(row.shared).toMatchObject({ permit: { probe: true }, task: { status: "retried" } });
	row.apply(cancelShared("by the operator"));
	expect(row.circuit.probing).toBe(false);
	expect(row.shared.task.status).toBe("cancelled");
});
