/** Real agents that speak ACP, as workers under a real daemon. Needs `npm run build`. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TaskDetailJson } from "../../src/http/contract/tasks.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { type Bench, openBench } from "./bench.js";
import { CLIS } from "./clis.js";

/** Gemini says that it can load a session, and then finds none, although its file is there. */
const ACP = [
	["gemini", ["--acp"], "No previous sessions found"],
	["opencode", ["acp"], null],
] as const;

describe.each(ACP)("%s over ACP", (name, args, notResumed) => {
	const cli = CLIS.find((each) => each.cli === name) as (typeof CLIS)[number];
	let bench: Bench;
	let home: FleetHome;
	beforeAll(async () => {
		bench = await openBench(cli, { seeds: cli.asking?.seeds ?? cli.seeds });
		home = createFleetHome();
		const command = JSON.stringify([bench.program, ...args]);
		const { PATH: _, ...env } = bench.env;
		const keys = `timeout: 5m, retry: { max_attempts: 1 }, cwd: ${bench.place.cwd}`;
		home.writeFleet(
			`gem: { kind: worker, adapter: acp, command: ${command}, env: ${JSON.stringify(env)}, ${keys} }`,
		);
		await home.must("up");
	});
	afterAll(async () => {
		await home.close();
		await bench.close();
	});

	async function call(action: string, payload: unknown): Promise<TaskDetailJson> {
		const ran = await home.reeve("call", "p:gem", action, "-p", JSON.stringify(payload), "--json");
		return JSON.parse(ran.stdout) as TaskDetailJson;
	}

	test("answers, and resumes the conversation in another process", async () => {
		const first = await call("ask", { prompt: "say hello" });
		expect(first).toMatchObject({ status: "succeeded" });
		const { text, conversation } = first.result as { text: string; conversation: string };
		expect(text).toContain("say hello");
		await home.must("restart", "p:gem");
		bench.api.reset();
		const { attempts, ...next } = await call("ask", { prompt: "say more", conversation });
		const { error: refused } = attempts[0] ?? {};
		// Whether Gemini finds the conversation depends on when it wrote its file.
		if (notResumed !== null && refused) {
			expect(refused.message).toContain(notResumed);
			return;
		}
		expect(attempts.map(({ error }) => error?.message)).toEqual([undefined]);
		expect(next).toMatchObject({ status: "succeeded", result: { conversation } });
		expect(JSON.stringify(bench.api.requests.map(({ body }) => body))).toContain("say hello");
	});

	test("asks the operator before it runs a tool", async () => {
		const file = join(bench.place.cwd, "touched");
		const reply = { tool: cli.shell(`touch ${file}`) };
		bench.api.script({ when: "use the tool", withTools: true, times: 1, reply });
		const asked = call("ask", { prompt: "use the tool" });
		await eventually(
			async () => (await home.must("reply", "--json")).includes("touch"),
			"it asks",
			120_000,
		);
		expect(existsSync(file)).toBe(false);
		await home.must("reply", "p:gem", "yes");
		expect(await asked).toMatchObject({ status: "succeeded" });
		expect(existsSync(file)).toBe(true);
	});

	test("is cancelled in the middle of an answer", async () => {
		const reply = { text: "word ".repeat(500), pieces: 500, pauseMs: 200 };
		bench.api.script({ when: "take your time", withTools: true, reply });
		const asked = call("ask", { prompt: "take your time" });
		await eventually(
			() => bench.api.requests.some(({ prompt }) => prompt.includes("take your time")),
			"it asks the model",
		);
		await eventually(
			async () => (await call("cancel", {})).status === "succeeded",
			"the turn is cancelled",
		);
		expect(JSON.stringify((await asked).attempts)).toContain("the turn was cancelled");
	});

	test("reports that its key is wrong", async () => {
		bench.api.script({ when: "locked out", withTools: true, reply: { status: 401 } });
		const { status, attempts } = await call("ask", { prompt: "locked out" });
		expect([status, attempts[0]?.error?.kind]).toEqual(["dead_lettered", "backend_failure"]);
	});
});
