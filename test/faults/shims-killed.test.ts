/**
 * Shims, the starter and the daemon are killed with -9 at random. The ledger that the agents write decides: no agent runs
 * twice, an agent whose own shim was not killed keeps its process, each exit is recorded once, and nothing is left.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { createRandom } from "../../src/testing/random.js";
import { createFleetHome, eventually, type FleetHome, lockedAgent } from "./fleet-home.js";

const AGENTS = Number(process.env["REEVE_FAULT_AGENTS"] ?? 20);
const ROUNDS = Number(process.env["REEVE_FAULT_ROUNDS"] ?? 12);
const SEED = Number(process.env["REEVE_FAULT_SEED"] ?? Date.now());

let home: FleetHome;
afterEach(() => home.close(), 120_000);

interface Seen {
	readonly pid: number;
	readonly argv: readonly string[];
}

/** Starter and shims of this home. */
function nativeProcesses(): { readonly starters: Seen[]; readonly shims: Map<string, number> } {
	const folder = join(home.env["REEVE_HOME"] ?? "", "run", "pty");
	const starters = readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.flatMap((name): Seen[] => {
			try {
				const argv = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
				return argv[1] === "starter" && argv[2] === folder ? [{ pid: Number(name), argv }] : [];
			} catch {
				return [];
			}
		});
	const shims = new Map(
		readdirSync(join(folder, "agents")).flatMap((name) => {
			const text = readFileSync(join(folder, "agents", name, "record"), "utf8");
			const { shim, state } = JSON.parse(text) as { shim: number; state: string };
			return state === "started" ? [[name, shim] as const] : [];
		}),
	);
	return { starters, shims };
}

function killIfThere(pid: number | undefined): boolean {
	try {
		if (pid !== undefined) process.kill(pid, "SIGKILL");
		return pid !== undefined;
	} catch {
		return false;
	}
}

test.skipIf(process.platform !== "linux")(
	`${ROUNDS} kills among ${AGENTS} agents, seed ${SEED} (S1, S8, S17)`,
	{ timeout: 120_000 + ROUNDS * 30_000 },
	async () => {
		home = createFleetHome();
		const random = createRandom(SEED);
		const policy =
			", backend: pty, crash_policy: { transient_delay: 50ms, flap_threshold: 10, budget: { exits: 1000, within: 1h } }";
		const names = Array.from({ length: AGENTS }, (_, number) => `a${number}`);
		home.writeFleet(names.map((name) => lockedAgent(home.folder, name, policy)).join("\n"));
		await home.must("up");
		const isWhole = async () => {
			const agents = await home.ps().catch(() => []);
			return agents.length === AGENTS && agents.every(({ process: state }) => state === "running");
		};
		await eventually(isWhole, "every agent runs");
		for (let round = 0; round < ROUNDS; round++) {
			const before = new Map((await home.ps()).map(({ id, pid }) => [id, pid]));
			const { starters, shims } = nativeProcesses();
			const victims = new Set<string>();
			for (let count = random.int(0, 3); count > 0; count--) {
				const [name, shim] = [...shims][random.int(0, shims.size - 1)] ?? [];
				if (name !== undefined && killIfThere(shim)) victims.add(name.replace(".", ":"));
			}
			if (random.chance(0.4)) killIfThere(starters[0]?.pid);
			if (random.chance(0.4)) {
				await home.killDaemon();
				await sleep(random.int(0, 200));
				await home.must("daemon", "start");
			}
			await eventually(isWhole, `every agent runs after round ${round}`, 120_000);
			await eventually(async () => {
				const now = await home.ps();
				return now.every(({ id, pid }) => victims.has(id) === (pid !== before.get(id)));
			}, `in round ${round} those whose shim was killed have a new process, and no other`);
		}
		await eventually(
			() => home.ledger().filter((line) => line.startsWith("start")).length >= AGENTS,
			"the ledger has every agent",
		);
		expect(home.ledger().filter((line) => line.startsWith("DUPLICATE"))).toEqual([]);
		const events = (await home.must("events", "--json"))
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line) as { type: string; run_id?: string });
		const exits = events.filter(({ type }) => type === "agent.exited").map(({ run_id }) => run_id);
		expect(new Set(exits).size).toBe(exits.length);
		await home.must("down", "--all");
		const { shims } = nativeProcesses();
		expect([...shims]).toEqual([]);
	},
);
