import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CallAdapter } from "../../src/ports/executor.js";
import { createScriptedAdapter } from "../../src/testing/scripted-adapter.js";
import {
	attempt,
	ending,
	liveProcesses,
	NEVER,
	openExecutor,
	program,
	reasonOf,
	request,
	tempFolder,
} from "./world.js";

const adapter = createScriptedAdapter({
	actions: {
		shout: ["--loud"],
		refuse: ["--fail", "64"],
		overload: ["--fail", "75"],
		crash: ["--fail", "1"],
		die: ["--die"],
		hang: ["--hang"],
	},
	codes: { 64: 400, 75: 503 },
});

function call(action: string, facts: Partial<Parameters<typeof attempt>[1]> = {}) {
	const asked = request({ action, payload: { text: "hello, wörld" } });
	const of = attempt(program("shouts.sh"), { adapter, request: asked, ...facts });
	return openExecutor().call(of, NEVER);
}

describe("a CLI behind an adapter", () => {
	test("gets the request in its own format, and its text becomes the result", async () => {
		expect(ending(await call("shout"))).toBe('ok {"text":"HELLO, WöRLD"}');
	});

	test.each([
		["refuse", "invalid_request", "code 400: error: code 64"],
		["overload", "backend_failure", "code 503: error: code 75"],
		["crash", "backend_failure", "code 500: error: code 1"],
		["die", "backend_failure", 'cannot parse the output "half an ans"'],
	])("that fails at %s is a %s", async (action, expected, words) => {
		const end = await call(action);
		expect(ending(end)).toBe(expected);
		expect(reasonOf(end)).toContain(words);
	});

	test("has a folder of its own for temporary files, which is gone afterwards", async () => {
		const folder = tempFolder();
		const tidy: CallAdapter = {
			...adapter,
			prepare: () => ({
				...{ argv: ["/bin/sh", "-c", 'touch "$TMPDIR/left"; printf %s "$TMPDIR"'], stdin: "" },
				...{ env: { PATH: process.env["PATH"] ?? "", TMPDIR: folder }, ownTmpdir: true },
			}),
		};
		expect(ending(await call("shout", { adapter: tidy }))).toContain(join(folder, "reeve-call-"));
		expect(readdirSync(folder)).toEqual([]);
	});

	test("reports the exit if there was no answer in the output", async () => {
		expect(reasonOf(await call("die"))).toContain("(was terminated by SIGSEGV)");
	});

	test("is killed after its timeout, whatever it has printed", async () => {
		const runId = `run-${process.pid}-hang`;
		expect(ending(await call("hang", { runId, timeoutMs: 300 }))).toBe("timeout");
		expect(liveProcesses(runId)).toEqual([]);
	});

	test.each([
		["an action that it does not have", request({ action: "fly" }), "action_not_supported"],
		["a payload that it cannot use", request({ action: "shout", payload: 7 }), "invalid_request"],
	])("is not started for %s", async (_, asked, expected) => {
		const of = program("/no/such/cli");
		expect(ending(await call("", { program: of, request: asked }))).toBe(expected);
	});
});

describe("an adapter with a mistake in it", () => {
	const broken = (parts: Partial<CallAdapter>): CallAdapter => ({
		...adapter,
		...{ name: "broken", ...parts },
	});
	const fail = () => {
		throw new Error("oh no");
	};

	test("that cannot make a command starts nothing", async () => {
		const end = await call("shout", { adapter: broken({ prepare: fail }) });
		expect(ending(end)).toBe("spawn_error");
		expect(reasonOf(end)).toBe("the adapter broken cannot build a command for the request: oh no");
	});

	test.each([
		["throws", fail, "oh no"],
		["returns nothing", () => undefined, "not an object with the request_id"],
		["returns no code", () => ({ request_id: "r-1", status: "success" }), "no numeric code"],
	])("that %s instead of an answer is a backend failure", async (_, parse, words) => {
		const end = await call("shout", { adapter: broken({ parse }) });
		expect(ending(end)).toBe("backend_failure");
		expect(reasonOf(end)).toContain('the adapter broken cannot parse the output "HELLO, WöRLD"');
		expect(reasonOf(end)).toContain(words);
	});

	test("that answers another request is a backend failure", async () => {
		const parse = () => ({ request_id: "r-2", status: "success", code: 0 });
		const end = await call("shout", { adapter: broken({ parse }) });
		expect(reasonOf(end)).toBe("the response is for request r-2, not r-1");
	});
});
