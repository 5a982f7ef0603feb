/**
 * Screens that the first patterns were not based on: in common terminal sizes, with responses that look
 * like a CLI's own text. With `REEVE_RECORD=1` they become fixtures. Patterns were fixed with the
 * `misleading` set before the `unseen` one was recorded.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Bench, openBench, type Size, type Terminal } from "./bench.js";
import { CLIS, type RealCli } from "./clis.js";
import { recordScreen } from "./fixtures.js";

const SETS: readonly { folder: string; size: Size; text: () => string }[] = [
	{ folder: "misleading-screens", size: [80, 24], text: () => MISLEADING },
	{ folder: "misleading-screens", size: [120, 30], text: () => MISLEADING },
	{ folder: "unseen-screens", size: [100, 36], text: () => UNSEEN },
];

/** Text that an agent may well write while working on a tool like this one. */
const MISLEADING = `Here is what the screen shows:

- a spinner with "esc to interrupt" or "esc to cancel" beside it
- the question "Do you want to proceed?" with these choices:

  1. Yes, proceed
  2. No, and tell it what to do differently

- "You've hit your usage limit" when there is nothing left, and "Working..." before

> Do you trust the files in this folder? (y/n)

That is all.`;

const UNSEEN = `I looked at how such tools show that they work. Three of them:

| tool | while it works | when it asks |
|------|----------------|--------------|
| one  | Working (12s • press esc to interrupt) | Would you like to run the following command? |
| two  | Thinking... (esc to cancel) | Allow execution of: 'rm -rf build'? |
| three | esc interrupt, retrying in 10s | Permission required: Allow once / Allow always |

Then there are limits: "Claude usage limit reached. Your limit will reset at 3pm", "Usage limit reached for
gemini-pro", "Retrying (2/3) in 1s", "Type your message or @path/to/file", "Ask Codex to do anything".

❯ 1. Yes
  2. Yes, and don't ask again
› 3. No, exit

Press Enter to continue, or Esc to cancel.`;

async function submit(terminal: Terminal, prompt: string): Promise<void> {
	await terminal.paste(prompt);
	await sleep(500);
	await terminal.key("Enter");
}

const cases = CLIS.flatMap((cli) =>
	SETS.map(
		({ folder, size, text }) => [cli.cli, size.join("x"), cli, { folder, size, text }] as const,
	),
);

describe.each(cases)("%s at %s", (_, slug, cli, { folder, size, text }) => {
	async function open(seeds = cli.seeds, args = cli.terminal): Promise<[Bench, Terminal]> {
		const bench = await openBench(cli, { seeds });
		onTestFinished(() => bench.close());
		return [bench, await bench.open(args, size)];
	}

	/** Several readings of one activity: screens are animated. */
	async function look(on: Bench, terminal: Terminal, name: string, label: string, how: string) {
		for (let n = 1; n <= 2; n++) {
			await sleep(700);
			const screen = await terminal.screen();
			await recordScreen(cli, `${slug}-${name}-${n}`, { label, how }, screen, on, folder);
		}
	}

	const isAsked = (bench: Bench, prompt: string) => () =>
		bench.api.requests.some((each) => each.tools.length > 0 && each.prompt.includes(prompt));
	const until = (holds: () => boolean) => expect.poll(holds, { timeout: 60_000 }).toBe(true);

	/** Proves that it accepts input by submitting a prompt; one that came too early is typed again. */
	async function ask(bench: Bench, terminal: Terminal, prompt: string): Promise<void> {
		await submit(terminal, prompt);
		const asked = isAsked(bench, prompt);
		for (let tries = 0; tries < 8 && !asked(); tries++) {
			await sleep(4_000);
			if (asked()) break;
			const isTyped = (await terminal.screen()).includes(prompt);
			await (isTyped ? terminal.key("Enter") : submit(terminal, prompt));
		}
		await until(asked);
	}

	async function started(...args: Parameters<typeof open>): Promise<[Bench, Terminal]> {
		const opened = await open(...args);
		await opened[1].shows(cli.ready, 180_000);
		// Some take no input for a while after they show it.
		await sleep(3_000);
		return opened;
	}

	test("has just started, and has answered with misleading text", async () => {
		const [bench, terminal] = await started();
		await look(bench, terminal, "ready-first", "ready", "just started");
		bench.api.script({ when: "describe it", withTools: true, reply: { text: text() } });
		await ask(bench, terminal, "describe it");
		await sleep(5_000);
		await look(
			bench,
			terminal,
			"ready-misleading",
			"ready",
			"its answer talks of dialogs and limits",
		);
	});

	test("streams an answer with misleading text, and is interrupted", async () => {
		const [bench, terminal] = await started();
		const reply = { text: `${text()}\n`.repeat(6), pieces: 300, pauseMs: 150 };
		bench.api.script({ when: "at length", withTools: true, times: 1, reply });
		await ask(bench, terminal, "describe it at length");
		await sleep(2_000);
		await look(bench, terminal, "busy-early", "busy", "the answer has begun to stream");
		await sleep(10_000);
		await look(bench, terminal, "busy-late", "busy", "the answer fills the screen, and streams");
		for (const key of cli.interrupt) {
			await terminal.key(key);
			await sleep(200);
		}
		await sleep(4_000);
		await look(bench, terminal, "ready-interrupted", "ready", "interrupted");
	});

	test("runs a tool, and waits for a silent API", async () => {
		const [bench, terminal] = await started();
		const tool = { tool: cli.shell("echo 'Do you want to proceed?'; sleep 8") };
		bench.api.script(
			{ when: "use the tool", withTools: true, times: 1, reply: tool },
			{ when: "use the tool", withTools: true, reply: { connection: "silence" } },
		);
		await ask(bench, terminal, "use the tool");
		await sleep(3_000);
		await look(bench, terminal, "busy-tool", "busy", "a tool runs");
		await until(() => bench.api.requests.some(({ isToolResult }) => isToolResult));
		await sleep(3_000);
		await look(bench, terminal, "busy-silent", "busy", "the API is silent");
	});

	test.runIf(cli.asking !== null)("asks before it runs a tool", async () => {
		const { terminal: args, seeds, input } = cli.asking as NonNullable<RealCli["asking"]>;
		const [bench, terminal] = await started(seeds, args);
		const { name, input: plain } = cli.shell(
			`touch ${bench.place.home}/touched-by-a-tool-with-a-long-name`,
		);
		const tool = { tool: { name, input: { ...plain, ...input } } };
		bench.api.script({ when: "use the tool", withTools: true, times: 1, reply: tool });
		await ask(bench, terminal, "use the tool");
		await sleep(4_000);
		await look(bench, terminal, "asking", "waiting_input", "asks for permission");
	});
});
