/** Agents that may run on several hosts, as the engine of one of them treats them. */

import { beforeEach, describe, expect, test } from "vitest";
import { parseFleet } from "../../src/config/parse-fleet.js";
import { noticeOf } from "../../src/core/notice.js";
import { renderAgent } from "../../src/http/agent-json.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions } from "./scripted-sessions.js";

const FLEET = fleetOf(
	"a: { command: [x], placement: { on_lost: replace }, drain: { timeout: 5s } }\nb: { command: [x] }",
);
const DEADLINE = { atBootMs: 9_000, graceMs: 3_000 };

let world: DaemonWorld;
beforeEach(async () => {
	world = await createDaemonWorld();
});

const agent = () => world.engine.get("p:a");
const starts = () => world.backend.started.filter(({ agentId }) => agentId === "p:a");

test("S1: it starts when this host has its lease, with its deadline; others need none", async () => {
	const up = world.engine.up(FLEET, "*");
	await world.pass(1_000);
	expect(await up).toMatchObject([
		{ id: "p:a", outcome: "waiting" },
		{ id: "p:b", outcome: "started" },
	]);
	expect(starts()).toEqual([]);
	expect(agent()).toMatchObject({ process: "stopped", placement: { state: "elsewhere" } });
	const circuit = world.engine.tasks.views()("p:a");
	const shown = renderAgent(agent(), circuit, { host: "here", nowMs: 0 });
	expect(shown).toMatchObject({ reason: "runs on there", activity: "unknown" });
	expect(shown.status.state).toBe("waits_for_dependency");
	world.leases.grant("p:a", DEADLINE);
	await world.settle();
	expect(starts()).toMatchObject([{ deadline: DEADLINE }]);
	expect(world.leases.wanted).toEqual([["p:a", true]]);
	world.leases.extend("p:a", { atBootMs: 12_000, graceMs: 3_000 });
	expect(world.backend.deadline(agent().run?.runId ?? "")?.atBootMs).toBe(12_000);
});

test("when its lease is lost it is stopped, which counts as no failure, and waits for the next one", async () => {
	void world.engine.up(FLEET, "*");
	world.leases.grant("p:a", DEADLINE);
	await world.pass(1_000);
	for (let times = 0; times < 3; times++) world.leases.revoke("p:a", 3_000, "it is over");
	await world.pass(10_000);
	expect(agent()).toMatchObject({ process: "stopped", run: null });
	expect(agent().lastExit).toMatchObject({ askedBy: "reeve" });
	expect(agent().lastExit?.reason).toContain("it is over");
	expect(agent().agent.crash.policy).toBe("healthy");
	expect(starts()).toHaveLength(1);
	world.leases.grant("p:a", DEADLINE);
	await world.settle();
	expect(starts()).toHaveLength(2);
	expect(agent().process).toBe("running");
});

test("a lease that is lost while the start is prepared starts nothing, and is no failed start", async () => {
	const sessions = createScriptedSessions();
	const { prepare } = sessions;
	let isSlow = true;
	Object.assign(sessions, {
		prepare: async (...args: Parameters<typeof prepare>) => {
			if (isSlow) world.leases.forget("p:a");
			return prepare(...args);
		},
	});
	world = await createDaemonWorld(undefined, undefined, sessions);
	void world.engine.up(FLEET, "p:a");
	world.leases.grant("p:a", DEADLINE);
	await world.pass(1_000);
	expect(starts()).toEqual([]);
	expect(agent()).toMatchObject({ run: null, lastExit: null });
	isSlow = false;
	world.leases.grant("p:a", DEADLINE);
	await world.settle();
	expect(starts()).toHaveLength(1);
});

test("`down` takes it down on whichever host it runs", async () => {
	void world.engine.up(FLEET, "*");
	await world.pass(1_000);
	const stopping = world.engine.down("p:a");
	await world.pass(1_000);
	expect(await stopping).toMatchObject([
		{ outcome: "already_stopped", reason: "it runs on there, which stops it" },
	]);
	expect(world.leases.wanted).toEqual([
		["p:a", true],
		["p:a", false],
	]);
	world.leases.grant("p:a", DEADLINE);
	await world.settle();
	expect(starts()).toEqual([]);
});

test("a lost host is a question: people are notified by one host, and the answer goes to the database", async () => {
	void world.engine.up(FLEET, "*");
	await world.pass(1_000);
	expect(agent().question).toBeNull();
	world.leases.lose("p:a", true);
	await world.settle();
	const question = agent().question;
	expect(question).toMatchObject({ kind: "lost_host", agent: "p:a", askedAtMs: 1_000 });
	expect(question?.choices.map(({ label }) => label)).toEqual([
		"Wait for there",
		"Start it on another host",
	]);
	const circuit = world.engine.tasks.views()("p:a");
	const shown = renderAgent(agent(), circuit, { host: "here", nowMs: 0 });
	expect(shown.status).toMatchObject({ state: "asks_you", needs_you: true });
	const notices = () => world.store.events.map(noticeOf).filter((each) => each !== null);
	expect(notices()).toMatchObject([{ kind: "question", question: { id: question?.id } }]);
	const by = { by: "owner", who: "0", correlationId: "1" } as const;
	const { people } = world.engine;
	await expect(people.answer("p:a", "lost-1", { choice: "replace" }, by)).rejects.toThrow(
		"no longer open",
	);
	await expect(people.answer("p:a", "lost-2", { text: "replace" }, by)).rejects.toThrow("choice");
	await expect(people.answer("p:a", "lost-2", { choice: 3 }, by)).rejects.toThrow("no choice 3");
	expect(await people.answer("p:a", "lost-2", { choice: "replace" }, by)).toEqual({
		label: "Start it on another host",
		outcome: null,
	});
	expect(world.leases.answers).toEqual([["p:a", 2, "replace"]]);
	world.leases.find("p:a");
	await world.settle();
	expect(agent().question).toBeNull();
	world.leases.lose("p:a", false);
	await world.settle();
	expect(notices()).toHaveLength(1);
	const types = world.store.events.map(({ type }) => type).filter((type) => /question/.test(type));
	expect(types).toEqual([
		...["agent.question_asked", "agent.question_answered", "agent.question_gone"],
		"agent.question_asked",
	]);
});

test("a daemon that stops all its agents takes none down on other hosts", async () => {
	void world.engine.up(FLEET, "*");
	world.leases.grant("p:a", DEADLINE);
	await world.pass(1_000);
	const stopping = world.engine.downHere();
	await world.pass(10_000);
	await stopping;
	expect(agent()).toMatchObject({ process: "stopped", agent: { desired: "down" } });
	expect(world.leases.wanted).toEqual([["p:a", true]]);
});

test("a wish that was accepted while the database was away outlives the daemon, until the database has it", async () => {
	void world.engine.up(FLEET, "p:a");
	await world.pass(1_000);
	world.leases.announce("p:a");
	await world.engine.down("p:a");
	await world.killAndRestart();
	expect(world.leases.wanted).toEqual([
		["p:a", true],
		["p:a", false],
		["p:a", false],
	]);
	world.leases.announce("p:a");
	await world.settle();
	await world.killAndRestart();
	expect(world.leases.wanted).toHaveLength(3);
	expect(world.store.readEffects("wish")).toEqual([]);
});

test("a wish that the database gets late does not remove a later one", async () => {
	void world.engine.up(FLEET, "p:a");
	await world.pass(1_000);
	const down = world.engine.down("p:a");
	world.leases.announce("p:a");
	await down;
	await world.killAndRestart();
	expect(world.leases.wanted.at(-1)).toEqual(["p:a", false]);
	expect(world.leases.wanted).toHaveLength(3);
});

describe("a message", () => {
	beforeEach(async () => {
		void world.engine.up(FLEET, "*");
		await world.pass(1_000);
	});

	test("is refused for an agent that runs on another host, which the error names", async () => {
		for (const use of [
			() => world.engine.terminals.send("p:a", "hello", true),
			() => world.engine.terminals.screen("p:a"),
		]) {
			await expect(use()).rejects.toMatchObject({
				code: "not_on_this_host",
				message: "p:a runs on there",
				hint: expect.stringContaining("`there/p:a`"),
			});
		}
		expect(world.engine.inbox.list()).toEqual([]);
	});

	test("that waits for an agent which another host takes over is undeliverable, and not kept forever", async () => {
		world.leases.grant("p:a", DEADLINE);
		await world.settle();
		await world.engine.inbox.accept("p:a", "hello");
		world.leases.revoke("p:a", 3_000, "there has its lease");
		await world.pass(10_000);
		expect(agent().run).toBeNull();
		world.leases.revoke("p:a", 3_000, "there has its lease");
		await world.settle();
		expect(world.engine.inbox.list()).toMatchObject([
			{ phase: "dead", reason: "accepted on this host, and p:a runs on there now" },
		]);
		expect(agent().undelivered).toBe(1);
	});
});

test("a schedule does nothing on a host that does not run its agent", async () => {
	const text = `version: 1
projects:
  p:
    agents: { a: { command: [x], placement: { on_lost: replace } } }
    schedules: { s: { every: 10m, restart: a } }
`;
	const parsed = parseFleet(text, "reeve.yaml", { env: {}, homeDir: "/", baseDir: "/" });
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	void world.engine.up(parsed.fleet, "*");
	const running = new AbortController();
	const run = world.engine.schedules.run(running.signal);
	await world.pass(11 * 60_000);
	const [view] = world.engine.schedules.list();
	expect(view?.blocked).toBe("p:a runs on there");
	expect(view?.last).toMatchObject({ status: "skipped", reason: "p:a runs on there" });
	world.leases.grant("p:a", DEADLINE);
	await world.settle();
	expect(world.engine.schedules.list()[0]?.blocked).toBeNull();
	running.abort();
	await run;
});

test("`up` does not wait for a host if none is suitable", async () => {
	world.leases.setPlaceable(false);
	const up = world.engine.up(FLEET, "p:a");
	await world.pass(1_000);
	expect(await up).toMatchObject([{ id: "p:a", outcome: "waiting" }]);
});
