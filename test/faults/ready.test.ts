/** When an agent is ready, under a real daemon: its own output, its URL, and a daemon that dies in between. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

const LONG = { timeout: 120_000 };
const find = async (id: string) => (await home.ps()).find((agent) => agent.id === id) as AgentJson;

test("an agent is ready when its URL answers with success, not with an error", {
	timeout: 120_000,
}, async () => {
	let status = 503;
	let requests = 0;
	const server = createServer((request, reply) => {
		requests += 1;
		reply.statusCode = request.url === "/healthz" ? status : 404;
		reply.end();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	try {
		const { port } = server.address() as AddressInfo;
		home.writeFleet(
			`a: { command: [sleep, '1000'], ready: { http: "http://127.0.0.1:${port}/healthz" } }`,
		);
		const early = await home.reeve("up", "--wait", "--timeout", "3s");
		expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining("not ready after 3s") });
		expect(requests).toBeGreaterThan(0);
		expect(await find("p:a")).toMatchObject({ process: "running", ready: false });
		status = 204;
		expect(await home.reeve("up", "--wait", "--timeout", "60s")).toMatchObject({ code: 0 });
		expect(await find("p:a")).toMatchObject({ ready: true });
	} finally {
		server.close();
	}
});

test("a ready command that hangs leaves no process behind, however often it is repeated", {
	timeout: 180_000,
}, async () => {
	const pids = join(home.folder, "pids");
	writeFileSync(join(home.folder, "hangs.sh"), `sleep 1000 &\necho $! >> ${pids}\nwait\n`);
	home.writeFleet(`a: { command: [sleep, '1000'], ready: { command: [sh, hangs.sh] } }`);
	await home.must("up");
	const started = () =>
		existsSync(pids) ? readFileSync(pids, "utf8").split("\n").filter(Boolean).map(Number) : [];
	await eventually(() => started().length >= 2, "the command was repeated after its time");
	const alive = () => started().filter(isAlive);
	await eventually(() => alive().length <= 1, "only the command that runs now is there");
	await home.must("down", "--all");
	await eventually(() => alive().length === 0, "nothing is left");
});

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}

test(
	"a server that listens on ::1 only makes the agent ready, by its port and by its URL",
	LONG,
	async ({ skip }) => {
		const server = createServer((_request, reply) => reply.end());
		const listens = new Promise<boolean>((resolve) => {
			server.once("error", () => resolve(false));
			server.listen(0, "::1", () => resolve(true));
		});
		skip(!(await listens), "this host has no ::1");
		try {
			const { port } = server.address() as AddressInfo;
			home.writeFleet(`a: { command: [sleep, '1000'], terminal: false, ready: { port: ${port} } }
b: { command: [sleep, '1000'], terminal: false, ready: { http: "http://[::1]:${port}" } }`);
			await home.must("up", "--wait", "--timeout", "20s");
		} finally {
			server.close();
		}
	},
);

test("validate refuses what is not an HTTP URL, a password in one, and a second condition", {
	timeout: 60_000,
}, async () => {
	home.writeFleet(`a: { command: [x], ready: { http: "ftp://host/x" } }
b: { command: [x], ready: { http: "http://127.0.0.1:1", port: 1 } }
c: { command: [x], ready: { http: "http://me:secret@127.0.0.1:1" } }`);
	const { code, stdout, stderr } = await home.reeve("validate");
	expect(code).not.toBe(0);
	expect(stdout + stderr).toMatch(/not a valid HTTP URL/);
	expect(stdout + stderr).toMatch(/`ready` has 2 conditions/);
	expect(stdout + stderr).toMatch(/contains a user name or a password/);
});

describe("a line of the output", () => {
	test(
		"counts if the agent prints it at once, and not if an earlier run printed it",
		LONG,
		async () => {
			const flag = join(home.folder, "flag");
			const server = `kind: worker, ready: { log: listening }, workers: { min: 1, max: 1 }`;
			home.writeFleet(`a: { command: [sh, -c, "test -e ${flag} || echo listening; exec sleep 1000"], terminal: false, ready: { log: listening } }
w: { command: [sh, -c, "test -e ${flag} || echo listening >&2; exec cat"], ${server} }`);
			await home.must("up", "--wait", "--timeout", "60s");
			writeFileSync(flag, "");
			await home.must("restart", "--all");
			// Long enough for several checks.
			const waited = await home.reeve("up", "--wait", "--timeout", "2s");
			expect(waited.stderr).toMatch(/not ready after 2s: p:a \(.*\); p:w \(/);
			for (const id of ["p:a", "p:w"]) expect(await find(id)).toMatchObject({ ready: false });
		},
	);

	test("is not shown as the output of a later run that exited without any", LONG, async () => {
		const flag = join(home.folder, "flag");
		home.writeFleet(
			`a: { command: [sh, -c, "test -e ${flag} || echo first words; exit 3"], terminal: false, crash_policy: { on_failure: stop } }`,
		);
		await home.reeve("up");
		await eventually(async () => (await find("p:a")).policy === "halted", "a is halted");
		expect(await home.must("explain", "p:a")).toContain("first words");
		writeFileSync(flag, "");
		await home.reeve("resume", "p:a");
		await eventually(async () => (await find("p:a")).restarts === 0, "a was resumed");
		await eventually(async () => (await find("p:a")).policy === "halted", "a is halted again");
		expect(await home.must("explain", "p:a")).not.toContain("first words");
	});
});

describe("a daemon that adopts an agent that was not ready", () => {
	test("waits for its condition, also if it was met without a daemon", LONG, async () => {
		const [now, later] = [join(home.folder, "now"), join(home.folder, "later")];
		const prints = (flag: string) =>
			`command: [sh, -c, "until test -e ${flag}; do sleep 0.1; done; echo listening; exec sleep 1000"], terminal: false, ready: { log: listening }`;
		home.writeFleet(`now: { ${prints(now)} }
later: { ${prints(later)} }
needs-now: { command: [sleep, '1000'], terminal: false, depends_on: [now] }
needs-later: { command: [sleep, '1000'], terminal: false, depends_on: [later] }`);
		const up = home.reeve("up");
		await eventually(async () => {
			const agents = await home.ps().catch(() => []);
			return agents.filter(({ process }) => process === "running").length === 2;
		}, "both servers run");
		await home.killDaemon();
		await up;
		writeFileSync(now, "");
		await home.must("daemon", "start");
		await eventually(async () => (await find("p:needs-now")).ready, "what was printed is found");
		expect(await find("p:later")).toMatchObject({ process: "running", ready: false });
		expect(await find("p:needs-later")).toMatchObject({
			...{ process: "starting", status: { state: "waits_for_dependency" } },
		});
		writeFileSync(later, "");
		await eventually(async () => (await find("p:needs-later")).ready, "what is printed is found");
		const events = await home.must("events", "--json");
		const ready = events.split("\n").filter((line) => line.includes('"agent.ready"'));
		expect(ready.filter((line) => line.includes('"p:later"'))).toHaveLength(1);
	});
});
