/** The guide "Agents overnight", run as printed. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";

const guide = readFileSync("docs/guides/overnight.md", "utf8");

/** The first block of this language after a heading. */
function blockUnder(heading: string, language: string): string {
	const section = guide.slice(guide.indexOf(heading));
	const found = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "ms").exec(section)?.[1];
	if (found === undefined) throw new Error(`no ${language} under ${heading}`);
	return found;
}

/** Answers every request. */
const REPORT = `process.stdin.on("data", (line) => {
	const { request_id } = JSON.parse(String(line));
	console.log(JSON.stringify({ request_id, status: "success", code: 0, result: null }));
});
`;

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

test("the schedules are accepted, and every command works", { timeout: 300_000 }, async () => {
	writeFileSync(join(home.folder, "reeve.yaml"), blockUnder("## Schedules", "yaml"));
	writeFileSync(join(home.folder, "report.mjs"), REPORT);
	await home.must("validate");
	await home.must("up");
	const commands = blockUnder("### Commands", "console").matchAll(/^\$ reeve (.*)$/gm);
	for (const [, words = ""] of commands) await home.must(...words.split(" "));
	await eventually(
		async () => /succeeded .*task succeeded/.test(await home.must("schedule", "show", "web:sync")),
		"the task of the slot has succeeded",
	);
	const listed = await home.must("schedule", "ls");
	expect(listed.match(/^web:\w+/gm)).toEqual(["web:review", "web:sync", "web:fresh"]);
	expect(listed).toMatch(/^web:fresh .*paused/m);
});
