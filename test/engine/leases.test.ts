/** Agents that may run on several hosts, as the engine of one of them treats them. */

import { beforeEach, expect, test } from "vitest";
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
