/**
 * A pattern that takes exponential time in a backtracking engine, and an agent that shows the text for
 * it. The daemon must continue: in JavaScript's own engine one check of such a screen would never end.
 */

import { writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const ADAPTERS = `version: 1
adapters:
  hostile:
    command: [sh, -c, "printf '%0150d!\\\\n' 0 | tr 0 a; echo READY; exec sleep 1000"]
    screen:
      ready: ['READY']
      busy: ['^(a+)+$', '(a|a)*b', '(a+a+)+y']
projects:
  p:
    agents:
      a: { adapter: hostile, backend: pty }
`;

test("a screen made for a catastrophic pattern does not hang the daemon, and down works", {
	timeout: 240_000,
}, async () => {
	home = createFleetHome();
	writeFileSync(`${home.folder}/reeve.yaml`, ADAPTERS);
	await home.must("up");
	const pid = await home.daemonPid();
	await eventually(
		async () => (await home.ps())[0]?.activity === "ready",
		"the screen is read to its end",
	);
	expect(await home.must("screen", "p:a")).toContain("aaaaaaaaaaaaaaaaaaaa");
	expect(await home.must("down", "p:a")).toContain("p:a");
	expect(await home.ps()).toMatchObject([{ process: "stopped" }]);
	// The watchdog did not have to restart it.
	expect(await home.daemonPid()).toBe(pid);
});

test("validate names an unsupported pattern with its line and a hint", {
	timeout: 60_000,
}, async () => {
	home = createFleetHome();
	writeFileSync(`${home.folder}/reeve.yaml`, ADAPTERS.replace("'READY'", "'READY(?!x)'"));
	const { code, stdout, stderr } = await home.reeve("validate");
	expect(code).toBe(2);
	expect(stdout + stderr).toMatch(
		/reeve\.yaml:6:\d+[\s\S]*`READY\(\?!x\)` is not a valid pattern: lookaheads and lookbehinds are not supported[\s\S]*RE2/,
	);
});
