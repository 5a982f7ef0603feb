import { describe, expect, test } from "vitest";
import type { WorkerSpec } from "../../src/config/spec.js";
import type { ActionRequest } from "../../src/core/outcome.js";
import { createManualClock } from "../../src/testing/manual-clock.js";
import { createScriptedWorkers, type ScriptedWorkers } from "../support/scripted-workers.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";

interface Pool {
	readonly world: DaemonWorld;
	readonly workers: ScriptedWorkers;
	/** Sends a request and returns its outcome later. */
	ask(id: string, timeoutMs?: number): { readonly signal: AbortController; outcome: unknown };
}

async function createPool(keys: string): Promise<Pool> {
	let world: DaemonWorld | null = null;
	const clock = createManualClock();
	const workers = createScriptedWorkers(() => world?.clock ?? clock);
	world = await createDaemonWorld(() => 0, workers);
	const { engine } = world;
	await engine.up(fleetOf(`db: { kind: worker, command: [db], ${keys} }`), "*");
	await world.settle();
	return {
		...{ world, workers },
		ask(id, timeoutMs = 30_000) {
			const spec = world?.engine.calls.specOf("p:db") as WorkerSpec;
			const request = { request_id: id, action: "go" } as ActionRequest;
			const signal = new AbortController();
			const asked = { signal, outcome: undefined as unknown };
			const order = { spec, runId: `run-of-${id}`, request, timeoutMs };
			void world?.engine.calls.perform(order, signal.signal).then((end) => {
				asked.outcome = end.outcome;
			});
			return asked;
		},
	};
}

const answered = { outcome: { ok: true, result: "done" }, log: "" } as const;

describe("a worker agent", () => {
	test("starts the minimum number of processes, and serves requests", async () => {
		const { world, workers, ask } = await createPool("workers: { min: 2, max: 3 }");
		await world.pass(1);
		expect(workers.alive).toHaveLength(2);
		expect(world.engine.get("p:db")).toMatchObject({
			...{ process: "running", processes: 2, ready: true },
			run: { handle: { process: { pid: 1_001 }, backend: "worker" } },
		});
		const asked = ask("a");
		await world.settle();
		workers.alive[0]?.answer("a", answered);
		await world.settle();
		expect(asked.outcome).toEqual({ ok: true, result: "done" });
	});

	test("gets another process while all are busy, up to its maximum, and loses it when idle", async () => {
		const { world, workers, ask } = await createPool("workers: { min: 1, max: 3, idle: 30s }");
		for (let n = 0; n < 10; n++) {
			ask(`r${n}`);
			await world.pass(1_000);
		}
		expect(workers.peak.count).toBe(3);
		expect(workers.alive.map(({ pending }) => pending).toSorted()).toEqual([3, 3, 4]);
		for (const worker of [...workers.alive]) {
			for (const id of [...worker.held.keys()]) worker.answer(id, answered);
		}
		await world.pass(29_000);
		expect(workers.alive).toHaveLength(3);
		await world.pass(5_000);
		expect(workers.alive).toHaveLength(1);
		const { agent, lastExit } = world.engine.get("p:db");
		expect([agent.crash.policy, agent.crash.exits, lastExit?.kind]).toEqual([
			...["healthy", [], "planned"],
		]);
	});

	test("with a minimum of 0 starts the first process on request", async () => {
		const { world, workers, ask } = await createPool("workers: { min: 0, max: 1 }");
		expect(workers.started).toEqual([]);
		ask("a");
		await world.settle();
		expect(workers.alive[0]?.pending).toBe(1);
	});

	test("that crashes is replaced after the delay of the crash policy, and halted in a loop (S16)", async () => {
		const { world, workers, ask } = await createPool("drain: { timeout: 1s }");
		for (let exits = 1; exits <= 7; exits++) {
			workers.alive[0]?.exit(1);
			await world.settle();
			expect(workers.alive).toHaveLength(0);
			for (let s = 0; s < 60 && workers.alive.length === 0; s++) await world.pass(1_000);
		}
		const { agent, process } = world.engine.get("p:db");
		expect([agent.crash.policy, process, workers.started.length]).toEqual(["halted", "stopped", 7]);
		const refused = ask("a");
		await world.settle();
		expect(refused.outcome).toMatchObject({ ok: false, error: "spawn_error" });
		await world.engine.resume("p:db");
		await world.settle();
		expect(workers.alive).toHaveLength(1);
	});

	test("whose process did not answer in time counts as failed; one that was cancelled does not", async () => {
		const { world, workers } = await createPool("drain: { timeout: 1s }");
		workers.alive[0]?.exit(137, "called_off");
		await world.settle();
		expect(workers.alive).toHaveLength(1);
		expect(world.engine.get("p:db").agent.crash.exits).toHaveLength(0);
		workers.alive[0]?.exit(137, "timed_out");
		await world.settle();
		expect(workers.alive).toHaveLength(0);
		expect(world.engine.get("p:db").agent.crash.exits).toHaveLength(1);
	});

	test("sends an undelivered request to another process", async () => {
		const { world, workers, ask } = await createPool("workers: { min: 1, max: 1 }");
		const asked = ask("a");
		await world.settle();
		const outcome = {
			ok: false,
			error: "internal",
			reason: "not given",
			retryAfterMs: null,
		} as const;
		workers.alive[0]?.answer("a", { outcome, log: "", notGiven: true });
		await world.settle();
		expect(asked.outcome).toBeUndefined();
		workers.alive[0]?.answer("a", answered);
		await world.settle();
		expect(asked.outcome).toEqual({ ok: true, result: "done" });
	});

	test("that cannot be started is halted at once, with a hint (S14)", async () => {
		const { world, workers } = await createPool("workers: { min: 0, max: 1 }");
		workers.refuse = { permanent: true, detail: "the program /nowhere does not exist" };
		const pool = world.engine.restart("p:db", { fresh: false });
		await world.settle();
		await pool;
		const spec = world.engine.calls.specOf("p:db") as WorkerSpec;
		const request = { request_id: "a" } as ActionRequest;
		const order = { spec, runId: "r", request, timeoutMs: 60_000 };
		const asked = world.engine.calls.perform(order, new AbortController().signal);
		await world.pass(1_000);
		expect((await asked).outcome).toMatchObject({ ok: false, error: "spawn_error" });
		expect(world.engine.get("p:db").agent).toMatchObject({ crash: { policy: "halted" } });
	});

	test("is stopped, and refuses requests until it is up again (S2)", async () => {
		const { world, workers, ask } = await createPool("workers: { min: 1, max: 1 }");
		const [stopped] = await world.engine.down("p:db");
		expect(stopped).toMatchObject({ id: "p:db", outcome: "graceful" });
		await world.pass(60_000);
		expect(workers.alive).toHaveLength(0);
		const refused = ask("a");
		await world.settle();
		expect(refused.outcome).toMatchObject({
			reason: "p:db is stopped: start it with `reeve up p:db`",
		});
		expect((await world.engine.down("p:db"))[0]?.outcome).toBe("already_stopped");
	});

	test("that cannot be started in time fails the request in time", async () => {
		const { world, workers, ask } = await createPool("workers: { min: 1, max: 1 }");
		for (let n = 0; n < 3; n++) {
			workers.alive[0]?.exit(1);
			await world.pass(2_500);
		}
		expect(workers.alive).toHaveLength(0);
		const asked = ask("a", 5_000);
		await world.pass(4_900);
		expect(asked.outcome).toBeUndefined();
		await world.pass(200);
		expect(asked.outcome).toMatchObject({ ok: false, error: "timeout" });
		const cancelled = ask("b");
		await world.settle();
		cancelled.signal.abort();
		await world.settle();
		expect(cancelled.outcome).toBeNull();
	});

	test("of a dead daemon is killed and started again, and no counter changes (S13)", async () => {
		const { world, workers } = await createPool("workers: { min: 2, max: 2 }");
		const before = [...workers.started];
		await world.killAndRestart(1_000);
		await world.settle();
		expect(workers.endedLeft.toSorted()).toEqual(before.toSorted());
		expect(workers.alive).toHaveLength(2);
		expect(workers.peak.count).toBe(2);
		const { agent } = world.engine.get("p:db");
		expect([agent.restarts, agent.crash.policy, agent.crash.exits]).toEqual([0, "healthy", []]);
		expect(world.errors).toEqual([]);
	});

	test("that becomes a session on reload stops its processes", async () => {
		const { world, workers } = await createPool("workers: { min: 1, max: 1 }");
		await world.engine.reload(fleetOf("db: { command: [db] }"));
		await world.settle();
		expect(workers.alive).toHaveLength(0);
		expect(world.engine.get("p:db")).toMatchObject({ process: "running" });
		expect(world.engine.calls.specOf("p:db")?.kind).toBe("session");
	});

	test("is not blamed for processes that end with its daemon", async () => {
		const { world, workers } = await createPool("workers: { min: 1, max: 1 }");
		world.engine.close();
		workers.alive[0]?.exit(137, "stopped");
		await world.settle();
		await world.killAndRestart();
		const { agent } = world.engine.get("p:db");
		expect([agent.crash.exits, agent.restarts, workers.alive.length]).toEqual([[], 0, 1]);
		expect(world.errors).toEqual([]);
	});

	test("takes new settings with new processes", async () => {
		const { world, workers } = await createPool("workers: { min: 2, max: 2 }");
		const before = [...workers.started];
		const changed = "db: { kind: worker, command: [db, again], workers: { min: 2, max: 2 } }";
		await world.engine.reload(fleetOf(changed));
		await world.settle();
		expect(workers.alive.map(({ runId }) => runId).some((id) => before.includes(id))).toBe(false);
		expect([workers.alive.length, workers.peak.count]).toEqual([2, 2]);
	});
});
