/** `reeve logs -f` and `reeve events -f` under a real daemon that is restarted and killed (A3). */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { REEVE } from "../support/reeve.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let fleet: FleetHome | null = null;
afterEach(() => fleet?.close());

/** A command that keeps running, with everything that it printed so far. */
function follow({ env, folder }: FleetHome, ...args: string[]) {
	const child = spawn(process.execPath, [REEVE, ...args], {
		...{ cwd: folder, env: { PATH: process.env["PATH"], ...env } },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const printed = { out: "", err: "" };
	child.stdout.on("data", (chunk) => {
		printed.out += chunk;
	});
	child.stderr.on("data", (chunk) => {
		printed.err += chunk;
	});
	const stop = async () => {
		child.kill("SIGINT");
		await once(child, "close");
	};
	return { printed, stop };
}

test("both continue without a gap or a repeat across a restart and kill -9, and report it on stderr", {
	timeout: 180_000,
}, async () => {
	fleet = createFleetHome();
	const counter = "let n = 0; setInterval(() => console.log('line ' + ++n + '.'), 20)";
	fleet.writeFleet(
		["tty", "plain"]
			.map(
				(name) =>
					`${name}: { backend: pty, terminal: ${name === "tty"}, command: [node, -e, ${JSON.stringify(counter)}] }`,
			)
			.join("\n"),
	);
	await fleet.must("up");
	const tty = follow(fleet, "logs", "-f", "-n", "100000", "p:tty");
	const plain = follow(fleet, "logs", "-f", "-n", "100000", "p:plain");
	const events = follow(fleet, "events", "-f", "--json", "--after", "0");
	const numbers = (text: string) => [...text.matchAll(/line (\d+)\./g)].map(([, n]) => Number(n));
	const newest = () =>
		Math.min(...[tty, plain].map(({ printed }) => numbers(printed.out).at(-1) ?? 0));
	await eventually(() => newest() > 20, "both logs have lines");
	await fleet.must("daemon", "restart");
	let [from, times] = [newest(), 1];
	const back = () =>
		[tty, plain, events].every(
			({ printed }) => printed.err.split("reconnected after").length - 1 >= times,
		) && newest() > from;
	await eventually(back, "all have continued after the restart");
	await fleet.killDaemon();
	[from, times] = [newest(), 2];
	await fleet.must("daemon", "start");
	await eventually(back, "all have continued after the kill");
	for (const { printed } of [tty, plain]) {
		const seen = numbers(printed.out);
		expect(seen).toEqual(seen.map((_, index) => index + 1));
	}
	const seqs = events.printed.out
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line).seq);
	expect(seqs).toEqual(seqs.map((_, index) => index + 1));
	for (const { printed } of [tty, plain, events]) {
		expect(printed.err).toMatch(/reconnecting for up to 1m/);
		expect(printed.err).toMatch(/reconnected after .*; nothing was missed/);
	}
	for (const each of [tty, plain, events]) await each.stop();
});
