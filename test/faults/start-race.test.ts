/** Many daemons of one home started at the same moment: real commands, a real daemon, a slow machine. */

import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../support/reeve.js";
import { createFleetHome, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

/** Runs `source` in a daemon at the moment when it is about to listen, instead of listening. */
function meddle(source: string): Record<string, string> {
	const path = join(temporaryFolder(), "meddle.mjs");
	writeFileSync(
		path,
		`import { Server } from "node:net";
		const listen = Server.prototype.listen;
		Server.prototype.listen = function (...args) {
			if (!String(args[0]?.path ?? args[0]).endsWith("reeve.sock")) return listen.apply(this, args);
			${source}
			return this;
		};`,
	);
	return { NODE_OPTIONS: `--import=${pathToFileURL(path)}` };
}

const startMany = (count: number) =>
	Promise.all(Array.from({ length: count }, () => home.reeve("daemon", "start", "--json")));

const daemonLog = () =>
	readFileSync(join(home.env["REEVE_HOME"] ?? tmpdir(), "daemon.log"), "utf8");

test("twenty that are started at once become one, however long it takes, and all report it", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome(meddle("setTimeout(() => listen.apply(this, args), 2500);"));
	const started = await startMany(20);
	expect(started.map(({ code, stderr }) => [code, stderr])).toEqual(started.map(() => [0, ""]));
	const answers = started.map(
		({ stdout }) => JSON.parse(stdout) as { started: boolean; pid: number },
	);
	expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1);
	expect(answers.filter((answer) => answer.started)).toHaveLength(1);
	expect(daemonLog().match(/"msg":"started"/g)).toHaveLength(1);
});

test("if the winner dies during its start, another one replaces it", {
	timeout: 300_000,
}, async () => {
	const flag = join(temporaryFolder(), "died");
	home = createFleetHome(
		meddle(`
			process.getBuiltinModule("fs").existsSync(${JSON.stringify(flag)})
				? listen.apply(this, args)
				: setTimeout(() => {
					process.getBuiltinModule("fs").writeFileSync(${JSON.stringify(flag)}, "");
					process.kill(process.pid, "SIGKILL");
				}, 2000);`),
	);
	const started = await startMany(5);
	// The starter of the killed one reports its end; by then another may respond already.
	expect(started.filter(({ code }) => code === 0).length).toBeGreaterThanOrEqual(4);
	await home.must("ps");
	expect(daemonLog().match(/"msg":"started"/g)).toHaveLength(2);
});

test("daemons that keep dying are reported with their last output, without a long wait", {
	timeout: 300_000,
}, async () => {
	home = createFleetHome(
		meddle(`console.error("no room at the inn"); setTimeout(() => process.exit(7), 300);`),
	);
	onTestFinished(() => {
		home.env["NODE_OPTIONS"] = "";
	});
	const started = await startMany(6);
	for (const { code, stdout } of started) {
		expect(code).toBe(1);
		expect(stdout).toContain("exited during startup");
		expect(stdout).toContain("no room at the inn");
	}
});
