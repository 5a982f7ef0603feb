/**
 * The real agent CLIs hibernate: messages, a killed daemon and new questions come while they sleep or fall asleep. The mock
 * API is the oracle: every prompt reaches the model in one conversation. Prints the memory that the sessions free.
 *
 * REEVE_REAL_SESSIONS=10 is the number of Claude Code sessions whose memory is measured.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CLIS, type RealCli } from "./clis.js";
import { openSession, type Session } from "./session.js";

const SESSIONS = Number(process.env["REEVE_REAL_SESSIONS"] ?? 2);
const HIBERNATE = { hibernate: { after: "5s" }, turn_retry: { max_attempts: 0 } };
/** A check that found a reason to stay awake is repeated after 30 s. */
const SLEEP_MS_MAX = 240_000;

const sleepOf = (session: Session) =>
	session.until(
		"it hibernates",
		async () => (await session.agent()).status.state === "hibernated",
		SLEEP_MS_MAX,
	);

describe.each(CLIS.map((cli) => [cli.cli, cli] as const))("%s", (name, cli: RealCli) => {
	test("sleeps and wakes in one conversation, also across a killed daemon", async () => {
		const session = await openSession(cli, HIBERNATE);
		try {
			await session.ask("say one");
			await sleepOf(session);
			const { conversation, hibernation, pid } = await session.agent();
			expect(pid).toBeNull();
			console.log(`${name} freed ${Math.round((hibernation?.freed_bytes ?? 0) / 1e6)} MB`);
			await session.ask("say two");
			await sleepOf(session);
			await session.home.killDaemon();
			await session.home.must("daemon", "start");
			expect((await session.agent()).status.state).toBe("hibernated");
			await session.ask("say three");
			// While it falls asleep.
			await sleep(4_000);
			await session.ask("say four");
			await sleepOf(session);
			expect((await session.agent()).conversation).toBe(conversation);
			const asked = ["one", "two", "three", "four"].map((each) => session.asked(`say ${each}`));
			expect(asked.map(({ length }) => length)).toEqual([1, 1, 1, 1]);
			// The last prompt came with all earlier ones.
			expect(asked[3]?.[0]?.userMessages).toBeGreaterThanOrEqual(4);
		} finally {
			await session.close();
		}
	});
});

test(`the memory of ${SESSIONS} sessions of Claude Code`, async () => {
	const [claude] = CLIS;
	let [before, asleep] = [0, 0];
	for (let n = 0; n < SESSIONS; n++) {
		const session = await openSession(claude as RealCli, HIBERNATE);
		try {
			await session.ask("say hello");
			await sleepOf(session);
			const { hibernation, resources, processes } = await session.agent();
			before += hibernation?.freed_bytes ?? 0;
			asleep += resources?.memory_bytes ?? 0;
			expect(processes).toBe(0);
		} finally {
			await session.close();
		}
	}
	const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
	console.log(`${SESSIONS} sessions: ${megabytes(before)} before, ${megabytes(asleep)} asleep`);
	expect(before / SESSIONS).toBeGreaterThan(50_000_000);
});
