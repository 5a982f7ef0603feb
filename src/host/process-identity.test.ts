import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import {
	isAlive,
	parseProcStat,
	parsePsLine,
	readBootId,
	readIdentity,
} from "./process-identity.js";

describe("/proc/<pid>/stat", () => {
	const line = (name: string, state: string) =>
		`42 (${name}) ${state} 7 40 41 34816 42 4194304 1 0 0 0 5 6 7 8 20 0 1 0 987654 1000 2 3 4`;

	test("is read for any process name", () => {
		const expected = {
			pid: 42,
			ppid: 7,
			pgid: 40,
			sid: 41,
			startTime: "987654",
			ended: false,
			cpuMs: 260,
			foregroundPgid: 42,
		};
		for (const name of ["node", "a b", ") R 1 1 1", "((", "\n"]) {
			expect(parseProcStat(line(name, "S"))).toEqual({ ...expected, name });
		}
	});

	test("detects that a zombie has exited", () => {
		expect(parseProcStat(line("node", "Z"))?.ended).toBe(true);
		expect(parseProcStat(line("node", "T"))?.ended).toBe(false);
	});

	test("is not guessed at", () => {
		expect(parseProcStat("")).toBeNull();
		expect(parseProcStat("42 (node) S 7")).toBeNull();
	});
});

describe("a line of ps", () => {
	test("is read with its start time as one text", () => {
		expect(
			parsePsLine(
				"   42     7    40    40 Ss     1:02.50 Mon Mar  2 10:00:00 2026     my agent  \n",
			),
		).toEqual({
			pid: 42,
			ppid: 7,
			pgid: 40,
			sid: 0,
			startTime: "Mon Mar 2 10:00:00 2026",
			foregroundPgid: 40,
			name: "my agent",
			ended: false,
			cpuMs: 62_500,
		});
		expect(parsePsLine("42 7 40 -1 S 1-02:00:01 Mon Mar  2 10:00:00 2026")?.cpuMs).toBe(93_601_000);
		expect(parsePsLine("42 7 40 0 Z+ 0:00.00 Mon Mar  2 10:00:00 2026")?.ended).toBe(true);
		expect(parsePsLine("")).toBeNull();
	});
});

describe("identity (S10)", () => {
	test("is that of the process, and of no other boot or start", () => {
		const self = readIdentity(process.pid);
		if (self === null) throw new Error("this process is not there");
		expect(self).toMatchObject({ bootId: readBootId(), pid: process.pid });
		expect(isAlive(self)).toBe(true);
		expect(isAlive({ ...self, startTime: `${self.startTime}1` })).toBe(false);
		expect(isAlive({ ...self, bootId: "another" })).toBe(false);
	});

	test("ends with the process", async () => {
		const child = spawn("sleep", ["1000"], { stdio: "ignore" });
		const identity = readIdentity(child.pid as number);
		if (identity === null) throw new Error("the child is not there");
		expect(isAlive(identity)).toBe(true);
		child.kill("SIGKILL");
		await once(child, "exit");
		expect(isAlive(identity)).toBe(false);
		expect(readIdentity(identity.pid)).toBeNull();
	});
});
