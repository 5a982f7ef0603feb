/** Every CLI without a terminal: how it answers, and how it reports a failing API. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MockReply } from "../../src/testing/mock-api/script.js";
import { type Bench, openBench } from "./bench.js";
import { CLIS } from "./clis.js";
import { recordStream } from "./fixtures.js";

const IN_THREE_HOURS = Date.UTC(2099, 0, 1, 15);

const FAILURES: Readonly<Record<string, MockReply>> = {
	"401": { status: 401, message: "invalid x-api-key" },
	"429": { status: 429, retryAfterSeconds: 2, message: "slow down" },
	limit: { status: 429, limitResetsAtMs: IN_THREE_HOURS, message: "usage limit reached" },
	"500": { status: 500, message: "oh no" },
	"529": { status: 529, message: "Overloaded" },
	dropped: { text: "half of an answer that never comes to its end", breaks: "reset" },
	refusal: { text: "I cannot help with that.", refuses: true },
};

describe.each(CLIS.map((cli) => [cli.cli, cli] as const))("%s without a terminal", (_, cli) => {
	let bench: Bench;
	beforeAll(async () => {
		bench = await openBench(cli);
	});
	afterAll(() => bench.close());

	test("answers a prompt, and continues the same conversation", async () => {
		const ended = await bench.headless(cli.headless("say hello"));
		await recordStream(cli, "ok", ended, bench);
		expect(ended.code).toBe(0);
		expect(ended.stdout.replaceAll('"delta":true', "")).toContain("The mock");
		const id = /"(?:session_id|thread_id|sessionID|id)":"([\w-]{20,})"/.exec(ended.stdout)?.[1];
		expect(id).toBeDefined();
		bench.api.reset();
		const more = await bench.headless(cli.resume(id ?? "", "say more"));
		await recordStream(cli, "resumed", more, bench);
		expect(more.code).toBe(0);
		const asked = JSON.stringify(bench.api.requests.map(({ body }) => body));
		expect(asked).toContain("say hello");
		expect(asked).toContain("say more");
	});

	test("runs a tool", async () => {
		bench.api.reset();
		const reply = { tool: cli.shell("echo tool-$((40+2))") };
		bench.api.script({ when: "use the tool", withTools: true, times: 1, reply });
		const ended = await bench.headless(cli.headless("use the tool"));
		await recordStream(cli, "tool", ended, bench);
		expect(ended.code).toBe(0);
		expect(bench.api.requests.some((request) => request.isToolResult)).toBe(true);
	});

	test.runIf(cli.cli === "claude")("lets a subagent work, and reports its usage", async () => {
		bench.api.reset();
		const input = { description: "look", prompt: "inner work", subagent_type: "general-purpose" };
		bench.api.script(
			{ when: "delegate", withTools: true, times: 1, reply: { tool: { name: "Task", input } } },
			{ when: "inner work", reply: { text: "inner done", usage: { input: 1234, output: 56 } } },
		);
		const ended = await bench.headless(cli.headless("delegate it"));
		await recordStream(cli, "subagent", ended, bench);
		expect(ended.stdout).toContain('"spawned":1');
	});

	test("does not find a conversation that is not there", async () => {
		const unknown = "00000000-0000-4000-8000-000000000000";
		const id = cli.cli === "opencode" ? "ses_000000000000000000000000000" : unknown;
		const ended = await bench.headless(cli.resume(id, "go on"));
		await recordStream(cli, "unknown-conversation", ended, bench);
		expect(ended.code).not.toBe(0);
	});

	test.each(Object.entries(FAILURES))("shows %s", async (name, reply) => {
		bench.api.reset();
		bench.api.script({ when: "please fail", withTools: true, reply });
		const ended = await bench.headless(cli.headless("please fail"), 200_000);
		await recordStream(cli, name, ended, bench);
		const { code, signal, tookMs } = ended;
		const requests = bench.api.requests.length;
		console.log(
			`${cli.cli} ${name}: code ${code} signal ${signal}, ${tookMs} ms, ${requests} requests`,
		);
		expect(signal).toBeNull();
	});
});
