/**
 * Permission prompts of real CLIs, answered through Reeve: refused and allowed by label. The disk shows
 * which tool has run.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { CLIS, type RealCli } from "./clis.js";
import { openSession, PLACE, type Session } from "./session.js";

const ASKING = CLIS.filter(({ asking }) => asking !== null);
const QUESTION_MS = 120_000;

let session: Session | null = null;

afterEach(async () => {
	await session?.close();
	session = null;
});

/** The CLI asks for permission to create this file. */
async function askedFor(cli: RealCli): Promise<{ readonly on: Session; readonly file: string }> {
	const { terminal, seeds, input } = cli.asking as NonNullable<RealCli["asking"]>;
	const on = await openSession({ ...cli, terminal, seeds });
	session = on;
	const file = join(on.bench.place.home, "touched");
	const { name, input: plain } = cli.shell(`touch ${file}`);
	const reply = { tool: { name, input: { ...plain, ...input } } };
	on.bench.api.script({ when: "use the tool", withTools: true, times: 1, reply });
	await on.send("use the tool");
	await on.until("it asks", async () => (await on.agent()).question != null, QUESTION_MS);
	return { on, file };
}

const LABELS = { allow: /^(Yes|Allow once|Yes, proceed)/, refuse: /^(No|Reject)\b/ };

async function answer(on: Session, wanted: RegExp): Promise<string> {
	const { question } = await on.agent();
	const choice = question?.choices.find(({ label }) => wanted.test(label));
	if (choice === undefined) throw new Error(`no such choice: ${JSON.stringify(question)}`);
	return on.home.must("answer", PLACE, String(choice.number), "--question", question?.id ?? "");
}

describe.each(ASKING.map((cli) => [cli.cli, cli] as const))("%s", (_, cli) => {
	test("runs the tool after its permission is given through Reeve", async () => {
		const { on, file } = await askedFor(cli);
		const { status, question } = await on.agent();
		expect(status).toMatchObject({ state: "asks_permission", needs_you: true });
		expect(`${question?.text} ${question?.detail}`).toMatch(/touch|external/);
		expect(existsSync(file)).toBe(false);
		// opencode asks for the folder and then for the command.
		await on.until("the tool has run", async () => {
			if ((await on.agent()).question !== null) await answer(on, LABELS.allow);
			return existsSync(file);
		});
		const answered = await on.events("agent.question_answered");
		expect(answered.length).toBeGreaterThan(0);
		for (const { data } of answered) expect(data).toMatchObject({ by: "owner", confirmed: true });
	});

	test("does not run it after a refusal", async () => {
		const { on, file } = await askedFor(cli);
		await answer(on, LABELS.refuse);
		await on.until("it waits", async () => (await on.agent()).question === null);
		expect(existsSync(file)).toBe(false);
	});
});
