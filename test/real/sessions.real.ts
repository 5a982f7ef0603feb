/** Every CLI as a session agent under a real daemon, prompted through its inbox. */

import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reportsCost } from "../../src/config/known-adapters.js";
import { adapterOf } from "../../src/sessions/adapters.js";
import { killProcess } from "../support/kill.js";
import { CLIS, type RealCli } from "./clis.js";
import { COPILOT, QWEN } from "./described-clis.js";
import { EXPECTED, FAILURES, type FailureName, type FailureStep } from "./failures.js";
import { countIn, openSession, PLACE, running, type Session, strangers } from "./session.js";

/** The folder for temporary files that the agent was given. */
function temporaryOf(pid: number | null): string {
	const env = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
	return env.find((line) => line.startsWith("TMPDIR="))?.slice("TMPDIR=".length) ?? "";
}

function bytesIn(folder: string): number {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.reduce((sum, { parentPath, name }) => sum + lstatSync(join(parentPath, name)).size, 0);
}

/** The actions of a person after a failure, each until it is done. */
const STEPS: Readonly<Record<FailureStep, (session: Session, cli: RealCli) => Promise<unknown>>> = {
	async interrupt({ press, screen, until }, { interrupt, busy }) {
		for (const key of interrupt) {
			await press(key);
			// Two simultaneous ones may count as one key.
			await sleep(300);
		}
		await until("its turn is broken off", async () => !busy.test(await screen()));
	},
	async stop({ press, screen, until }) {
		await press("Down");
		await until("it is to stop", async () => /● 2\. Stop/.test(await screen()));
		await press("Enter");
		await until("the menu is gone", async () => !/2\. Stop/.test(await screen()));
	},
	resume: ({ home }) => home.must("resume", PLACE),
};

describe.each([...CLIS, QWEN, COPILOT].map((cli) => [cli.cli, cli] as const))(
	"%s as a session",
	(name, cli) => {
		let session: Session;
		beforeAll(async () => {
			session = await openSession(cli, { turn_retry: { max_attempts: 0 } });
		});
		afterAll(() => session.close());

		const confirms =
			"adapter" in cli || adapterOf({ adapter: name, profile: null }).profile.confirmsPrompts;

		test("starts on a fresh HOME without a human, and answers", async () => {
			await session.ask("say hello");
			expect(session.asked("say hello")).toHaveLength(1);
			const { process: state, pid } = await session.agent();
			expect(state).toBe("running");
			// No daemon of its own that would outlive every way to stop it.
			expect(strangers(`HOME=${session.bench.place.home}`, pid ?? 0)).toEqual([]);
		});

		test("reports its usage", async () => {
			const { agent, until } = session;
			// The usage report of a custom CLI is unknown.
			if ("adapter" in cli) return expect((await agent()).usage).toBeNull();
			const isReported = async () => ((await agent()).usage?.tokens_today ?? 0) > 100;
			await until("its tokens are counted", isReported);
			const { usage } = await agent();
			if (reportsCost("session", name)) expect(usage?.usd_today).not.toBeNull();
		});

		test("is killed, and continues the same conversation", async () => {
			const { agent, until, bench } = session;
			const before = await agent();
			const temporary = temporaryOf(before.pid);
			writeFileSync(join(temporary, "left-behind"), "");
			const leftBytes = bytesIn(temporary);
			killProcess(before.pid);
			await until("it is started again", async () => {
				const { pid, process: state } = await agent();
				return state === "running" && pid !== null && pid !== before.pid;
			});
			bench.api.reset();
			await session.ask("say more");
			expect(countIn(session.asked("say more")[0], "say hello")).toBeGreaterThan(0);
			expect(countIn(session.asked("say more")[0], "say more")).toBe(1);
			expect(await agent()).toMatchObject({ restarts: 1, policy: "healthy" });
			// A start leaves as much as the one before, and not that much more.
			expect(existsSync(join(temporary, "left-behind"))).toBe(false);
			expect(bytesIn(temporary)).toBeLessThan(1.5 * leftBytes + 1_000_000);
			console.log(
				`${name}: ${leftBytes} bytes of temporary files, ${bytesIn(temporary)} after a restart`,
			);
		});

		test.each(Object.keys(FAILURES) as FailureName[])(
			"survives %s, reports it, and continues",
			async (failure) => {
				const { agent, bench, until, asked } = session;
				const expected = EXPECTED[name]?.[failure];
				const [failing, next] = [`now ${failure}`, `after ${failure}`];
				const { pid } = await agent();
				bench.api.reset();
				bench.api.script({ when: failing, withTools: true, reply: FAILURES[failure] });
				await session.send(failing);
				const times = expected?.asksAgain ? 2 : 1;
				await until("the model is asked", () => asked(failing).length >= times);
				expect(countIn(asked(failing)[0], failing)).toBe(1);
				if (expected !== undefined) {
					const { activity, failure: cause, detail } = expected;
					await until(`${activity}, failed by ${cause}`, async () => {
						const seen = await agent();
						const matches = (seen.activity_detail ?? "").includes(detail ?? "");
						return seen.activity === activity && seen.turn_failure === cause && matches;
					});
				}
				// A key too many is no harmless one: two Esc rewind an idle copilot.
				const { steps = [] } = expected ?? { steps: ["interrupt", "resume"] as const };
				for (const step of steps) await STEPS[step](session, cli);
				bench.api.reset();
				// In other words than the prompt's own, which are counted.
				const well = { text: "The service is well again." };
				bench.api.script({ when: failing, withTools: true, reply: well });
				await session.ask(next);
				expect(countIn(asked(next)[0], next)).toBe(1);
				expect(countIn(asked(next)[0], failing)).toBeLessThanOrEqual(1);
				expect((await agent()).pid).toBe(pid);
			},
		);

		test("received every prompt once, and confirmed it where it can", async () => {
			const delivered = await session.events("inbox.delivered");
			const sent = 2 + 2 * Object.keys(FAILURES).length;
			expect(delivered.map(({ data }) => data)).toMatchObject(
				Array.from({ length: sent }, () => ({ confirmed: confirms })),
			);
			expect(await session.events("inbox.dead")).toEqual([]);
		});

		test("exits on request, and leaves no tool behind", async () => {
			const { bench, home, until } = session;
			const marker = `reeve-tool-${process.pid}-${name}`;
			const reply = { tool: cli.shell(`perl -e 'sleep 100000' ${marker}`) };
			bench.api.script({ when: "use the tool", withTools: true, times: 1, reply });
			await session.send("use the tool");
			await until("the tool runs", () => running(marker).length > 0);
			const sinceMs = performance.now();
			const down = JSON.parse(await home.must("down", "p", "--json"));
			const steps = await session.events("agent.drain_step");
			const tookS = ((performance.now() - sinceMs) / 1_000).toFixed(1);
			const line = `${name}: ${tookS} s, ${steps.map(({ data }) => JSON.stringify(data))}`;
			console.log(`${line}, ${JSON.stringify(down)}`);
			expect(down).toMatchObject([{ outcome: "graceful" }]);
			expect(running(marker)).toEqual([]);
			expect(running(bench.place.home)).toEqual([]);
		});
	},
);
