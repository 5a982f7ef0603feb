import { beforeEach, describe, expect, test } from "vitest";
import { DEFAULT_START_LIMIT } from "../../src/core/start-limit.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions } from "./scripted-sessions.js";

let world: DaemonWorld;
beforeEach(async () => {
	world = await createDaemonWorld();
});

const ONE = fleetOf("a: { command: [x] }");
const types = () => world.store.events.map((event) => event.type);
const view = (id = "p:a") => world.engine.get(id);
const state = (id = "p:a") => [view(id).process, view(id).agent.crash.policy];

/** Sends a request and advances the clock until the response arrives. */
async function finish<T>(promise: Promise<T>, withinMs = 60_000): Promise<T> {
	let done = false;
	const marked = promise.finally(() => {
		done = true;
	});
	await world.settle();
	for (let passed = 0; !done && passed < withinMs; passed += 250) await world.pass(250);
	return marked;
}

describe("a restart without a delay", () => {
	const AT_ONCE = fleetOf("a: { command: [x], crash_policy: { transient_delay: 0s, jitter: 0 } }");

	test("is recorded in the commit of the exit, before it is started (S8)", async () => {
		world.backend.script("p:a", { livesMs: 10_000, code: 3 }, {});
		await finish(world.engine.up(AT_ONCE, "*"));
		const recorded: unknown[] = [];
		world.store.onCommit((events) => {
			if (!events.some(({ type }) => type === "agent.exited")) return;
			const runs = world.store.readOpenRuns().map(({ runId, state }) => `${runId} ${state}`);
			recorded.push({ runs, started: world.backend.started.length });
		});
		await world.pass(10_000);
		expect(recorded).toEqual([{ runs: ["run-2 intended"], started: 1 }]);
		expect(world.backend.started.map(({ runId }) => runId)).toEqual(["run-1", "run-2"]);
		expect(view()).toMatchObject({ process: "running", agent: { restarts: 1 } });
	});

	test("does not happen if the agent was stopped (S2)", async () => {
		world.backend.script("p:a", { livesMs: 10_000, code: 3 }, {});
		await finish(world.engine.up(AT_ONCE, "*"));
		const down = world.engine.down("*");
		await finish(down);
		expect(world.backend.started).toHaveLength(1);
		expect(state()).toEqual(["stopped", "healthy"]);
	});

	test("waits for the host's start limit like any other start (S4)", async () => {
		const { burst } = DEFAULT_START_LIMIT;
		const ids = Array.from({ length: burst + 5 }, (_, n) => `a${n}`);
		const policy = "crash_policy: { transient_delay: 0s, jitter: 0 }";
		for (const id of ids) world.backend.script(`p:${id}`, { livesMs: 60_000, code: 3 }, {});
		const fleet = fleetOf(ids.map((id) => `${id}: { command: [x], ${policy} }`).join("\n"));
		await finish(world.engine.up(fleet, "*"));
		await world.pass(50_000);
		const before = world.backend.started.length;
		let most = 0;
		for (let left = 20_000; left > 0; left -= 50) {
			const known = world.backend.started.length;
			world.clock.advance(50);
			await world.settle();
			most = Math.max(most, world.backend.started.length - known);
		}
		expect(world.backend.started.length - before).toBe(ids.length);
		expect(most).toBeLessThanOrEqual(burst);
	});
});

describe("starting agents", () => {
	test("starts each once, and does not touch a running one (S1)", async () => {
		expect(await finish(world.engine.up(ONE, "*"))).toEqual([
			{ id: "p:a", outcome: "started", reason: null },
		]);
		expect(await finish(world.engine.up(ONE, "*"))).toEqual([
			{ id: "p:a", outcome: "already_running", reason: null },
		]);
		expect(world.backend.started).toHaveLength(1);
		await world.pass(1);
		expect(types()).toEqual(["agent.added", "agent.desired", "agent.started", "agent.ready"]);
	});

	test("waits until the dependencies of an agent are ready (S7)", async () => {
		const fleet = fleetOf(`a: { command: [x], depends_on: [b] }
b: { command: [x], ready: { delay: 5s } }`);
		const up = world.engine.up(fleet, "*");
		await world.pass(3_000);
		expect(view("p:a")).toMatchObject({ process: "starting", missing: ["p:b"] });
		await finish(up);
		expect(world.backend.started.map((request) => request.agentId)).toEqual(["p:b", "p:a"]);
	});

	test("that was cancelled before it started leaves a completed agent completed, with its reason", async () => {
		const fleet = fleetOf(`db: { command: [x] }
job: { command: [x], on_clean_exit: complete, depends_on: [db] }`);
		world.backend.script("p:job", { livesMs: 1_000, code: 0 });
		await finish(world.engine.up(fleet, "*"));
		await world.pass(2_000);
		const { reason } = view("p:job").agent;
		expect(reason).toMatch(/: completed$/);
		await finish(world.engine.down("p:db"));
		const again = world.engine.up(fleet, "p:job");
		await world.settle();
		expect(view("p:job")).toMatchObject({ process: "starting", missing: ["p:db"] });
		await finish(world.engine.down("p:job"));
		await again;
		expect(view("p:job").agent).toMatchObject({ desired: "down", reason });
	});

	test("spreads the starts of many over time (S4)", async () => {
		const { burst } = DEFAULT_START_LIMIT;
		const count = 3 * burst;
		const agents = Array.from({ length: count }, (_, n) => `a${n}: { command: [x] }`).join("\n");
		const up = world.engine.up(fleetOf(agents), "*");
		await world.settle();
		expect(world.backend.started.length).toBeLessThanOrEqual(burst);
		await finish(up);
		expect(world.backend.started).toHaveLength(count);
	});

	test("records a new fleet in one commit, in its order", async () => {
		const added: number[] = [];
		world.store.onCommit((events) => {
			const count = events.filter(({ type }) => type === "agent.added").length;
			if (count > 0) added.push(count);
		});
		const ids = Array.from({ length: 30 }, (_, n) => `a${n}`);
		const fleet = fleetOf(ids.map((id) => `${id}: { command: [x] }`).join("\n"));
		await finish(world.engine.up(fleet, "*"));
		expect(added).toEqual([30]);
		expect(world.engine.list().map(({ agent }) => agent.id)).toEqual(ids.map((id) => `p:${id}`));
	});

	test("halts an agent that can never start at once, with a hint (S14)", async () => {
		const startFailure = { permanent: true, detail: "no such program" };
		world.backend.script("p:a", { startFailure });
		expect(await finish(world.engine.up(ONE, "*"))).toEqual([
			{ id: "p:a", outcome: "failed", reason: null },
		]);
		expect(state()).toEqual(["stopped", "halted"]);
		expect(view().agent.reason).toContain("no such program");
	});

	test("reports unenforced limits once, not at every restart", async () => {
		const missing = "no limit on pids: not permitted";
		world.backend.script("p:a", { livesMs: 10, code: 3, missingLimits: missing });
		await finish(world.engine.up(ONE, "*"));
		await world.pass(10_000);
		expect(world.backend.started.length).toBeGreaterThan(1);
		const reported = world.store.events.filter(({ type }) => type === "agent.limits_missing");
		expect(reported).toMatchObject([{ agent: "p:a", data: { missing } }]);
	});

	test("refuses an agent that another fleet file defines", async () => {
		await finish(world.engine.up(ONE, "*"));
		const other = { ...ONE, file: "/elsewhere/reeve.yaml" };
		await expect(world.engine.up(other, "*")).rejects.toThrow("already defined in /reeve.yaml");
	});
});

describe("an agent that crashes", () => {
	test("is restarted, slowed down and halted at its 7th exit; only resume leaves that (S15, S16)", async () => {
		world.backend.script("p:a", { livesMs: 10, code: 3 });
		await finish(world.engine.up(ONE, "*"));
		await world.pass(300_000);
		expect(world.backend.started).toHaveLength(7);
		expect(state()).toEqual(["stopped", "halted"]);
		expect(await finish(world.engine.up(ONE, "*"))).toEqual([
			{ id: "p:a", outcome: "halted", reason: null },
		]);
		await world.killAndRestart(3_600_000);
		await world.pass(300_000);
		expect(state()).toEqual(["stopped", "halted"]);
		world.backend.script("p:a", {});
		await finish(world.engine.resume("p:a"));
		expect(state()).toEqual(["running", "healthy"]);
	});

	test("is healthy again once a run has lasted a whole window", async () => {
		const crash = { livesMs: 10, code: 3 };
		world.backend.script("p:a", crash, crash, crash, {});
		await finish(world.engine.up(ONE, "*"));
		await world.pass(40_000);
		expect(state()).toEqual(["running", "degraded"]);
		await world.pass(60_000);
		expect(state()).toEqual(["running", "healthy"]);
		expect(world.store.events.at(-1)).toMatchObject({
			type: "agent.policy_changed",
			data: { from: "degraded", to: "healthy", reason: "stable for a whole window" },
		});
	});

	test("keeps its planned restart across the death of the daemon", async () => {
		world.backend.script("p:a", { livesMs: 10, code: 3 }, {});
		await finish(world.engine.up(ONE, "*"));
		await world.pass(500);
		expect(view().nextStartAtMs).not.toBeNull();
		await world.killAndRestart(500);
		expect(world.backend.started).toHaveLength(1);
		await world.pass(2_000);
		expect(world.backend.started).toHaveLength(2);
	});

	test("does not wait longer because the wall clock was set back meanwhile", async () => {
		world.backend.script("p:a", { livesMs: 10, code: 3 }, {});
		await finish(world.engine.up(ONE, "*"));
		await world.pass(500);
		world.clock.stepWall(-86_400_000);
		await world.killAndRestart();
		await world.pass(2_500);
		expect(world.backend.started).toHaveLength(2);
	});
});

describe("an agent that exits on its own", () => {
	beforeEach(async () => {
		world.backend.script("p:a", { livesMs: 1_000, code: 0 }, {});
		await finish(world.engine.up(ONE, "*"));
		await world.pass(2_000);
	});

	test("waits for a person, also across the death of the daemon", async () => {
		await world.killAndRestart(60_000);
		await world.pass(60_000);
		expect(view()).toMatchObject({ process: "stopped", agent: { waiting: true, desired: "up" } });
		expect(world.backend.started).toHaveLength(1);
	});

	test("is started again, or stopped, by the answer", async () => {
		expect(await finish(world.engine.answer("p:a", "fresh"))).toBe("started");
		await expect(world.engine.answer("p:a", "fresh")).rejects.toThrow("not waiting");
	});

	test("stays down when the answer is stop", async () => {
		expect(await finish(world.engine.answer("p:a", "stop"))).toBe("stopped");
		await world.killAndRestart();
		expect(view()).toMatchObject({
			process: "stopped",
			agent: { desired: "down", waiting: false },
		});
	});
});

describe("stopping", () => {
	test("is graceful if the agent reacts, and never counts", async () => {
		await finish(world.engine.up(ONE, "*"));
		const [report] = await finish(world.engine.down("*"));
		expect(report).toMatchObject({ id: "p:a", outcome: "graceful" });
		expect(view().agent.crash.exits).toEqual([]);
		expect(view().lastExit).toMatchObject({ kind: "planned", askedBy: "operator" });
	});

	test("kills after the grace period, and not before (S12)", async () => {
		world.backend.script("p:a", { ignoresSignals: true });
		await finish(world.engine.up(ONE, "*"));
		const down = world.engine.down("*", 5_000);
		await world.pass(4_500);
		expect(view().process).toBe("stopping");
		expect(await finish(down)).toMatchObject([{ outcome: "timed_out_killed" }]);
		expect(view().lastExit?.signal).toBe("SIGKILL");
	});

	test("checks once and kills immediately without a grace period", async () => {
		world.backend.script("p:a", { ignoresSignals: true });
		await finish(world.engine.up(ONE, "*"));
		expect(await finish(world.engine.down("*", 0))).toMatchObject([
			{ outcome: "timed_out_killed", durationMs: 0 },
		]);
	});

	test("reports when it cannot be proven, and starts no replacement (S1)", async () => {
		world.backend.script("p:a", { ignoresSignals: true, unkillable: "still there" });
		await finish(world.engine.up(ONE, "*"));
		expect(await finish(world.engine.restart("*", { fresh: false, timeoutMs: 0 }))).toMatchObject([
			{ outcome: "not_proven", reason: "still there" },
		]);
		expect(world.backend.started).toHaveLength(1);
	});

	test("is persistent: a stopped agent stays down across daemons (S2)", async () => {
		await finish(world.engine.up(ONE, "*"));
		await finish(world.engine.down("*"));
		await world.killAndRestart(60_000);
		await world.pass(60_000);
		expect(world.backend.started).toHaveLength(1);
		expect(await finish(world.engine.down("*"))).toMatchObject([{ outcome: "already_stopped" }]);
	});

	test("stops dependent agents before their dependencies (S7)", async () => {
		const fleet = fleetOf("a: { command: [x] }\nb: { command: [x], depends_on: [a] }");
		world.backend.script("p:b", { ignoresSignals: true });
		await finish(world.engine.up(fleet, "*"));
		await finish(world.engine.down("p", 2_000));
		const drained = world.store.events.filter((event) => event.type === "agent.drained");
		expect(drained.map((event) => event.agent)).toEqual(["p:b", "p:a"]);
	});

	test("interrupted by the death of the daemon is completed by the next", async () => {
		world.backend.script("p:a", { ignoresSignals: true });
		await finish(world.engine.up(ONE, "*"));
		void world.engine.down("*", 10_000);
		await world.pass(1_000);
		await world.killAndRestart(1_000);
		await world.pass(15_000);
		expect(view()).toMatchObject({ process: "stopped", agent: { desired: "down" } });
		expect(world.backend.started).toHaveLength(1);
	});
});

describe("a daemon that died", () => {
	test("leaves agents running, and the next adopts them without moving a counter (S13)", async () => {
		const crash = { livesMs: 10, code: 3 };
		world.backend.script("p:a", crash, crash, crash, {});
		await finish(world.engine.up(ONE, "*"));
		await world.pass(40_000);
		const before = view();
		await world.killAndRestart(5_000);
		expect(view().run?.runId).toBe(before.run?.runId);
		expect(view().agent.crash).toEqual(before.agent.crash);
		expect(view().agent.restarts).toBe(before.agent.restarts);
		expect(types().at(-1)).toBe("agent.adopted");
	});

	test("does not make an agent ready whose condition is not met (S7, S19)", async () => {
		const fleet = fleetOf(`a: { command: [x], depends_on: [b] }
b: { command: [x], ready: { delay: 20s } }`);
		void world.engine.up(fleet, "*").catch(() => {});
		await world.pass(5_000);
		await world.killAndRestart(5_000);
		await world.pass(5_000);
		expect(view("p:b")).toMatchObject({ process: "running", ready: false });
		expect(view("p:a")).toMatchObject({ process: "starting", missing: ["p:b"] });
		await world.pass(6_000);
		expect(view("p:b")).toMatchObject({ ready: true });
		expect(view("p:a")).toMatchObject({ process: "running" });
		const ready = world.store.events.find(({ type }) => type === "agent.ready");
		expect(ready?.data).toMatchObject({ after_ms: 20_000 });
	});

	test("classifies runs that ended meanwhile once, with their true time", async () => {
		world.backend.script("p:a", { livesMs: 10_000, code: 3 }, {});
		await finish(world.engine.up(ONE, "*"));
		const startedAtMs = view().run?.handle?.startedAtMs ?? 0;
		await world.killAndRestart(60_000);
		expect(view().lastExit).toMatchObject({
			code: 3,
			class: "transient",
			uptimeMs: 10_000,
			atMs: startedAtMs + 10_000,
		});
		await world.killAndRestart();
		expect(world.store.exits.size).toBe(1);
	});

	test("does not treat an unknown run as stopped", async () => {
		await finish(world.engine.up(ONE, "*"));
		world.backend.setUnknown("permission denied");
		await world.killAndRestart();
		await world.pass(30_000);
		expect(view()).toMatchObject({ process: "unknown", agent: { reason: "permission denied" } });
		expect(world.backend.started).toHaveLength(1);
		world.backend.setUnknown(null);
		await world.pass(2_000);
		expect(view().process).toBe("running");
	});
});

describe("a start that cannot be prepared", () => {
	test("fails, is retried, and does not leave the agent starting forever", async () => {
		const sessions = createScriptedSessions();
		const { converse } = sessions;
		let problem: string | null = "ENOSPC: no space left on device, write";
		sessions.converse = (spec, intent) => {
			if (problem !== null) throw new Error(problem);
			return converse(spec, intent);
		};
		world = await createDaemonWorld(undefined, undefined, sessions);
		const [started] = await finish(world.engine.up(ONE, "*"));
		expect(started).toMatchObject({ outcome: "failed" });
		expect(view().agent.reason).toContain("ENOSPC");
		expect(world.backend.started).toHaveLength(0);
		problem = null;
		await world.pass(60_000);
		expect(view()).toMatchObject({ process: "running", agent: { crash: { policy: "healthy" } } });
		expect(world.backend.started).toHaveLength(1);
	});
});

test("up does not record new settings for a run that begins with the old ones meanwhile", async () => {
	const changed = fleetOf("a: { command: [x], args: [y] }");
	world.backend.script("p:a", { livesMs: 1_000, code: 1 }, {});
	await finish(world.engine.up(ONE, "*"));
	await world.pass(1_500);
	// The restart is due, and `up` comes while its intent is being recorded.
	world.clock.advance((view().nextStartAtMs ?? 0) - world.clock.now().wallMs);
	const started = world.engine.up(changed, "*");
	await world.pass(1_000);
	expect(await started).toMatchObject([{ outcome: "old_settings" }]);
	expect(world.engine.plan(changed).agents).toMatchObject([{ change: "change" }]);
	await finish(world.engine.reload(changed));
	expect(world.backend.started).toHaveLength(3);
	expect(world.engine.plan(changed).agents).toMatchObject([{ change: "keep" }]);
});

describe("a backend that fails to look for a run", () => {
	test("is asked again, and the run is adopted (S1)", async () => {
		await finish(world.engine.up(ONE, "*"));
		world.backend.failLookups("ENOSPC: no space left on device, write");
		await world.killAndRestart();
		await world.pass(5_000);
		expect(view()).toMatchObject({
			process: "unknown",
			agent: { reason: "ENOSPC: no space left on device, write" },
		});
		world.backend.failLookups(null);
		await world.pass(2_000);
		expect(view().process).toBe("running");
		expect(world.backend.started).toHaveLength(1);
	});

	test("does not affect the next run, when the run is stopped before the next lookup", async () => {
		await finish(world.engine.up(ONE, "*"));
		world.backend.failLookups("tmux does not answer");
		await world.killAndRestart();
		expect(view().process).toBe("unknown");
		world.backend.failLookups(null);
		await finish(world.engine.down("*"));
		expect(view().process).toBe("stopped");
		await finish(world.engine.up(ONE, "*"));
		expect(view()).toMatchObject({ process: "running", agent: { desired: "up" } });
	});
});

describe("reloading", () => {
	const before = fleetOf("a: { command: [x] }\nb: { command: [x] }\nc: { command: [x] }");
	const after = fleetOf("b: { command: [x], args: [y] }\nc: { command: [x] }\nd: { command: [x] }");

	test("plans without touching anything", async () => {
		await finish(world.engine.up(before, "*"));
		expect(world.engine.plan(after).agents).toEqual([
			{ id: "p:b", change: "change", keys: ["args"] },
			{ id: "p:c", change: "keep", keys: [] },
			{ id: "p:d", change: "add", keys: [] },
			{ id: "p:a", change: "remove", keys: [] },
		]);
		expect(world.backend.started).toHaveLength(3);
	});

	test("adds, changes and removes agents, and does not disturb unchanged ones", async () => {
		await finish(world.engine.up(before, "*"));
		const kept = view("p:c").run?.runId;
		const { agents: changes } = await finish(world.engine.reload(after));
		await world.pass(1_000);
		expect(changes.map(({ id, stopped }) => [id, stopped?.outcome ?? null])).toEqual([
			["p:b", "graceful"],
			["p:c", null],
			["p:d", null],
			["p:a", "graceful"],
		]);
		expect(world.engine.list().map(({ agent, process }) => [agent.id, process])).toEqual([
			["p:b", "running"],
			["p:c", "running"],
			["p:d", "running"],
		]);
		expect(view("p:c").run?.runId).toBe(kept);
	});

	test("leaves an agent down that was stopped while it stopped the old run (S2)", async () => {
		world.backend.script("p:b", { ignoresSignals: true });
		await finish(world.engine.up(before, "*"));
		const reloading = world.engine.reload(after);
		await world.settle();
		const down = world.engine.down("p:b");
		await world.pass(40_000);
		await Promise.all([reloading, down]);
		expect(view("p:b")).toMatchObject({ process: "stopped", agent: { desired: "down" } });
	});

	test("replaces a run that another request started with the old settings meanwhile", async () => {
		world.backend.script("p:a", { ignoresSignals: true });
		await finish(world.engine.up(before, "*"));
		// `a` leaves and takes its time, `b` changes and is stopped at once.
		const reloading = world.engine.reload(after);
		await world.pass(1_000);
		const up = world.engine.up(before, "p:b");
		await world.pass(60_000);
		await Promise.all([reloading, up]);
		const { run, process } = view("p:b");
		const started = world.backend.started.find(({ runId }) => runId === run?.runId);
		expect([process, started?.argv]).toEqual(["running", ["program", "y"]]);
		expect(world.engine.plan(after).agents.every(({ change }) => change === "keep")).toBe(true);
	});

	test("starts what it has stopped again if the new settings cannot be recorded", async () => {
		await finish(world.engine.up(before, "*"));
		world.vaultError = new Error("the disk is full");
		const refused = expect(world.engine.reload(after)).rejects.toThrow("the disk is full");
		await world.pass(5_000);
		await refused;
		await world.pass(5_000);
		expect(view("p:b")).toMatchObject({ process: "running", agent: { spec: { args: [] } } });
		world.vaultError = null;
		await finish(world.engine.reload(after));
		expect(view("p:b")).toMatchObject({ process: "running", agent: { spec: { args: ["y"] } } });
	});

	test("does not start a stopped agent", async () => {
		await finish(world.engine.up(before, "*"));
		await finish(world.engine.down("p:b"));
		await finish(world.engine.reload(after));
		await world.pass(5_000);
		expect(view("p:b").process).toBe("stopped");
	});
});

test("an unknown agent or project is reported with the known ones", async () => {
	await finish(world.engine.up(ONE, "*"));
	expect(() => world.engine.get("p:z")).toThrow("unknown agent p:z");
	await expect(world.engine.down("q")).rejects.toThrow("unknown agent or project q");
});

describe("an agent that waits for another", () => {
	test("does not prevent stopping, restarting or resuming it", async () => {
		const fleet = fleetOf(`gone: { command: [x], ready: { log: never } }
needs: { command: [x], depends_on: [gone] }`);
		const up = world.engine.up(fleet, "*");
		await world.pass(1_000);
		expect(view("p:needs").missing).toEqual(["p:gone"]);
		const resumed = world.engine.resume("p:needs");
		await world.pass(1_000);
		expect(await finish(world.engine.down("p:needs"))).toMatchObject([
			{ id: "p:needs", outcome: "already_stopped" },
		]);
		expect(await finish(resumed)).toMatchObject({ from: "healthy", released: [] });
		expect((await finish(up)).map(({ outcome }) => outcome)).toEqual(["started", "stopped"]);
		const restarted = world.engine.restart("p:needs", { fresh: false });
		await world.pass(1_000);
		expect(await finish(world.engine.down("p:needs"))).toHaveLength(1);
		expect(await finish(restarted)).toHaveLength(1);
		expect(view("p:needs").process).toBe("stopped");
	});

	test("answers a restart immediately if a dependency will not become ready", async () => {
		const fleet = fleetOf(`gone: { command: [x] }
needs: { command: [x], depends_on: [gone] }`);
		await finish(world.engine.up(fleet, "*"));
		await finish(world.engine.down("p:gone"));
		const [report] = await finish(world.engine.restart("p:needs", { fresh: false }), 5_000);
		expect(report).toMatchObject({ id: "p:needs", outcome: "graceful" });
		expect(view("p:needs")).toMatchObject({ process: "starting", missing: ["p:gone"] });
	});
});

describe("processes that an agent leaves behind", () => {
	const leftovers = () => world.store.events.filter(({ type }) => type === "agent.leftovers");

	test("get the grace period, and the successor starts when they are gone (S12, S18)", async () => {
		world.backend.script("p:a", { livesMs: 10, code: 3, leaves: [5_000] }, {});
		await finish(world.engine.up(ONE, "*"));
		await world.pass(4_000);
		expect(state()).toEqual(["stopping", "healthy"]);
		expect(world.backend.started).toHaveLength(1);
		await world.pass(2_000);
		expect(state()).toEqual(["running", "healthy"]);
		expect(leftovers()).toMatchObject([
			{ data: { processes: [{ name: "leftover" }], killed: [] } },
		]);
	});

	test("are killed when it is over, also by the next daemon (S18)", async () => {
		world.backend.script("p:a", { livesMs: 10, code: 3, leaves: [null] }, {});
		await finish(world.engine.up(ONE, "*"));
		await world.pass(5_000);
		await world.killAndRestart();
		expect(world.backend.started).toHaveLength(1);
		await world.pass(15_000);
		expect(world.backend.started).toHaveLength(2);
		expect(leftovers()).toMatchObject([{ data: { killed: [{ name: "leftover" }] } }]);
		expect(world.store.events.filter(({ type }) => type === "agent.exited")).toHaveLength(1);
	});

	test("that cannot be killed prevent the successor from starting, and up reports it (S18)", async () => {
		world.backend.script("p:a", { livesMs: 10, code: 3, leaves: [null], unkillable: "stuck" }, {});
		await finish(world.engine.up(ONE, "*"));
		await world.pass(30_000);
		expect(world.backend.started).toHaveLength(1);
		expect(await finish(world.engine.up(ONE, "*"))).toMatchObject([{ outcome: "not_gone" }]);
		expect(view().agent.reason).toContain("cannot be killed: stuck");
		const stuck = world.store.events.filter(({ type }) => type === "agent.leftovers_stuck");
		expect(stuck).toHaveLength(1);
		expect(await finish(world.engine.down("*"))).toMatchObject([{ outcome: "not_proven" }]);
	});
});
