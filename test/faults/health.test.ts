/** Health checks of real programs under a real daemon. */

import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
const isAlive = (pid: number) => {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
};

describe("a health check", () => {
	test("over HTTP reports an unhealthy agent, and restarts it under `restart`", LONG, async () => {
		let status = 200;
		const server = createServer((_, reply) => {
			reply.statusCode = status;
			reply.end();
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		try {
			const { port } = server.address() as AddressInfo;
			const url = `http://127.0.0.1:${port}/?token=hush-hush`;
			const check = `http: "${url}", every: 200ms, failures: 2`;
			home.writeFleet(`noted: { command: [sleep, '1000'], health: { ${check} } }
restarted: { command: [sleep, '1000'], health: { ${check}, action: restart } }`);
			await home.must("up");
			const passes = async () =>
				(await home.ps()).every(({ health_check }) => health_check?.state === "passing");
			await eventually(passes, "both checks pass");
			status = 500;
			await eventually(async () => (await find("p:noted")).health === "unhealthy", "unhealthy");
			const noted = await find("p:noted");
			expect(noted).toMatchObject({
				...{ process: "running", restarts: 0, policy: "healthy" },
				health_check: { state: "unhealthy", failures: 2, action: "notify", waits: null },
				status: { state: "degraded" },
				reason: expect.stringMatching(
					/its health check failed \d+ times in a row: the server answered with status 500/,
				),
			});
			expect(await home.must("ps")).toMatch(/p:noted +running, unhealthy/);
			expect(await home.must("explain", "p:noted")).toMatch(
				/health +unhealthy since .*status 500 \(failed \d+ times in a row, checked .* ago\)/,
			);
			await eventually(async () => (await find("p:restarted")).restarts > 0, "a restart");
			status = 200;
			await eventually(passes, "both checks pass again");
			const restarted = await home.must("explain", "p:restarted");
			expect(restarted).toMatch(/unhealthy +(transient|flapping)/);
			const events = await home.must("events", "--json");
			expect(events).toMatch(/"type":"agent.unhealthy".*"action":"restart"/);
			expect(events).toMatch(/"type":"agent.exited".*"cause":"unhealthy"/);
			expect(events).toMatch(/"agent":"p:noted","type":"agent.recovered"|"type":"agent.recovered"/);
			expect(events + restarted).not.toContain("hush-hush");
		} finally {
			server.close();
		}
	});

	test(
		"by command runs in the agent's world; none of its processes remain after its timeout",
		LONG,
		async () => {
			const [seen, pids] = [join(home.folder, "seen"), join(home.folder, "pids")];
			writeFileSync(
				join(home.folder, "check.sh"),
				`echo "$PWD $PASSWORD" > ${seen}
			setsid sleep 300 & echo $! >> ${pids}
			sleep 300 & echo $! >> ${pids}
			head -c 1000000 /dev/zero | tr '\\0' 'x'
			echo; echo "the password is $PASSWORD"
			wait`,
			);
			home.writeFleet(`a:
  command: [sleep, '1000']
  env: { PASSWORD: correct-horse }
  health: { command: [sh, check.sh], every: 2s, timeout: 1s, failures: 1 }`);
			await home.must("up");
			const unhealthy = async () => (await find("p:a")).health_check?.state === "unhealthy";
			await eventually(unhealthy, "the check fails");
			expect(readFileSync(seen, "utf8").trim()).toBe(`${home.folder} correct-horse`);
			const explained = await home.must("explain", "p:a");
			expect(explained).toMatch(/no answer within 1s: the password is \[redacted PASSWORD\]/);
			const started = readFileSync(pids, "utf8").trim().split("\n").map(Number);
			await eventually(() => started.every((pid) => !isAlive(pid)), "no process is left");
			expect(isAlive((await find("p:a")).pid as number)).toBe(true);
			// A daemon that dies during a check leaves it to the next one.
			await eventually(() => {
				const now = readFileSync(pids, "utf8").trim().split("\n").map(Number);
				return now.length > started.length && now.some(isAlive);
			}, "another check");
			await home.killDaemon();
			const left = readFileSync(pids, "utf8").trim().split("\n").map(Number).filter(isAlive);
			await home.must("daemon", "start");
			await eventually(() => left.every((pid) => !isAlive(pid)), "the old check is gone");
			expect(await home.must("events", "--json")).not.toContain("correct-horse");
		},
	);

	test("that cannot be run is reported as failed", LONG, async () => {
		const program = join(home.folder, "missing-program");
		home.writeFleet(`a:
  command: [sleep, '1000']
  health: { command: [./missing-program], every: 1s, failures: 1 }`);
		expect((await home.reeve("up")).stderr).toMatch(
			/:7:\d+: .*health\.command: the health check cannot be run: .*missing-program` does not exist/,
		);
		writeFileSync(program, "");
		expect((await home.reeve("validate")).stdout).toMatch(/is not an executable file/);
		chmodSync(program, 0o755);
		await home.must("up");
		rmSync(program);
		await eventually(async () => (await find("p:a")).health === "unhealthy", "it fails");
		expect((await find("p:a")).reason).toMatch(/missing-program/);
	});
});

test("validate refuses a health check that cannot work, with its position", LONG, async () => {
	home.writeFleet(`none: { command: [x], health: { every: 5s } }
two: { command: [x], health: { port: 1, http: "http://127.0.0.1:1" } }
slow: { command: [x], health: { port: 1, every: 5s, timeout: 6s } }
secret: { command: [x], health: { http: "http://me:pass@x/" } }
odd: { command: [x], health: { port: 1, interrupt_turn: true } }
far: { command: [x], health: { port: 99999 } }
call: { kind: call, command: [x], health: { port: 1 } }
fine: { command: [x], health: { port: 1, every: 5s } }`);
	const { code, stdout, stderr } = await home.reeve("validate");
	expect(code).not.toBe(0);
	const text = stdout + stderr;
	expect(text).toMatch(/:5:\d+.*\n?.*`health` has no check/);
	expect(text).toMatch(/:6:\d+.*\n?.*`health` has 2 checks/);
	expect(text).toMatch(/:7:\d+.*\n?.*the checks would overlap/);
	expect(text).toMatch(/:8:\d+.*\n?.*the URL contains a user name or a password/);
	expect(text).toMatch(/:9:\d+.*\n?.*`interrupt_turn` has no effect without `action: restart`/);
	expect(text).toMatch(/:10:\d+.*\n?.*99999/);
	expect(text).toMatch(/:11:\d+.*\n?.*health/);
	expect(text).not.toMatch(/:12:/);
});
