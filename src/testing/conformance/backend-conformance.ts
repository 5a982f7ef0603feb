/** The guarantees of every backend (`ports/backend`), scripted or real. */

import assert from "node:assert/strict";
import type { Backend } from "../../ports/backend.js";
import { createRandom } from "../random.js";
import {
	type BackendWorld,
	type DeadlySignal,
	eventually,
	listen,
	runOf,
	startOk,
} from "./backend-world.js";
import { assertHas, type ConformanceTest, testsIn } from "./conformance-test.js";

/** The size of the suite. */
export interface BackendConformanceOptions {
	/** How many runs are held at once; 50 by default. */
	readonly runs?: number;
	/** How many random strings are typed; 300 by default. */
	readonly strings?: number;
}

/** Tests for an implementation of `Backend`. Run each with any test runner; allow two minutes for each. */
export function backendConformance(
	createWorld: () => Promise<BackendWorld>,
	{ runs = 50, strings = 300 }: BackendConformanceOptions = {},
): readonly ConformanceTest[] {
	return testsIn(createWorld, {
		...EXITS,
		...RUNS,
		...RECOVERY,
		...INPUT,
		[`types ${strings} random strings byte for byte`]: (world) => typesStrings(world, strings),
		[`holds ${runs} runs at once and reports each exit`]: (world) => holdsRuns(world, runs),
	});
}

type Bodies = Readonly<Record<string, (world: BackendWorld) => Promise<void>>>;

const soonIn =
	(world: BackendWorld) =>
	<T>(look: () => T | Promise<T>) =>
		eventually(look, {
			pass: () => world.pass(),
			...(world.patienceMs === undefined ? {} : { patienceMs: world.patienceMs }),
		});

const EXITS: Bodies = {
	...Object.fromEntries(
		[0, 3, 255].map((code) => [
			`reports an exit with code ${code} once, with its time (S8)`,
			(world: BackendWorld) => reportsExit(world, code),
		]),
	),
	...Object.fromEntries(
		(["SIGSEGV", "SIGKILL"] as const).map((signal) => [
			`reports a death by ${signal}`,
			(world: BackendWorld) => reportsDeath(world, signal),
		]),
	),
};

async function reportsExit(world: BackendWorld, code: number): Promise<void> {
	const backend = world.connect();
	const exits = listen(backend);
	const request = world.request({ type: "exits", code });
	const startedMs = world.nowMs();
	const handle = await startOk(backend, request);
	const exit = await soonIn(world)(() => exits.first(request.runId));
	assertHas(exit, { runId: request.runId, code, signal: null, outOfMemory: false });
	assert.ok(exit.atMs >= startedMs && exit.atMs <= world.nowMs(), `wrong time ${exit.atMs}`);
	assert.equal(await backend.isRunning(handle), false);
	await world.pass();
	assert.equal(exits.of(request.runId).length, 1);
}

async function reportsDeath(world: BackendWorld, signal: DeadlySignal): Promise<void> {
	const backend = world.connect();
	const exits = listen(backend);
	const request = world.request({ type: "dies", signal });
	await startOk(backend, request);
	assertHas(await soonIn(world)(() => exits.first(request.runId)), { code: null, signal });
}

const RUNS: Bodies = {
	async "returns a handle that can be stored"(world) {
		const backend = world.connect();
		const request = world.request({ type: "lives-on" });
		const handle = await startOk(backend, request);
		assertHas(handle, { backend: backend.name, runId: request.runId });
		const stored = JSON.parse(JSON.stringify(handle)) as typeof handle;
		assert.deepEqual(stored, handle);
		assert.equal(await backend.isRunning(stored), true);
		await assertKilled(backend, stored);
		assert.equal(await backend.isRunning(stored), false);
	},

	async "starts nothing for the id of a run that is alive (S1)"(world) {
		const backend = world.connect();
		const request = world.request({ type: "lives-on" });
		const handles = await Promise.all([
			startOk(backend, request),
			startOk(backend, request),
			startOk(world.connect(), request),
		]);
		handles.push(await startOk(backend, request));
		assert.equal(new Set(handles.map((handle) => handle.process.pid)).size, 1);
	},

	async "reports a missing program as a permanent failure (S14)"(world) {
		const backend = world.connect();
		const exits = listen(backend);
		const request = world.request({ type: "is-missing" });
		const result = await backend.start(request);
		assert.ok(!result.ok && result.failure.permanent, JSON.stringify(result));
		await world.pass();
		assert.deepEqual(exits.all, []);
		const found = await backend.recover(request.runId, null);
		assert.deepEqual(found, { state: "gone", rebooted: false });
	},

	async "sends a signal to the agent"(world) {
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.request({ type: "lives-on" }));
		await backend.signal(handle, "SIGTERM");
		const exit = await soonIn(world)(() => exits.first(handle.runId));
		assertHas(exit, { code: null, signal: "SIGTERM" });
		// A signal to an agent that is gone reaches no process.
		await backend.signal(handle, "SIGKILL");
	},

	async "kills a run that ignores SIGTERM (S11)"(world) {
		const soon = soonIn(world);
		const backend = world.connect();
		const exits = listen(backend);
		const handle = await startOk(backend, world.request({ type: "ignores-sigterm" }));
		// Before that it does not ignore signals yet.
		await soon(async () => (await backend.screen(handle)).text.includes("ready"));
		await backend.signal(handle, "SIGTERM");
		for (let passes = 0; passes < 5; passes++) await world.pass();
		assert.equal(await backend.isRunning(handle), true);
		await assertKilled(backend, handle);
		assert.equal(await backend.isRunning(handle), false);
		assertHas(await soon(() => exits.first(handle.runId)), { signal: "SIGKILL" });
		await assertKilled(backend, handle);
	},
};

async function assertKilled(backend: Backend, handle: Parameters<typeof runOf>[0]): Promise<void> {
	assertHas(await backend.kill(runOf(handle)), { ok: true });
}

const RECOVERY: Bodies = {
	async "releases its runs when it is closed, and the next client finds them"(world) {
		const first = world.connect();
		const request = world.request({ type: "exits", code: 3, when: "triggered" });
		const handle = await startOk(first, request);
		await first.close();
		const second = world.connect();
		const exits = listen(second);
		const running = { state: "running", handle };
		assert.deepEqual(await second.recover(request.runId, handle), running);
		assert.deepEqual(await second.recover(request.runId, null), running);
		world.trigger(request.runId);
		assertHas(await soonIn(world)(() => exits.first(request.runId)), { code: 3 });
		assertHas(await second.recover(request.runId, handle), { state: "exited" });
		assert.equal(exits.all.length, 1);
	},

	async "reports to the next client how and when runs ended meanwhile (S8)"(world) {
		const soon = soonIn(world);
		const first = world.connect();
		const requests = [
			world.request({ type: "exits", code: 0, when: "triggered" }),
			world.request({ type: "exits", code: 3, when: "triggered" }),
			world.request({ type: "dies", signal: "SIGSEGV", when: "triggered" }),
		];
		const handles = await Promise.all(requests.map((request) => startOk(first, request)));
		await first.close();
		const beforeMs = world.nowMs();
		for (const { runId } of requests) world.trigger(runId);
		const watcher = world.connect();
		for (const handle of handles) await soon(async () => !(await watcher.isRunning(handle)));
		const afterMs = world.nowMs();
		for (let passes = 0; passes < 10; passes++) await world.pass();

		const second = world.connect();
		const exits = listen(second);
		const ends = await Promise.all(
			requests.map(({ runId }) =>
				soon(async () => {
					const found = await second.recover(runId, null);
					return found.state === "exited" && found.exit;
				}),
			),
		);
		assert.deepEqual(
			ends.map(({ code, signal }) => code ?? signal),
			[0, 3, "SIGSEGV"],
		);
		for (const { atMs } of ends) {
			// The time of the exit, not the time at which a client noticed it.
			assert.ok(atMs >= beforeMs && atMs <= afterMs + 1_000, `wrong time ${atMs}`);
		}
		assert.deepEqual(exits.all, []);
	},

	async "reports a run that never existed as gone"(world) {
		const found = await world.connect().recover("never-was", null);
		assert.deepEqual(found, { state: "gone", rebooted: false });
	},

	async "reports a run that it cannot see as unknown, not as stopped"(world) {
		const request = world.request({ type: "lives-on" });
		const handle = await startOk(world.connect(), request);
		const blind = await world.connectBlind();
		assertHas(await blind.recover(request.runId, null), { state: "unknown" });
		assert.notEqual((await blind.recover(request.runId, handle)).state, "gone");
	},
};

const INPUT: Bodies = {
	"pastes without markers if the program did not ask for them": (world) => pastes(world, false),
	"pastes with markers if the program asked for them": (world) => pastes(world, true),
};

async function pastes(world: BackendWorld, marksPastes: boolean): Promise<void> {
	const soon = soonIn(world);
	const backend = world.connect();
	const request = world.request({ type: "echoes-input", marksPastes });
	const handle = await startOk(backend, request);
	await soon(() => world.received(request.runId) !== null);
	// The program asks for markers before it prints this.
	if (request.argv.length > 1) {
		await soon(async () => (await backend.screen(handle)).text.includes("ready"));
	}
	const text = `it's "two"\nlines; #{x} \\n ä ${"long ".repeat(2_000)}`;
	await backend.paste(handle, text);
	const expected = Buffer.from(marksPastes ? `\u001b[200~${text}\u001b[201~` : text);
	await soon(() => (world.received(request.runId)?.length ?? 0) >= expected.length);
	assert.equal(Buffer.from(world.received(request.runId) ?? []).toString(), String(expected));
}

async function typesStrings(world: BackendWorld, count: number): Promise<void> {
	const soon = soonIn(world);
	const backend = world.connect();
	const request = world.request({ type: "echoes-input" });
	const handle = await startOk(backend, request);
	await soon(() => world.received(request.runId) !== null);
	const random = createRandom(7);
	const strings = Array.from({ length: count }, () => {
		const length = random.chance(0.05) ? random.int(1_000, 9_000) : random.int(1, 60);
		return Buffer.from(Array.from({ length }, () => random.int(0, 255)));
	});
	for (const string of strings) await backend.input(handle, string);
	const expected = Buffer.concat(strings);
	await soon(() => (world.received(request.runId)?.length ?? 0) >= expected.length);
	assert.equal(Buffer.compare(Buffer.from(world.received(request.runId) ?? []), expected), 0);
}

async function holdsRuns(world: BackendWorld, count: number): Promise<void> {
	const backend = world.connect();
	const exits = listen(backend);
	const requests = Array.from({ length: count }, (_, number) =>
		world.request({ type: "exits", code: number, when: "triggered" }),
	);
	const handles = await Promise.all(requests.map((request) => startOk(backend, request)));
	assert.equal(new Set(handles.map(({ process: { pid } }) => pid)).size, count);
	for (const { runId } of requests) world.trigger(runId);
	await soonIn(world)(() => exits.all.length >= count);
	assert.deepEqual(
		requests.map(({ runId }) => exits.of(runId).map(({ code }) => code)),
		requests.map((_, number) => [number]),
	);
}
