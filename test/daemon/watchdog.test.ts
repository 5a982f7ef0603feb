/** A daemon whose loop is blocked, and one that is only paused. Real processes. */

import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../faults/fleet-home.js";
import { type BrokenHome, CANARY, createBrokenHome } from "./broken-home.js";

let broken: BrokenHome;
afterEach(() => broken.close(), 120_000);

const WATCHDOG_MS = 3_000;

test("a blocked loop ends the process with a report, a service manager starts it again, agents keep their pids", {
	timeout: 180_000,
}, async () => {
	broken = createBrokenHome();
	const { fleet, home, status } = broken;
	writeFileSync(home.settings, JSON.stringify({ watchdog: `${WATCHDOG_MS}ms` }));
	const kept = await broken.startKept();
	fleet.writeFleet(`a: { command: [sleep, "1000"] }`);
	await fleet.must("up");
	const before = await broken.pids();
	const { pid } = await status();

	// A process that is stopped for longer than the limit is not blocked.
	process.kill(pid, "SIGSTOP");
	await sleep(WATCHDOG_MS * 1.5);
	process.kill(pid, "SIGCONT");
	expect((await status()).pid).toBe(pid);

	await broken.breakDaemon("block");
	await eventually(() => kept.ends() !== "", "the process ends");
	expect(kept.ends()).toBe("signal SIGKILL\n");
	const next = () =>
		status().then(
			(found) => found.pid !== pid,
			() => false,
		);
	await eventually(next, "another one is started");
	expect(await broken.pids()).toEqual(before);

	const reports = broken.reports();
	expect(reports).toMatchObject([
		{ report: { pid, cause: "blocked_event_loop", message: "the event loop was blocked for 3 s" } },
	]);
	expect(reports[0]?.report.stack).toContain("breaks-on-signal.mjs");
	expect(reports[0]?.report.services).toContainEqual(
		expect.objectContaining({ name: "engine", ready: true }),
	);
	expect(reports[0]?.report.events.map(({ type }) => type)).toContain("agent.started");
	expect(reports[0]?.text).not.toContain(CANARY);
	await kept.stop();
	expect(kept.ends()).toBe("signal SIGKILL\ncode 0\n");
});
