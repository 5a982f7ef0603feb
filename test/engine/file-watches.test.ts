/** Restarts because of changed files, in memory and on a manual clock. */

import { describe, expect, test } from "vitest";
import { createManualClock } from "../../src/testing/manual-clock.js";
import type { ScriptedLife } from "../../src/testing/scripted-run.js";
import { createScriptedWorkers } from "../support/scripted-workers.js";
import { createDaemonWorld, fleetOf } from "./daemon-world.js";

const AGENT = "web: { command: [web], watch: [src], drain: { timeout: 5s } }";

/** It exits only when the time of its drain is over. */
const STUBBORN = { ignoresSignals: true };
const CRASHES = { livesMs: 5_000, code: 1 };

async function start(agent = AGENT, ...lives: readonly Partial<ScriptedLife>[]) {
	const world = await createDaemonWorld();
	world.backend.script("p:web", ...lives, {});
	await world.engine.up(fleetOf(agent), "*");
	await world.pass(2_000);
	const { store } = world;
	return {
		world,
		view: () => world.engine.get("p:web"),
		change: (...files: string[]) => {
			for (const file of files) world.watchedFiles.get("p:web")?.onChange(file);
		},
		events: (...types: string[]) =>
			store.events.filter(({ type }) => types.includes(type)).map(({ data }) => data),
	};
}

describe("a change of a watched file", () => {
	test("restarts the agent once the changes have stopped, with the file in the reason", async () => {
		const { world, view, change, events } = await start();
		expect(world.watchedFiles.get("p:web")?.paths).toEqual(["/src"]);
		const first = view().run?.runId;
		for (let count = 0; count < 20; count++) {
			change(`src/${count}.js`);
			await world.pass(500);
		}
		expect(view().run?.runId).toBe(first);
		await world.pass(2_000);
		expect(view()).toMatchObject({ process: "running", agent: { restarts: 0 } });
		expect(view().run?.runId).not.toBe(first);
		expect(view().lastExit).toMatchObject({ kind: "planned", askedBy: "reeve" });
		expect(view().lastExit?.reason).toMatch(
			/requested by reeve: not counted \(src\/0\.js, src\/1\.js, .* and others changed\)$/,
		);
		expect(events("agent.files_changed")).toEqual([
			{ files: [0, 1, 2, 3, 4].map((each) => `src/${each}.js`), more: true },
		]);
		expect(view().fileWatch).toMatchObject({ folders: 1, tooMany: false, problem: null });
		await world.pass(60_000);
		expect(events("agent.started")).toHaveLength(2);
	});

	test("has a name that acts on no terminal", async () => {
		const { world, view, change } = await start();
		change("src/\u001b[31mred\nline.js");
		await world.pass(3_000);
		expect(view().fileWatch?.files).toEqual([expect.stringMatching(/^src\/.*red.*line\.js$/)]);
		expect(JSON.stringify([view().fileWatch, view().lastExit])).not.toMatch(/\\u001b|\\n/);
	});

	test("that comes while the agent restarts leads to one more restart", async () => {
		const { world, change, events } = await start(AGENT, STUBBORN);
		change("src/a.js");
		await world.pass(1_500);
		change("src/b.js", "src/c.js");
		await world.pass(30_000);
		expect(events("agent.files_changed")).toEqual([
			{ files: ["src/a.js"], more: false },
			{ files: ["src/b.js", "src/c.js"], more: false },
		]);
		expect(events("agent.started")).toHaveLength(3);
	});

	test("starts an agent at once that waits for its restart after a crash", async () => {
		const { world, view, change } = await start(
			"web: { command: [web], watch: [src], crash_policy: { transient_delay: 10m } }",
			CRASHES,
		);
		await world.pass(5_000);
		expect(view()).toMatchObject({ process: "stopped", nextStartAtMs: expect.any(Number) });
		change("src/a.js");
		await world.pass(3_000);
		expect(view()).toMatchObject({ process: "running", nextStartAtMs: null });
	});

	test("does not start a halted agent, nor one that was taken down", async () => {
		const { world, view, change } = await start(
			"web: { command: [web], watch: [src], crash_policy: { on_failure: stop } }",
			CRASHES,
		);
		await world.pass(5_000);
		change("src/a.js");
		await world.pass(5_000);
		expect(view()).toMatchObject({ process: "stopped", agent: { crash: { policy: "halted" } } });
		await world.engine.resume("p:web");
		await world.pass(1_000);
		change("src/a.js");
		await world.engine.down("*");
		expect(world.watchedFiles.size).toBe(0);
		await world.pass(60_000);
		expect(view()).toMatchObject({ process: "stopped", agent: { desired: "down" } });
	});

	test("is restarted at most five times a minute, and the loop is reported once", async () => {
		const { world, view, change, events } = await start();
		// The agent writes into its own folder after every start.
		for (let second = 0; second < 55; second++) {
			change("src/own.log");
			await world.pass(250);
			await world.pass(1_250);
		}
		expect(events("agent.watch_loop").length).toBe(1);
		expect(events("agent.watch_loop")[0]).toEqual({
			...{ restarts: 5, within_ms: 60_000, files: ["src/own.log"] },
		});
		const restarts = events("agent.files_changed").length;
		expect(restarts).toBeGreaterThanOrEqual(6);
		expect(restarts).toBeLessThanOrEqual(10);
		await world.pass(120_000);
		expect(view()).toMatchObject({ process: "running", fileWatch: { tooMany: false } });
	});

	test("is finished by the next daemon if the daemon dies during the restart", async () => {
		const { world, view, change } = await start(AGENT, STUBBORN);
		const first = view().run?.runId;
		change("src/a.js");
		await world.pass(1_500);
		await world.killAndRestart(500);
		await world.pass(20_000);
		expect(view().process).toBe("running");
		expect(view().run?.runId).not.toBe(first);
		expect(view().lastExit?.reason).toMatch(/\(src\/a\.js changed\)$/);
		expect(world.watchedFiles.has("p:web")).toBe(true);
	});
});

test("all processes of a worker agent are replaced after a change", async () => {
	const clock = createManualClock();
	let current = clock;
	const workers = createScriptedWorkers(() => current);
	const world = await createDaemonWorld(() => 0, workers);
	current = world.clock;
	await world.engine.up(
		fleetOf("web: { kind: worker, command: [web], watch: [src], workers: { min: 2, max: 2 } }"),
		"*",
	);
	await world.pass(2_000);
	const before = world.store.events.filter(({ type }) => type === "agent.started").length;
	expect(before).toBe(2);
	world.watchedFiles.get("p:web")?.onChange("src/a.js");
	await world.pass(5_000);
	const { store } = world;
	expect(store.events.filter(({ type }) => type === "agent.started")).toHaveLength(4);
	const exits = store.readExits("p:web", 10);
	expect(exits.map(({ kind }) => kind)).toEqual(["planned", "planned"]);
	expect(exits[0]?.reason).toMatch(/src\/a\.js changed/);
});

test("a new list of files is watched after a reload, and none after its removal", async () => {
	const { world } = await start();
	await world.engine.reload(fleetOf("web: { command: [web], watch: [lib, conf.json] }"));
	await world.pass(5_000);
	expect(world.watchedFiles.get("p:web")?.paths).toEqual(["/lib", "/conf.json"]);
	await world.engine.reload(fleetOf("web: { command: [web] }"));
	await world.pass(5_000);
	expect(world.watchedFiles.size).toBe(0);
});
