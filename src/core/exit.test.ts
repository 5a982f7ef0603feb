import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	causeOf,
	classifyExit,
	EXIT_CAUSES,
	type ExitCause,
	type ExitKind,
	type ExitReport,
	exitReport,
	renderExit,
} from "./exit.js";

const kindOf = (facts: Partial<Parameters<typeof exitReport>[0]>, permanent: number[] = []) =>
	classifyExit(exitReport({ uptimeMs: 0, ...facts }), permanent);

describe("an exit's kind, from its facts", () => {
	test.each<[string, Partial<Parameters<typeof exitReport>[0]>, ExitKind]>([
		["code 0 is clean", { code: 0 }, "clean"],
		["any other code is failed", { code: 3 }, "failed"],
		["a signal is failed", { signal: "SIGSEGV" }, "failed"],
		["a lost status is failed, never clean", {}, "failed"],
		[
			"an adapter that reports completed takes precedence over the code",
			{ code: 1, cause: "completed" },
			"clean",
		],
		[
			"an adapter that reports crash takes precedence over code 0",
			{ code: 0, cause: "crash" },
			"failed",
		],
		["a limit hides behind code 0", { code: 0, cause: "usage_limit" }, "usage_limit"],
		["a login problem", { code: 1, cause: "auth" }, "auth"],
		["an overload", { code: 1, cause: "overloaded" }, "overloaded"],
		["a refused configuration", { code: 52, cause: "config" }, "config"],
		["out of memory", { code: 137, cause: "out_of_memory" }, "out_of_memory"],
		["a host that cannot start it now", { cause: "spawn_error" }, "spawn_error"],
		["a program that can never start", { cause: "spawn_error", permanent: true }, "permanent"],
		["a crash that a retry cannot fix", { code: 1, permanent: true }, "permanent"],
		["our own kill", { signal: "SIGKILL", cause: "requested" }, "planned"],
		["a crash that happened while being stopped", { code: 1, askedBy: "operator" }, "planned"],
		[
			"a limit that happened while being stopped",
			{ cause: "usage_limit", askedBy: "reeve" },
			"planned",
		],
		["the end of the host", { signal: "SIGTERM", askedBy: "host" }, "planned"],
	])("%s", (_, facts, kind) => {
		expect(kindOf(facts)).toBe(kind);
	});

	test("a declared exit code is permanent only where the exit was a failure", () => {
		expect(kindOf({ code: 78 }, [78])).toBe("permanent");
		expect(kindOf({ code: 77 }, [78])).toBe("failed");
		expect(kindOf({ signal: "SIGTERM" }, [78])).toBe("failed");
		expect(kindOf({ code: 78, cause: "usage_limit" }, [78])).toBe("usage_limit");
		expect(kindOf({ code: 78, askedBy: "operator" }, [78])).toBe("planned");
	});

	test("S9 uptime, detail and reset time never change it", () => {
		const facts = fc.record({
			code: fc.option(fc.integer({ min: 0, max: 255 })),
			signal: fc.option(fc.constantFrom("SIGKILL", "SIGTERM")),
			askedBy: fc.option(fc.constantFrom("operator", "reeve", "host")),
			cause: fc.constantFrom(...EXIT_CAUSES),
			permanent: fc.boolean(),
		});
		const rest = fc.record({
			uptimeMs: fc.nat(),
			detail: fc.option(fc.string()),
			resetInMs: fc.option(fc.nat()),
		});
		fc.assert(
			fc.property(facts, rest, rest, (known, some, others) => {
				const one = classifyExit({ ...known, ...some }, [78]);
				expect(classifyExit({ ...known, ...others }, [78])).toBe(one);
			}),
		);
	});
});

test("an undefined fact is unknown, and never counts as requested", () => {
	const facts = { uptimeMs: 1, code: 1, askedBy: undefined } as unknown as ExitReport;
	expect(classifyExit(exitReport(facts), [])).toBe("failed");
});

test.each<[string, Partial<ExitReport>, ExitCause]>([
	["finished", { code: 0 }, "completed"],
	["failed", { code: 3 }, "crash"],
	["died by a signal", { signal: "SIGSEGV" }, "crash"],
	["was asked to exit", { code: 0, askedBy: "operator" }, "requested"],
	["lost its status", {}, "unknown"],
	["has a cause of its own", { code: 1, cause: "auth" }, "auth"],
])("the recorded cause of a run that %s is the one that its exit proves", (_, facts, cause) => {
	const report = exitReport({ uptimeMs: 1, ...facts });
	expect(causeOf(report, classifyExit(report, []))).toBe(cause);
});

test("an exit is described in readable text", () => {
	expect(renderExit({ code: 3, signal: null })).toBe("exit code 3");
	expect(renderExit({ code: null, signal: "SIGSEGV" })).toBe("SIGSEGV");
	expect(renderExit({ code: null, signal: null })).toBe("no exit status");
});
