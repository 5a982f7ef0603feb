/** Text of hostile agents, through every command that shows it (A10). */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createFleetHome, type FleetHome } from "../faults/fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

// biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be printed
const DANGEROUS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

const HOSTILE = "\u001b]0;owned\u0007\u001b[2J\u009b8m\u009d52;c;aGk=\u009c\u202eevil";
const AGENT = `
const text = ${JSON.stringify(HOSTILE)};
process.stderr.write(text + "\\n");
process.stdin.once("data", (data) => {
	const { request_id } = JSON.parse(data);
	const error = { message: text, code: text };
	console.log(JSON.stringify({ request_id, status: text, code: 500, error: text, result: error }));
	process.exit(0);
});`;

test("an agent's error, output and result cannot reach the terminal or the log raw", {
	timeout: 120_000,
}, async () => {
	home = createFleetHome();
	const command = JSON.stringify([process.execPath, "-e", AGENT]);
	const silent = JSON.stringify([
		process.execPath,
		"-e",
		`throw new Error(${JSON.stringify(HOSTILE)})`,
	]);
	home.writeFleet(`tool: { kind: call, command: ${command}, retry: { max_attempts: 1 } }
broken: { kind: call, command: ${silent}, retry: { max_attempts: 1 } }
crash: { command: ${silent}, backend: pty, crash_policy: { transient_delay: 60s } }`);
	await home.must("up");
	const shown: string[] = [];
	const show = async (...args: string[]) => {
		const { stdout, stderr } = await home.reeve(...args);
		for (const text of [stdout, stderr]) if (DANGEROUS.test(text)) shown.push(args.join(" "));
		return stdout;
	};
	const task = JSON.parse(await show("call", "p:tool", "run", "--json")) as { task_id: string };
	for (const json of [[], ["--json"]]) {
		await show("call", "p:tool", "run", ...json);
		await show("call", "p:broken", "run", ...json);
		await show("tasks", "show", task.task_id, ...json);
		for (const list of ["tasks", "dead-letters"]) await show(list, "ls", ...json);
		await show("dead-letters", "show", task.task_id, ...json);
		await show("events", ...json);
		await show("ps", ...json);
		for (const id of ["p:tool", "p:crash"]) await show("explain", id, ...json);
		await show("logs", "p:crash", ...json);
		await show("call", HOSTILE, HOSTILE, ...json);
		await show("up", HOSTILE, ...json);
		await show(HOSTILE, ...json);
	}
	expect(shown).toEqual([]);
	const log = readFileSync(join(home.env["REEVE_HOME"] ?? "", "daemon.log"), "utf8");
	expect(log).not.toMatch(DANGEROUS);
});
