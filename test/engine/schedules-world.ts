/**
 * A fleet with schedules, in memory: call agents that write a ledger, and a daemon that can be killed at any moment.
 */

import { onTestFinished } from "vitest";
import { parseFleet } from "../../src/config/parse-fleet.js";
import type { FleetSpec } from "../../src/config/spec.js";
import type { AttemptEnd, Executor } from "../../src/ports/executor.js";
import type { StoredSlot } from "../../src/ports/schedule-store.js";
import { createDaemonWorld, type DaemonWorld } from "./daemon-world.js";
import type { ScriptedSessions } from "./scripted-sessions.js";

export interface SchedulesWorld {
	readonly world: DaemonWorld;
	/** Every request that an agent has received, by its task: the agents' own record. */
	readonly ledger: Map<string, { readonly payload: unknown }>;
	/** How long a call takes; null if it never ends by itself. */
	callMs: number | null;
	/** Starts the services that the daemon starts after its recovery. */
	start(): Promise<void>;
	pass(ms: number): Promise<void>;
	killAndRestart(awayMs?: number): Promise<void>;
	/** The decided slots of a schedule, oldest first. */
	slots(id: string): readonly StoredSlot[];
}

export async function createSchedulesWorld(
	random: () => number = () => 0,
	sessions?: ScriptedSessions,
): Promise<SchedulesWorld> {
	const ledger: SchedulesWorld["ledger"] = new Map();
	const executor: Executor = {
		call: ({ request }, signal) =>
			new Promise<AttemptEnd>((resolve) => {
				// The id of an attempt is that of its task and its number.
				const id = request.request_id.replace(/\.\d+$/, "");
				ledger.set(id, { payload: request.payload });
				signal.addEventListener("abort", () => resolve({ outcome: null, log: "" }));
				const end = () => resolve({ outcome: { ok: true, result: null }, log: "" });
				if (it.callMs === 0) end();
				else if (it.callMs !== null) world.clock.schedule(it.callMs, end);
			}),
		startWorker: () => Promise.reject(new Error("no workers here")),
		endLeft: async () => [],
		close: async () => {},
	};
	const world = await createDaemonWorld(random, executor, sessions);
	let stop = new AbortController();
	const it: SchedulesWorld = {
		...{ world, ledger, callMs: 0 },
		async start() {
			await world.engine.tasks.recover();
			stop = new AbortController();
			void world.engine.schedules.run(stop.signal);
			await world.settle();
		},
		pass: (ms) => world.pass(ms),
		async killAndRestart(awayMs = 0) {
			await world.killAndRestart(awayMs);
			await it.start();
		},
		slots: (id) => world.store.readSlots(id, 1e6).toReversed(),
	};
	await it.start();
	onTestFinished(() => stop.abort());
	return it;
}

/** A fleet with the agents `tool` (call) and `web` (session), and the lines under `schedules:`. */
export function fleetWith(schedules: string, file = "reeve.yaml"): FleetSpec {
	const indented = schedules.trim().replace(/^/gm, "      ");
	const text = `version: 1
projects:
  p:
    agents:
      tool: { kind: call, command: [tool], retry: { jitter: 0 }, timeout: 10m }
      web: { command: [web], crash_policy: { transient_delay: 1s } }
    schedules:
${indented}
`;
	const parsed = parseFleet(text, file, { env: {}, homeDir: "/", baseDir: "/" });
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.fleet;
}
