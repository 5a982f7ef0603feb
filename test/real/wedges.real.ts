/**
 * Problems that only show over time: silent tools, silent APIs, an exit before the first successful
 * turn.
 */

import { describe, expect, onTestFinished, test } from "vitest";
import { killProcess } from "../support/kill.js";
import { CLIS, type RealCli } from "./clis.js";
import { COPILOT, QWEN } from "./described-clis.js";
import { FAILURES } from "./failures.js";
import { countIn, openSession, running, type Session } from "./session.js";

async function open(cli: RealCli, more = {}): Promise<Session> {
	const session = await openSession(cli, more);
	onTestFinished(() => session.close());
	return session;
}

/** It keeps nothing of a failed turn, and does not find a conversation again that has no other. */
const FORGETS = ["gemini"];

describe.each([...CLIS, QWEN, COPILOT].map((cli) => [cli.cli, cli] as const))("%s", (name, cli) => {
	test("is not reported as stalled while a tool is silent, but is while the API is", async () => {
		const session = await open(cli, { stall: { after: "10s" } });
		const { bench, until, events } = session;
		const stalls = async () => (await events("agent.stalled")).length;
		// A first turn may take longer than that: opencode downloads packages.
		await session.ask("say hello");
		const before = await stalls();
		const marker = `reeve-silent-${process.pid}-${name}`;
		const reply = { tool: cli.shell(`perl -e 'sleep 40' ${marker}`) };
		bench.api.script({ when: "use the tool", withTools: true, times: 1, reply });
		await session.send("use the tool");
		await until("the tool runs", () => running(marker).length > 0);
		await until("the tool has ended", () => running(marker).length === 0);
		expect(await stalls()).toBe(before);
		await session.ask("go on");
		bench.api.script({ when: "be silent", withTools: true, reply: { connection: "silence" } });
		await session.send("be silent");
		await until("it stands still", async () => (await stalls()) > before);
	});

	test("recovers from a hang by a nudge, an interrupt or a restart, each tried once, and continues", async () => {
		const nudge = "Carry on where you were.";
		const steps = ["nudge", "interrupt", "restart"];
		const session = await open(cli, { stall: { after: "12s", steps, nudge } });
		const { bench, until, events, asked } = session;
		await session.ask("say hello");
		bench.api.script({
			when: "be silent",
			withTools: true,
			times: 1,
			reply: { connection: "silence" },
		});
		const before = (await events("agent.stalled")).length;
		await session.send("be silent");
		await until("it is asked to carry on", () => asked(nudge).length > 0);
		await until("it is ready", async () => (await session.agent()).activity === "ready");
		const taken = (await events("agent.stalled")).slice(before);
		const names = taken.map(({ data }) => (data as { step: string }).step);
		console.log(`${name}: ${names.join(", ")}`);
		expect(names).toEqual(steps.slice(0, names.length));
	});

	test("that exits before its first successful turn continues the same conversation, or reports that it is lost", async () => {
		const session = await open(cli);
		const { agent, bench, until } = session;
		bench.api.script({ when: "first words", withTools: true, reply: FAILURES.dropped });
		await session.send("first words");
		await until("it is asked", () => session.asked("first words").length > 0);
		await until("it is known", async () => (await agent()).conversation !== null);
		const { pid, conversation } = await agent();
		killProcess(pid);
		await until("it is started again", async () => (await agent()).restarts === 1);
		bench.api.reset();
		await session.ask("second words");
		const lost = await session.events("agent.conversation_lost");
		expect(lost).toHaveLength(FORGETS.includes(name) ? 1 : 0);
		if (FORGETS.includes(name)) return;
		expect((await agent()).conversation).toBe(conversation);
		expect(countIn(session.asked("second words")[0], "first words")).toBe(1);
	});
});
