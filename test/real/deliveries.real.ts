/** Messages to real CLIs, while the daemon or the agent is killed: each is in the conversation once. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { killProcess } from "../support/kill.js";
import { CLIS, type RealCli } from "./clis.js";
import { COPILOT, QWEN } from "./described-clis.js";
import { countIn, openSession, type Session } from "./session.js";

/** A CLI takes half a minute to start on a loaded machine, and starts up to eight times in a test. */
const WITHIN_MS = 1_200_000;
/** After the text was accepted: before it is typed, while it is typed, before and after it is confirmed. */
const MOMENTS_MS = [0, 400, 800, 1_500];

async function open(cli: RealCli): Promise<Session> {
	const session = await openSession(cli);
	onTestFinished(() => session.close());
	await session.ask("say hello");
	return session;
}

/**
 * Sends a message, kills a process, and counts how often the message is in the conversation afterwards.
 */
async function sendAndKill(session: Session, moment: number, kill: () => Promise<void>) {
	const { home, until } = session;
	const text = `moment ${moment} of many`;
	// In other words than the text's own, which are counted.
	session.bench.api.script({ when: text, withTools: true, reply: { text: "Received." } });
	await home.must("send", "p:coder", text);
	await sleep(moment);
	await kill();
	const isTaken = async () => JSON.parse(await home.must("inbox", "--json")).length === 0;
	await until(`"${text}" is delivered`, isTaken);
	await session.ask(`after ${moment}`);
	return countIn(session.asked(`after ${moment}`)[0], text);
}

describe.each([...CLIS, QWEN, COPILOT].map((cli) => [cli.cli, cli] as const))(
	"a message sent to %s",
	(_, cli) => {
		test("arrives once, whenever the daemon dies", { timeout: WITHIN_MS }, async () => {
			const session = await open(cli);
			for (const moment of MOMENTS_MS) {
				session.bench.api.reset();
				const times = await sendAndKill(session, moment, async () => {
					await session.home.killDaemon();
					await session.home.must("daemon", "start");
				});
				expect([moment, times]).toEqual([moment, 1]);
			}
			expect(await session.events("inbox.dead")).toEqual([]);
		});

		test("arrives once, whenever the agent dies", { timeout: WITHIN_MS }, async () => {
			const session = await open(cli);
			for (const moment of MOMENTS_MS) {
				session.bench.api.reset();
				const { pid } = await session.agent();
				const times = await sendAndKill(session, moment, async () => {
					killProcess(pid);
					await session.until("it is started again", async () => {
						const now = await session.agent();
						return now.process === "running" && now.pid !== pid;
					});
				});
				expect([moment, times]).toEqual([moment, 1]);
			}
			expect(await session.events("inbox.dead")).toEqual([]);
		});

		test("arrives once, whenever the agent dies and then the daemon", {
			timeout: WITHIN_MS,
		}, async () => {
			const session = await open(cli);
			for (const moment of MOMENTS_MS) {
				session.bench.api.reset();
				const { pid } = await session.agent();
				const times = await sendAndKill(session, moment, async () => {
					killProcess(pid);
					await session.until("it is started again", async () => {
						const now = await session.agent();
						return now.process === "running" && now.pid !== pid;
					});
					await sleep(moment * 4);
					await session.home.killDaemon();
					await session.home.must("daemon", "start");
				});
				expect([moment, times]).toEqual([moment, 1]);
			}
			expect(await session.events("inbox.dead")).toEqual([]);
		});
	},
);
