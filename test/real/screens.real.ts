/** Every CLI in a terminal: what each activity looks like. With `REEVE_RECORD=1` the screens become fixtures. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Bench, openBench, type Terminal } from "./bench.js";
import { CLIS, type RealCli } from "./clis.js";
import { recordScreen } from "./fixtures.js";

/** opencode takes minutes for its start on a loaded machine. */
const START_MS = 200_000;

/**
 * The only way of submitting that works for all of them: a paste, and a separate Enter. Repeated until
 * the model gets a request, since an early one may be swallowed.
 */
async function submit(on: Bench, terminal: Terminal, prompt: string): Promise<void> {
	const isAsked = () => on.api.requests.some((request) => request.prompt.includes(prompt));
	await terminal.paste(prompt);
	for (let tries = 0; tries < 10 && !isAsked(); tries++) {
		await sleep(400);
		await terminal.key("Enter");
		for (let waits = 0; waits < 100 && !isAsked(); waits++) await sleep(100);
	}
}

async function bench(cli: RealCli, seeds = cli.seeds): Promise<Bench> {
	const opened = await openBench(cli, { seeds });
	onTestFinished(() => opened.close());
	return opened;
}

/** Several readings of one activity: screens are animated. */
async function look(
	terminal: Terminal,
	cli: RealCli,
	on: Bench,
	name: string,
	facts: { label: string; how: string },
	looks = 2,
): Promise<void> {
	for (let n = 1; n <= looks; n++) {
		await sleep(400);
		await recordScreen(cli, `${name}-${n}`, facts, await terminal.screen(), on);
	}
}

const SLOW = { text: "word ".repeat(200), pieces: 200, pauseMs: 200 };

describe.each(CLIS.map((cli) => [cli.cli, cli] as const))("%s in a terminal", (_, cli) => {
	test("is ready, works, is interrupted, and answers", async () => {
		const on = await bench(cli);
		const terminal = await on.open(cli.terminal);
		await terminal.shows(cli.ready, START_MS);
		await look(terminal, cli, on, "ready-first", { label: "ready", how: "just started" });
		on.api.script({ when: "take your time", withTools: true, times: 1, reply: SLOW });
		await submit(on, terminal, "take your time");
		await terminal.shows(cli.busy);
		await terminal.shows(/word word/);
		await look(
			terminal,
			cli,
			on,
			"busy-streaming",
			{ label: "busy", how: "the answer streams" },
			3,
		);
		for (const key of cli.interrupt) {
			await terminal.key(key);
			await sleep(200);
		}
		await expect
			.poll(async () => cli.busy.test(await terminal.screen()), { timeout: 30_000 })
			.toBe(false);
		await look(terminal, cli, on, "ready-interrupted", { label: "ready", how: "interrupted" });
		const fresh = await on.open(cli.terminal);
		await fresh.shows(cli.ready, START_MS);
		await submit(on, fresh, "say hello");
		await fresh.shows(/The mock received: "?say hello/);
		await sleep(2_000);
		await look(fresh, cli, on, "ready-answered", { label: "ready", how: "a turn has ended" });
	});

	test("waits for an answer that does not come", async () => {
		const on = await bench(cli);
		const terminal = await on.open(cli.terminal);
		await terminal.shows(cli.ready, START_MS);
		on.api.script({ when: "hang", withTools: true, reply: { connection: "silence" } });
		await submit(on, terminal, "please hang");
		await terminal.shows(cli.busy);
		await look(terminal, cli, on, "busy-silent", { label: "busy", how: "the API is silent" }, 2);
	});

	test("runs a tool", async () => {
		const on = await bench(cli);
		const terminal = await on.open(cli.terminal);
		await terminal.shows(cli.ready, START_MS);
		const reply = { tool: cli.shell("echo begun; sleep 60") };
		on.api.script({ when: "use the tool", withTools: true, times: 1, reply });
		await submit(on, terminal, "use the tool");
		await terminal.shows(cli.busy);
		await sleep(3_000);
		await look(terminal, cli, on, "busy-tool", { label: "busy", how: "a tool runs" });
	});

	test.runIf(cli.asking !== null)("asks before it runs a tool", async () => {
		const { terminal: args, seeds, shows, input } = cli.asking as NonNullable<RealCli["asking"]>;
		const on = await bench(cli, seeds);
		const terminal = await on.open(args);
		await terminal.shows(cli.ready, START_MS);
		const { name, input: plain } = cli.shell(`touch ${on.place.home}/touched`);
		const reply = { tool: { name, input: { ...plain, ...input } } };
		on.api.script({ when: "use the tool", withTools: true, times: 1, reply });
		await submit(on, terminal, "use the tool");
		await terminal.shows(shows);
		await look(terminal, cli, on, "asking", { label: "waiting_input", how: "asks for permission" });
	});

	test.each([
		["limit", { status: 429, limitResetsAtMs: Date.UTC(2099, 0, 1, 15), message: "no more today" }],
		["429", { status: 429, retryAfterSeconds: 30, message: "slow down" }],
		["401", { status: 401, message: "invalid key" }],
		["500", { status: 500, message: "oh no" }],
		["529", { status: 529, message: "Overloaded" }],
	])("shows %s", async (name, reply) => {
		const on = await bench(cli);
		const terminal = await on.open(cli.terminal);
		await terminal.shows(cli.ready, START_MS);
		on.api.script({ when: "please fail", withTools: true, reply });
		await submit(on, terminal, "please fail");
		await expect.poll(() => on.api.requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
		await sleep(4_000);
		const seen = await terminal.screen();
		const isLimit = /usage limit/i.test(seen);
		const label = isLimit ? "rate_limited" : cli.busy.test(seen) ? "busy" : "ready";
		await look(terminal, cli, on, `failed-${name}`, { label, how: `the API answers ${name}` });
	});

	test.each(cli.dialogs.map((dialog) => [dialog.name, dialog] as const))(
		"has a start-up dialog: %s",
		async (name, dialog) => {
			const on = await bench(cli, dialog.seeds);
			const terminal = await on.open(dialog.terminal);
			const facts = { label: "waiting_input", how: `start-up dialog: ${name}` };
			try {
				await terminal.shows(dialog.shows);
			} finally {
				await look(terminal, cli, on, `dialog-${name}`, facts, 1);
			}
		},
	);
});
