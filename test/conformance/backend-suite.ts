/** The guarantees of every backend, scripted or real: one suite for all of them. */

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRandom } from "../../src/testing/random.js";
import {
	CLOSE_MS_MAX,
	eventually,
	listen,
	runOf,
	startOk,
	TEST_MS_MAX,
	type World,
} from "./world.js";

/** `REEVE_INPUT_STRINGS=10000` types that many strings. */
const INPUT_STRINGS = Number(process.env["REEVE_INPUT_STRINGS"] ?? 300);

/** A machine that is emulated takes minutes for 50. */
const RUNS_AT_ONCE = Number(process.env["REEVE_RUNS_AT_ONCE"] ?? 50);

export function runBackendSuite(
	name: string,
	createWorld: () => Promise<World>,
	/** How many runs at once; fewer where each costs more. */
	many = RUNS_AT_ONCE,
): void {
	describe(`backend ${name}`, { timeout: TEST_MS_MAX }, () => {
		let world: World;
		beforeEach(async () => {
			world = await createWorld();
		});
		afterEach(() => world.close(), CLOSE_MS_MAX);
		const soon = <T>(look: () => T | Promise<T>) => eventually(look, { pass: () => world.pass() });

		test.each([0, 3, 255])(
			"reports an exit with code %d once, with its time (S8)",
			async (code) => {
				const backend = world.connect();
				const exits = listen(backend);
				const request = world.request({ type: "exits", code });
				const startedMs = world.nowMs();
				const handle = await startOk(backend, request);
				const exit = await soon(() => exits.first(request.runId));
				expect(exit).toMatchObject({
					runId: request.runId,
					code,
					signal: null,
					outOfMemory: false,
				});
				expect(exit.atMs).toBeGreaterThanOrEqual(startedMs);
				expect(exit.atMs).toBeLessThanOrEqual(world.nowMs());
				expect(await backend.isRunning(handle)).toBe(false);
				await world.pass();
				expect(exits.of(request.runId)).toHaveLength(1);
			},
		);

		test.each(["SIGSEGV", "SIGKILL"] as const)("reports a death by %s", async (signal) => {
			const backend = world.connect();
			const exits = listen(backend);
			const request = world.request({ type: "dies", signal });
			await startOk(backend, request);
			const exit = await soon(() => exits.first(request.runId));
			expect(exit).toMatchObject({ code: null, signal });
		});

		test("gives a handle that survives being stored", async () => {
			const backend = world.connect();
			const request = world.request({ type: "lives-on" });
			const handle = await startOk(backend, request);
			expect(handle).toMatchObject({ backend: backend.name, runId: request.runId });
			const stored = JSON.parse(JSON.stringify(handle)) as typeof handle;
			expect(stored).toEqual(handle);
			expect(await backend.isRunning(stored)).toBe(true);
			expect(await backend.kill(runOf(stored))).toMatchObject({ ok: true });
			expect(await backend.isRunning(stored)).toBe(false);
		});

		test("starts nothing for the id of a run that is alive (S1)", async () => {
			const backend = world.connect();
			const request = world.request({ type: "lives-on" });
			const handles = await Promise.all([
				startOk(backend, request),
				startOk(backend, request),
				startOk(world.connect(), request),
			]);
			handles.push(await startOk(backend, request));
			expect(new Set(handles.map((handle) => handle.process.pid)).size).toBe(1);
		});

		test("says that a program which is missing cannot be started, ever (S14)", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const request = world.request({ type: "is-missing" });
			const result = await backend.start(request);
			expect(result).toMatchObject({ ok: false, failure: { permanent: true } });
			await world.pass();
			expect(exits.all).toEqual([]);
			expect(await backend.recover(request.runId, null)).toEqual({
				state: "gone",
				rebooted: false,
			});
		});

		test("sends a signal to the agent", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const handle = await startOk(backend, world.request({ type: "lives-on" }));
			await backend.signal(handle, "SIGTERM");
			const exit = await soon(() => exits.first(handle.runId));
			expect(exit).toMatchObject({ code: null, signal: "SIGTERM" });
			// And to no process once it is gone.
			await backend.signal(handle, "SIGKILL");
		});

		test("ends with kill what ignores SIGTERM (S11)", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const request = world.request({ type: "ignores-sigterm" });
			const handle = await startOk(backend, request);
			// Signals only count once they are ignored.
			await soon(async () => (await backend.screen(handle)).includes("ready"));
			await backend.signal(handle, "SIGTERM");
			for (let looks = 0; looks < 5; looks++) await world.pass();
			expect(await backend.isRunning(handle)).toBe(true);
			expect(await backend.kill(runOf(handle))).toMatchObject({ ok: true });
			expect(await backend.isRunning(handle)).toBe(false);
			expect(await soon(() => exits.first(handle.runId))).toMatchObject({ signal: "SIGKILL" });
			expect(await backend.kill(runOf(handle))).toMatchObject({ ok: true });
		});

		test("releases its runs when it is closed, and the next client finds them", async () => {
			const first = world.connect();
			const request = world.request({ type: "exits", code: 3, when: "triggered" });
			const handle = await startOk(first, request);
			await first.close();
			const second = world.connect();
			const exits = listen(second);
			const recovered = await second.recover(request.runId, handle);
			expect(recovered).toEqual({ state: "running", handle });
			expect(await second.recover(request.runId, null)).toEqual({ state: "running", handle });
			world.trigger(request.runId);
			expect(await soon(() => exits.first(request.runId))).toMatchObject({ code: 3 });
			expect(await second.recover(request.runId, handle)).toMatchObject({ state: "exited" });
			expect(exits.all).toHaveLength(1);
		});

		test("reports to the next client how and when runs ended meanwhile (S8)", async () => {
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
			for (let looks = 0; looks < 10; looks++) await world.pass();

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
			expect(ends).toMatchObject([
				{ code: 0, signal: null },
				{ code: 3, signal: null },
				{ code: null, signal: "SIGSEGV" },
			]);
			for (const { atMs } of ends) {
				expect(atMs).toBeGreaterThanOrEqual(beforeMs);
				// The detection time, not the time without a client.
				expect(atMs).toBeLessThanOrEqual(afterMs + 1_000);
			}
			expect(exits.all).toEqual([]);
		});

		test("says of a run that never was that it is gone", async () => {
			const found = await world.connect().recover("never-was", null);
			expect(found).toEqual({ state: "gone", rebooted: false });
		});

		test("does not take for stopped what it cannot see", async () => {
			const backend = world.connect();
			const request = world.request({ type: "lives-on" });
			const handle = await startOk(backend, request);
			const blind = await world.connectBlind();
			const found = await blind.recover(request.runId, null);
			expect(found).toMatchObject({ state: "unknown" });
			expect(await blind.recover(request.runId, handle)).not.toMatchObject({ state: "gone" });
		});

		test(`types ${INPUT_STRINGS} random strings byte for byte`, async () => {
			const backend = world.connect();
			const request = world.request({ type: "echoes-input" });
			const handle = await startOk(backend, request);
			await soon(() => world.received(request.runId) !== null);
			const random = createRandom(7);
			const strings = Array.from({ length: INPUT_STRINGS }, () => {
				const length = random.chance(0.05) ? random.int(1_000, 9_000) : random.int(1, 60);
				return Buffer.from(Array.from({ length }, () => random.int(0, 255)));
			});
			for (const string of strings) await backend.input(handle, string);
			const expected = Buffer.concat(strings);
			await soon(() => (world.received(request.runId)?.length ?? 0) >= expected.length);
			expect(Buffer.compare(Buffer.from(world.received(request.runId) ?? []), expected)).toBe(0);
		});

		test.each([false, true])(
			"pastes with markers only where the program asked for them: %s",
			async (marksPastes) => {
				const backend = world.connect();
				const request = world.request({ type: "echoes-input", marksPastes });
				const handle = await startOk(backend, request);
				await soon(() => world.received(request.runId) !== null);
				// Requested state is printed before this.
				if (request.argv.length > 1) {
					await soon(async () => (await backend.screen(handle)).includes("ready"));
				}
				const text = `it's "two"\nlines; #{x} \\n ä ${"long ".repeat(2_000)}`;
				await backend.paste(handle, text);
				const expected = Buffer.from(marksPastes ? `\u001b[200~${text}\u001b[201~` : text);
				await soon(() => (world.received(request.runId)?.length ?? 0) >= expected.length);
				expect(Buffer.from(world.received(request.runId) ?? []).toString()).toBe(String(expected));
			},
		);

		test(`holds ${many} runs at once and reports each exit`, async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const requests = Array.from({ length: many }, (_, number) =>
				world.request({ type: "exits", code: number, when: "triggered" }),
			);
			const handles = await Promise.all(requests.map((request) => startOk(backend, request)));
			expect(new Set(handles.map(({ process: { pid } }) => pid)).size).toBe(many);
			for (const { runId } of requests) world.trigger(runId);
			await soon(() => exits.all.length >= many);
			expect(requests.map(({ runId }) => exits.of(runId).map(({ code }) => code))).toEqual(
				requests.map((_, number) => [number]),
			);
		});
	});
}
