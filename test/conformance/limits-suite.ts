/** Limits on memory and processes, on any backend with real processes. */

import { readFileSync, statSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { describeLimits, type LimitSupport } from "../../src/host/cgroup.js";
import { MEMORY_WITHOUT_GROUP } from "../../src/host/process-limits.js";
import { readProcessTable } from "../../src/host/process-table.js";
import type { Backend, StartRequest } from "../../src/ports/backend.js";
import {
	type BackendWorld,
	eventually,
	listen,
	runOf,
	startOk,
} from "../../src/testing/conformance/backend-world.js";
import { CLOSE_MS_MAX, TEST_MS_MAX } from "./world.js";

export interface LimitedWorld extends BackendWorld {
	connect(): Backend;
	run(argv: readonly [string, ...string[]], more?: Partial<StartRequest>): StartRequest;
	log(runId: string): Buffer;
}

const NONE = { memoryBytes: null, cpuPercent: null, pids: null };
const node = process.execPath;
const GREEDY = "const kept = []; for (;;) kept.push(Buffer.alloc(1e7, 1));";

export function limitsSuite(create: (options: { groups: boolean }) => Promise<LimitedWorld>): void {
	groupLimitsSuite(() => create({ groups: true }), describeLimits());
	processLimitsSuite(() => create({ groups: false }));
}

/** `support` describes the limits that this backend can enforce on the host. */
export function groupLimitsSuite(
	create: () => Promise<LimitedWorld>,
	support: readonly LimitSupport[],
): void {
	const unavailable = support.filter(({ available }) => !available);
	const why = unavailable.map(({ reason }) => reason)[0] ?? "";
	const grouped = { timeout: TEST_MS_MAX, skip: unavailable.length > 0, meta: { skipReason: why } };
	describe("limits by control groups", grouped, () => {
		let world: LimitedWorld;
		beforeEach(async () => {
			world = await create();
		});
		afterEach(() => world.close(), CLOSE_MS_MAX);

		test("report an exit by out of memory with that cause", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const request = world.run([node, "-e", GREEDY], { limits: { ...NONE, memoryBytes: 150e6 } });
			await startOk(backend, request);
			expect(await eventually(() => exits.first(request.runId))).toMatchObject({
				signal: "SIGKILL",
				outOfMemory: true,
			});
		});

		test("contain a fork bomb", async () => {
			const backend = world.connect();
			const bomb = `const { spawn } = require("node:child_process");
			setInterval(() => spawn("sleep", ["100"], { detached: true }).on("error", () => {}), 1);`;
			const request = world.run([node, "-e", bomb], { limits: { ...NONE, pids: 60 } });
			const handle = await startOk(backend, request);
			const members = () => {
				const table = readProcessTable();
				return table.entries.filter(
					({ ended, pid }) => !ended && table.runIdOf(pid) === handle.runId,
				);
			};
			await eventually(() => members().length >= 30);
			expect(members().length).toBeLessThanOrEqual(60);
			expect(await backend.kill(runOf(handle))).toMatchObject({ ok: true });
			expect(members()).toEqual([]);
		});

		test("leave no group behind", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const request = world.run(["true"], {
				limits: { memoryBytes: 1e9, cpuPercent: 50, pids: 100 },
			});
			const handle = await startOk(backend, request);
			const groups = String(handle.data["groups"]).split(":");
			expect(groups.length).toBeGreaterThan(0);
			expect(handle.data["missingLimits"]).toBeUndefined();
			await eventually(() => exits.first(request.runId));
			// Until its exit is stored, the group shows whether memory ran out.
			await backend.forget(request.runId);
			for (const path of groups) {
				await eventually(() => statSync(path, { throwIfNoEntry: false }) === undefined);
			}
		});
	});
}

function processLimitsSuite(create: () => Promise<LimitedWorld>): void {
	const single = {
		timeout: TEST_MS_MAX,
		skip: MEMORY_WITHOUT_GROUP === null,
		meta: { skipReason: "the host cannot limit the memory of a process" },
	};
	describe("limits without control groups", single, () => {
		let world: LimitedWorld;
		beforeEach(async () => {
			world = await create();
		});
		afterEach(() => world.close());

		test("limit the memory of each process, and report unsupported limits", async () => {
			const backend = world.connect();
			const exits = listen(backend);
			const grow =
				"echo begins; x=aaaaaaaa; while [ ${#x} -lt 1000000000 ]; do x=$x$x; done; echo grown";
			const request = world.run(["sh", "-c", grow], {
				limits: { memoryBytes: 100e6, cpuPercent: 50, pids: 60 },
			});
			const handle = await startOk(backend, request);
			const reported = String(handle.data["missingLimits"]);
			expect(reported).toMatch(/no common limit on memory: .*RLIMIT_DATA/);
			expect(reported).toMatch(/no limit on pids: .*all processes of the user/);
			expect(reported).toMatch(/no limit on cpu: /);
			expect((await eventually(() => exits.first(request.runId))).code).not.toBe(0);
			expect(world.log(request.runId).toString()).not.toContain("grown");
		});

		test("belong to the agent: its process is the program itself, with the reported pid", async () => {
			const backend = world.connect();
			const request = world.run(["sleep", "1000"], { limits: { ...NONE, memoryBytes: 400e6 } });
			const { process } = await startOk(backend, request);
			await eventually(() =>
				readFileSync(`/proc/${process.pid}/cmdline`, "utf8").startsWith("sleep"),
			);
			expect(readFileSync(`/proc/${process.pid}/limits`, "utf8")).toMatch(
				/Max data size +400000000 +400000000/,
			);
		});
	});
}
