/** The examples, as defined in their fleet file: each agent as a call and as a worker. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { loadFleet } from "../../src/config/load.js";
import type { CallSpec, WorkerSpec } from "../../src/config/spec.js";
import type { AttemptEnd, Program } from "../../src/ports/executor.js";
import {
	attempt,
	ending,
	NEVER,
	newRunId,
	openExecutor,
	reasonOf,
	request,
	tempFolder,
} from "../executor/world.js";
import { describeWithPython } from "../support/needs.js";

let agents: readonly (CallSpec | WorkerSpec)[] = [];
beforeAll(async () => {
	const fleet = await loadFleet("examples/reeve.yaml", { env: {}, homeDir: "/" });
	if (!fleet.ok) throw new Error(JSON.stringify(fleet.problems));
	agents = fleet.fleet.agents.filter((agent) => agent.kind !== "session");
});
function programOf({ id, command, cwd, limits, extraOutput }: CallSpec | WorkerSpec): Program {
	const argv = [...(command ?? [])] as [string, ...string[]];
	const env = { PATH: process.env["PATH"] ?? "" };
	return { agentId: id, argv, cwd, env, limits, extraOutput };
}

async function ask(id: string, action: string, payload: unknown): Promise<AttemptEnd> {
	const spec = agents.find((agent) => agent.id === id);
	if (spec === undefined) throw new Error(`no agent ${id}`);
	const executor = openExecutor();
	const program = programOf(spec);
	const asked = request({ action, payload });
	if (spec.kind === "call") return executor.call(attempt(program, { request: asked }), NEVER);
	const started = await executor.startWorker({ runId: newRunId(), program, logDir: tempFolder() });
	if (!started.ok) throw new Error(started.failure.detail);
	// One after the other, so that the second proves that it stays.
	await started.worker.ask({ ...asked, request_id: "r-0" }, 60_000, NEVER);
	const end = await started.worker.ask(asked, 60_000, NEVER);
	expect(await started.worker.stop(60_000)).toMatchObject({ outcome: "graceful" });
	return end;
}

function countsWords(id: string): void {
	test("counts words, and logs it", async () => {
		const end = await ask(id, "count", { text: "one twö\nthree" });
		expect(ending(end)).toBe('ok {"words":3}');
		if (id.startsWith("calls:")) expect(end.log).toBe("counted 3 words\n");
		expect(ending(await ask(id, "longest", { text: "a bcd ef" }))).toBe('ok {"word":"bcd"}');
	});

	test("refuses a payload without text, and an action that it does not have", async () => {
		const refused = await ask(id, "count", { words: 3 });
		expect(ending(refused)).toBe("invalid_request");
		expect(reasonOf(refused)).toContain("the payload has no `text`");
		expect(ending(await ask(id, "fly", {}))).toBe("action_not_supported");
	});
}

describe.each(["calls", "workers"])("the example %s", (project) => {
	describe("in JavaScript", () => countsWords(`${project}:words-js`));

	describeWithPython("in Python", () => countsWords(`${project}:words-py`));

	test("in shell reports the free disk space", async () => {
		const { outcome } = await ask(`${project}:disk`, "free", {});
		expect(outcome).toEqual({ ok: true, result: { free_kib: expect.any(Number) } });
		expect(ending(await ask(`${project}:disk`, "fill", {}))).toBe("action_not_supported");
	});
});

test("the example fleet has every example as a call and as a worker", () => {
	const names = (kind: string) =>
		agents.filter((agent) => agent.kind === kind).map(({ name }) => name);
	expect(names("call")).toEqual(names("worker"));
	expect(agents.length).toBe(6);
});

test("the command in the README works as it is written, on this Node", async () => {
	const [, command = ""] = /^(echo .*)$/m.exec(readFileSync("examples/README.md", "utf8")) ?? [];
	const { stdout } = await promisify(execFile)("sh", ["-c", command], { cwd: "examples" });
	expect(JSON.parse(stdout)).toMatchObject({ status: "success", result: { words: 3 } });
});
