/** The scripted backend meets the guarantees of every backend; otherwise tests that use it would prove nothing. */

import { describe, expect, test } from "vitest";
import type { Backend, StartRequest } from "../../src/ports/backend.js";
import {
	type BackendBehaviour,
	type BackendWorld,
	runOf,
} from "../../src/testing/conformance/backend-world.js";
import {
	backendConformance,
	createManualClock,
	createScriptedBackend,
	type ScriptedLife,
} from "../../src/testing/index.js";
import { runBackendSuite } from "./backend-suite.js";

const LIFE_MS = 50;

function lifeOf(behaviour: BackendBehaviour): Partial<ScriptedLife> {
	switch (behaviour.type) {
		case "exits":
			return { livesMs: behaviour.when === undefined ? LIFE_MS : null, code: behaviour.code };
		case "dies":
			return {
				livesMs: behaviour.when === undefined ? LIFE_MS : null,
				code: null,
				signal: behaviour.signal,
			};
		case "ignores-sigterm":
			return { ignoresSignals: true };
		case "is-missing":
			return { startFailure: { permanent: true, detail: "no such program" } };
		case "echoes-input":
			return { marksPastes: behaviour.marksPastes ?? false };
		case "lives-on":
			return {};
	}
}

function createRequest(number: number): StartRequest {
	return {
		runId: `run-${number}`,
		agentId: `project:agent-${number}`,
		argv: ["program"],
		cwd: "/",
		env: {},
		terminal: true,
		size: { columns: 80, rows: 24 },
		logDir: "/nowhere",
		limits: { memoryBytes: null, cpuPercent: null, pids: null },
	};
}

async function createScriptedWorld(): Promise<BackendWorld> {
	const clock = createManualClock({ steadyMs: 0, wallMs: 1_000_000 });
	const host = createScriptedBackend({ clock });
	const triggered = new Map<string, Partial<ScriptedLife>>();
	let requests = 0;
	return {
		connect: () => host.reconnect(),
		async connectBlind() {
			host.setUnknown("a test");
			return host.reconnect();
		},
		request(behaviour) {
			const request = createRequest(++requests);
			const life = lifeOf(behaviour);
			// A waiting run ends when the test decides.
			if ("when" in behaviour) {
				host.script(request.agentId, { ...life, livesMs: 60_000 });
				triggered.set(request.runId, life);
			} else host.script(request.agentId, life);
			return request;
		},
		trigger(runId) {
			if (triggered.delete(runId)) clock.advance(60_000);
		},
		received: (runId) => host.typed(runId),
		async pass() {
			for (const { runId } of host.started) {
				const found = await host.recover(runId, null);
				if (found.state === "running" && (await host.screen(found.handle)).text === "") {
					host.print(runId, "ready");
				}
			}
			clock.advance(10);
		},
		nowMs: () => clock.now().wallMs,
		close: () => host.close(),
	};
}

runBackendSuite("scripted", createScriptedWorld);

test.each<[bug: string, found: string, broken: (backend: Backend) => Partial<Backend>]>([
	[
		"reports each exit twice",
		"once, with its time",
		(backend) => ({
			onExit: (report) =>
				backend.onExit((exit) => {
					report(exit);
					report(exit);
				}),
		}),
	],
	["never kills", "kills a run", () => ({ kill: async () => ({ ok: true, killed: [] }) })],
	[
		"calls an unknown run gone",
		"not as stopped",
		(backend) => ({
			recover: async (...run) => {
				const found = await backend.recover(...run);
				return found.state === "unknown" ? { state: "gone", rebooted: false } : found;
			},
		}),
	],
	[
		"drops a byte",
		"byte for byte",
		(backend) => ({ input: (handle, bytes) => backend.input(handle, bytes.subarray(1)) }),
	],
])("the suite finds a backend that %s", async (_, found, broken) => {
	const createWorld = async (): Promise<BackendWorld> => {
		const world = await createScriptedWorld();
		const wrap = (backend: Backend): Backend =>
			Object.assign(Object.create(backend), broken(backend));
		return {
			...world,
			patienceMs: 200,
			connect: () => wrap(world.connect()),
			connectBlind: async () => wrap(await world.connectBlind()),
		};
	};
	const failed: string[] = [];
	for (const { name, run } of backendConformance(createWorld, { runs: 3, strings: 5 })) {
		await run().catch(() => failed.push(name));
	}
	expect(failed.join("\n")).toContain(found);
});

describe("a script", () => {
	test("gives an agent one life after the other, and repeats the last", async () => {
		const clock = createManualClock();
		const backend = createScriptedBackend({ clock });
		backend.script("project:agent-1", { livesMs: 10, code: 1 }, { livesMs: 20, code: 2 });
		const codes: (number | null)[] = [];
		backend.onExit(({ code }) => codes.push(code));
		for (const run of ["a", "b", "c"]) {
			await backend.start({ ...createRequest(1), runId: run });
			clock.advance(20);
		}
		expect(codes).toEqual([1, 2, 2]);
	});

	test("can have a run that cannot be killed, and a terminal that is watched", async () => {
		const backend = createScriptedBackend({ clock: createManualClock() });
		backend.script("project:agent-1", { unkillable: "it is stuck in the kernel" });
		const started = await backend.start(createRequest(1));
		if (!started.ok) throw new Error(started.failure.detail);
		const seen: string[] = [];
		backend.print("run-1", "before");
		const viewer = {
			onSnapshot: (bytes: Uint8Array) => seen.push(`snapshot ${bytes}`),
			onOutput: (bytes: Uint8Array) => seen.push(`output ${bytes}`),
			onClose: (reason: string) => seen.push(reason),
		};
		const connection = await backend.attach(started.handle, viewer, null);
		backend.print("run-1", "after");
		connection.write(Buffer.from("typed"));
		expect(await backend.kill(runOf(started.handle))).toEqual({
			ok: false,
			reason: "it is stuck in the kernel",
		});
		await backend.signal(started.handle, "SIGKILL");
		expect(seen.map((line) => line.split(" ")[0])).toEqual(["snapshot", "output", "the"]);
		expect(Buffer.from(backend.typed("run-1")).toString()).toBe("typed");
	});
});
