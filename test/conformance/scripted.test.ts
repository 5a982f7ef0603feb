/** The scripted backend keeps what every backend promises, or tests that use it would prove nothing. */

import { describe, expect, test } from "vitest";
import type { StartRequest } from "../../src/ports/backend.js";
import {
	createManualClock,
	createScriptedBackend,
	type ScriptedLife,
} from "../../src/testing/index.js";
import { runBackendSuite } from "./backend-suite.js";
import { type Behaviour, runOf, type World } from "./world.js";

const LIFE_MS = 50;

function lifeOf(behaviour: Behaviour): Partial<ScriptedLife> {
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

async function createScriptedWorld(): Promise<World> {
	const clock = createManualClock({ steadyMs: 0, wallMs: 1_000_000 });
	const host = createScriptedBackend({ clock });
	const triggered = new Map<string, Partial<ScriptedLife>>();
	let requests = 0;
	return {
		connect: () => host.reconnect(),
		async connectBlind() {
			host.cannotTell("a test");
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
				if (found.state === "running" && (await host.screen(found.handle)) === "") {
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
