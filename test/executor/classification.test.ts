import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Program } from "../../src/ports/executor.js";
import {
	attempt,
	ending,
	NEVER,
	NO_LIMITS,
	openExecutor,
	program,
	reasonOf,
	request,
	tempFolder,
} from "./world.js";

const call = (of: Program, facts: Parameters<typeof attempt>[1] = {}) =>
	openExecutor().call(attempt(of, facts), NEVER);

describe("an answer of the agent", () => {
	test.each([
		["success", "0", ',"result":{"n":1}', 'ok {"n":1}'],
		["success", "0", "", "ok undefined"],
		["success", "1", "", "backend_failure"],
		["error", "0", "", "backend_failure"],
		["error", "400", ',"error":"no such repository"', "invalid_request"],
		["error", "404", "", "invalid_request"],
		["error", "429", ',"retry_after_ms":1500', "invalid_request"],
		["error", "500", "", "backend_failure"],
		["error", "501", "", "action_not_supported"],
		["error", "503", ',"retry_after_ms":1500', "backend_failure"],
		["error", "504", "", "timeout"],
	])("with status %s and code %s%s is: %4$s", async (status, code, more, expected) => {
		expect(ending(await call(program("answers.sh", [status, code, more])))).toBe(expected);
	});

	test("contains the agent's error and its requested retry delay", async () => {
		const more = ',"error":{"message":"busy"},"retry_after_ms":1500';
		const { outcome } = await call(program("answers.sh", ["error", "503", more]));
		expect(outcome).toEqual({
			...{ ok: false, error: "backend_failure" },
			...{ reason: "agent returned error with code 503: busy", retryAfterMs: 1500 },
			response: { status: "error", code: 503, error: { message: "busy" } },
		});
	});

	test("to another request is a backend failure that names both", async () => {
		const end = await call(program("answers-another.sh"));
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe("the response is for request of-another-caller, not r-1");
	});

	test.each([
		['{"request_id":"r-1","code":0}', "the response has no status"],
		['{"request_id":"r-1","status":"success"}', "the response has no numeric code"],
		['{"request_id":7,"status":"success","code":0}', "not an object with the request_id"],
		['"success"', "not an object with the request_id"],
		["null", "not an object with the request_id"],
	])("that is %s is a backend failure", async (text, words) => {
		const end = await call(program("prints-garbage.sh", [text]));
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toContain(words);
	});

	test("nested so deep that storing it would fail is a backend failure", async () => {
		const file = join(tempFolder(), "deep.json");
		const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
		writeFileSync(file, `{"request_id":"r-1","status":"success","code":0,"result":${deep}}`);
		const end = await call(program("/bin/cat", [file]));
		expect(reasonOf(end)).toBe("the response is nested deeper than 500 levels");
	});
});

describe("a process without a response", () => {
	test.each([
		[program("says-nothing.sh"), "exited with code 0 without a response"],
		[program("says-nothing.sh", ["1"]), "exited with code 1 without a response"],
		[program("says-nothing.sh", ["0", "KILL"]), "was terminated by SIGKILL without a response"],
		[program("says-nothing.sh", ["0", "SEGV"]), "was terminated by SIGSEGV without a response"],
	])("is a backend failure with the exit (%#)", async (of, words) => {
		const end = await call(of);
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe(words);
		expect(end.log).toBe("no database\n");
	});

	test("that prints garbage is a backend failure that shows it", async () => {
		const end = await call(program("prints-garbage.sh", ["Traceback\u001b[31m", "3"]));
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe(
			'printed no JSON response: "Traceback\\u001b[31m" (exited with code 3)',
		);
	});

	test("that is killed by out of memory is reported with that cause", async () => {
		const limits = { ...NO_LIMITS, memoryBytes: 32 * 1024 * 1024 };
		const troubles: string[] = [];
		const executor = openExecutor({ onTrouble: (message) => troubles.push(message) });
		const of = program("uses-memory.pl", [String(256 * 1024 * 1024)], { limits });
		const end = await executor.call(attempt(of, { timeoutMs: 5_000 }), NEVER);
		// On a host without control groups there is no limit either, and that is reported.
		if (troubles.length > 0) expect(troubles[0]).toMatch(/^test:agent: no limit on memory: /);
		else expect(reasonOf(end)).toContain("was killed by the kernel: out of memory");
	});
});

describe("output", () => {
	test("in invalid UTF-8 is a backend failure", async () => {
		const end = await call(program("answers-with-invalid-utf8.sh"));
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe("the response is not valid UTF-8");
	});

	test("may split a character between two writes", async () => {
		expect(ending(await call(program("answers-byte-by-byte.pl")))).toBe('ok "aä€😀"');
	});

	test.each(["lines", "pretty", "same-line"])(
		"before the answer is tolerated (%s)",
		async (how) => {
			expect(ending(await call(program("prints-before-answering.sh", [how])))).toBe('ok {"a":[1]}');
		},
	);

	test("before the response is refused if the settings require it", async () => {
		const of = program("prints-before-answering.sh", [], { extraOutput: "refuse" });
		const end = await call(of);
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toMatch(/^printed other output besides its response: "Loading the model/);
	});

	test("that is only an answer is accepted when other output is rejected", async () => {
		expect(ending(await call(program("answers.sh", [], { extraOutput: "refuse" })))).toMatch(/^ok/);
	});

	test("of 100 MB is a backend failure, found early and without keeping it (A6)", async () => {
		const bytes = () => process.memoryUsage().arrayBuffers;
		const beforeBytes = bytes();
		let mostBytes = 0;
		const watch = setInterval(() => {
			mostBytes = Math.max(mostBytes, bytes() - beforeBytes);
		}, 1);
		const end = await call(program("prints-100mb.sh"));
		clearInterval(watch);
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toBe("response larger than 16MiB");
		expect(mostBytes).toBeLessThan(64 * 1024 * 1024);
	});

	test("on stderr is drained, and its end is the log", async () => {
		const end = await call(program("chats-on-stderr.sh"));
		expect(ending(end)).toMatch(/^ok/);
		expect(end.log.length).toBe(64 * 1024);
		expect(end.log.endsWith("xthe end\n")).toBe(true);
	});
});

describe("an agent that does not read its request", () => {
	const large = request({ payload: "x".repeat(4 * 1024 * 1024) });

	test("may respond anyway", async () => {
		const of = program("answers-without-reading.sh", ["r-1"]);
		expect(ending(await call(of, { request: large }))).toBe('ok "unread"');
	});

	test("and exits is not a pipe failure but a missing answer", async () => {
		const end = await call(program("prints-garbage.sh", ["", "4"]), { request: large });
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toContain("exited with code 4");
	});

	test("and hangs is killed after its timeout", async () => {
		const end = await call(program("never-reads.sh"), { request: large, timeoutMs: 300 });
		expect(ending(end)).toBe("timeout");
		expect(reasonOf(end)).toBe("no response within 300 ms");
	});
});

describe("a program that cannot be started", () => {
	const scripted = (text: string, mode: number) => {
		const file = join(tempFolder(), "agent");
		writeFileSync(file, text);
		chmodSync(file, mode);
		return file;
	};

	test.each([
		[
			"is missing",
			() => program("/no/such/program"),
			"the program /no/such/program does not exist",
		],
		[
			"is not on the PATH",
			() => ({ ...program("x"), argv: ["no-such-agent"] as const }),
			"install it",
		],
		["is not executable", () => program(scripted("#!/bin/sh\n", 0o644)), "chmod +x"],
		["is a folder", () => program("/tmp"), "is a directory"],
		["has no folder to run in", () => program("answers.sh", [], { cwd: "/no/such" }), "create it"],
		[
			"asks for a missing interpreter",
			() => program(scripted("#!/no/sh\n", 0o755)),
			"interpreter /no/sh",
		],
		["has a NUL in an argument", () => program("answers.sh", ["a\0b"]), "NUL character"],
		["has too long an argument", () => program("answers.sh", ["x".repeat(200_000)]), "too long"],
	])("because it %s is a permanent error with that reason", async (_, of, words) => {
		const end = await call(of());
		expect(ending(end)).toBe("spawn_error");
		expect(reasonOf(end)).toContain(words);
	});
});
