/**
 * Five agents on one account, a limit that is extended twice, and a daemon that is killed while all
 * wait. The service is a file that the agents share: it refuses the first three requests of any agent.
 * The agents' ledgers contain all requests with their times.
 */

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAGGER_MS } from "../../../src/core/account.js";
import type { EventMap, EventType } from "../../../src/core/events.js";
import { createMatrixFleet, type MatrixFleet, until } from "./matrix-fleet.js";

const NAMES = ["a", "b", "c", "d", "e"];
const REFUSED = 3;
const WAIT_MS = 100_000;
let fleet: MatrixFleet;

beforeAll(async () => {
	fleet = createMatrixFleet((folder) => {
		const refusal = {
			...{ times: REFUSED, counted_in: join(folder, "refused") },
			limit: { text: "You've hit your session limit · resets {at}", resets_in: "2s" },
		};
		const script = { turns: [refusal, { takes: "500ms", reply: "done" }] };
		const agent = { adapter: "claude", account: "work", script };
		return Object.fromEntries(NAMES.map((name) => [name, agent]));
	});
	await fleet.up();
	await fleet.isReady(...NAMES);
}, 120_000);
afterAll(() => fleet.close(), 60_000);

interface Reported<Type extends EventType> {
	readonly atMs: number;
	readonly agent: string | undefined;
	readonly data: EventMap[Type];
}

async function reported<Type extends EventType>(type: Type): Promise<readonly Reported<Type>[]> {
	const events = (await fleet.events()).filter((event) => event.type === type);
	return events.map(({ at, agent, data }) => ({
		...{ atMs: Date.parse(at), agent: agent?.replace("p:", ""), data: data as EventMap[Type] },
	}));
}

/** The requests to the service with agent and time, in order. */
const requests = () =>
	NAMES.flatMap((name) =>
		fleet
			.ledgerOf(name)
			.filter((line) => line.hook_event_name === "UserPromptSubmit")
			.map(({ at }) => ({ name, atMs: at })),
	).sort((a, b) => a.atMs - b.atMs);

/** The messages by agent. A message that hit the limit was delivered, so its agent gets another one. */
const given = new Map<string, readonly string[]>();
async function give(name = ""): Promise<void> {
	const texts = given.get(name) ?? [];
	const text = `text ${texts.length + 1} for ${name}`;
	given.set(name, [...texts, text]);
	await fleet.send(name, text);
}

const limits = (times: number) =>
	until(
		async () => (await reported("account.limited")).length >= times,
		`the limit is met ${times} times`,
		WAIT_MS,
	);

test("a limit that moves twice is probed once each time, and then the other agents follow one after the other", async () => {
	await give("a");
	await limits(1);
	// One more than it needs for the first, on whose screen the text about the limit stays.
	for (const name of [...NAMES, "a"]) await give(name);
	await limits(2);
	// In the middle of a wait, which the next daemon continues.
	await fleet.killDaemon();
	await fleet.must("daemon", "start");
	await give(requests()[1]?.name);
	await limits(REFUSED);
	await give(requests()[2]?.name);
	const all = [...given.values()].flat().length;
	await until(() => requests().length >= all, "all texts have arrived", WAIT_MS);
	await fleet.isReady(...NAMES);

	const limited = await reported("account.limited");
	expect(limited).toHaveLength(REFUSED);
	const probes = await reported("account.probing");
	expect(probes).toHaveLength(REFUSED);
	const asked = requests();
	expect(asked).toHaveLength(all);

	// After each limit one agent sent a request, the probe, and not before the reported end.
	for (const [n, { data }] of limited.entries()) {
		const untilMs = Date.parse(data.until ?? "");
		expect(probes[n]?.atMs).toBeGreaterThanOrEqual(untilMs);
		expect(asked[n + 1]?.name).toBe(probes[n]?.agent);
		expect(asked[n + 1]?.atMs).toBeGreaterThanOrEqual(untilMs);
	}
	// The last probe succeeded. No other agent has sent a request by then.
	const [released, ...more] = await reported("account.released");
	expect(more).toEqual([]);
	const releasedAtMs = released?.atMs ?? 0;
	expect(asked.filter(({ atMs }) => atMs < releasedAtMs)).toHaveLength(REFUSED + 1);
	// Then the others, at their distance.
	const probe = probes.at(-1)?.agent;
	const after = asked.slice(REFUSED + 1);
	const firsts = NAMES.filter((name) => name !== probe).map(
		(name) => after.find((each) => each.name === name)?.atMs ?? 0,
	);
	for (const [n, atMs] of firsts.sort((a, b) => a - b).entries()) {
		expect(atMs).toBeGreaterThanOrEqual(releasedAtMs + (n + 1) * STAGGER_MS);
	}
}, 240_000);

test("messages sent meanwhile were delivered once, and no agent was restarted", async () => {
	for (const name of NAMES) {
		expect(fleet.prompts(name)).toEqual(given.get(name));
		expect(await fleet.agent(name)).toMatchObject({ restarts: 0, last_exit: null });
	}
});
