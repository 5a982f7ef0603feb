/** Every CLI called through its adapter, as the daemon does it. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Outcome } from "../../src/core/outcome.js";
import { headlessFor } from "../../src/sessions/headless.js";
import type { MockReply } from "../../src/testing/mock-api/script.js";
import { attempt, NEVER, NO_LIMITS, openExecutor, request } from "../executor/world.js";
import { type Bench, openBench } from "./bench.js";
import { CLIS } from "./clis.js";

const FAILURES: readonly (readonly [string, MockReply, string])[] = [
	["401", { status: 401, message: "invalid x-api-key" }, "unusable"],
	["429", { status: 429, retryAfterSeconds: 2 }, "backend_failure"],
	["529", { status: 529, message: "Overloaded" }, "backend_failure"],
	["500", { status: 500 }, "backend_failure"],
	["dropped", { text: "half of an answer", breaks: "reset" }, "backend_failure"],
];

describe.each(CLIS.map((cli) => [cli.cli, cli] as const))("a call of %s", (_, cli) => {
	let bench: Bench;
	beforeAll(async () => {
		bench = await openBench(cli);
	});
	afterAll(() => bench.close());

	async function ask(payload: unknown): Promise<Outcome> {
		const { program, place, env } = bench;
		const args = cli.cli === "gemini" ? ["--approval-mode", "yolo"] : [];
		const { outcome } = await openExecutor().call(
			attempt(
				{
					...{ agentId: "real:cli", argv: [program, ...args], cwd: place.cwd, env },
					...{ limits: NO_LIMITS, extraOutput: "tolerate" },
				},
				{
					adapter: headlessFor({ adapter: cli.cli }),
					request: request({ action: "ask", payload }),
					timeoutMs: 200_000,
				},
			),
			NEVER,
		);
		if (outcome === null) throw new Error("called off");
		return outcome;
	}

	test("answers, and continues the conversation", async () => {
		const first = await ask({ prompt: "--say hello" });
		expect(first).toMatchObject({ ok: true, result: { text: expect.stringContaining("hello") } });
		const { conversation } = (first as { result: { conversation: string } }).result;
		bench.api.reset();
		const next = await ask({ prompt: "say more", conversation });
		expect(next).toMatchObject({ ok: true, result: { conversation } });
		expect(JSON.stringify(bench.api.requests.map(({ body }) => body))).toContain("--say hello");
	});

	test.each(FAILURES)("reports %s with its cause", async (_name, reply, expected) => {
		bench.api.reset();
		bench.api.script({ when: "please fail", withTools: true, reply });
		expect(await ask({ prompt: "please fail" })).toMatchObject({ ok: false, error: expected });
	});
});
