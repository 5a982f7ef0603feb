/** Statements of the page while it reads, without costs, and about states that few fleets have. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeWithChromium } from "../support/needs.js";
import { fixtureAgent } from "./fixture-fleet.js";
import { QUIET_STATES } from "./fixture-more.js";
import { useOpenedPage } from "./open-page.js";

describeWithChromium("the page", () => {
	const opened = useOpenedPage();

	const textOf = (page: Page, selector: string) => page.locator(selector).innerText();

	test("claims nothing about an agent that it still reads", async () => {
		await opened("/#/agents/ops:nightly", {}, async (page) => {
			// The answers about this agent do not arrive.
			await page.route(/\/agents\/ops%3Anightly(\/runs|\/config|\?|$)/, () => {});
			await page.reload();
			await page.getByRole("heading", { name: "ops:nightly" }).waitFor();
			await page.getByRole("region", { name: "Runs" }).getByText("Reading…").waitFor();
			expect(await textOf(page, "main")).not.toMatch(/Nothing was printed|No runs yet/);
		});
	});

	test("shows no cost if no CLI reports one, and degraded agents on their own", async () => {
		const usage = { usd: null, tokens: 5_000 };
		const fleet = [...QUIET_STATES.slice(0, 6), fixtureAgent("p:a", quiet(usage))];
		await opened("/", { fleet }, async (page) => {
			await page.getByRole("button", { name: "1 degraded" }).click();
			await page.locator('tr[data-id="web:server"]').waitFor();
			expect(await page.locator("tr.agent").count()).toBe(1);
			expect(await textOf(page, ".today")).toBe("Today 5 k tokens");
		});
	});

	test("does not repeat the state as its reason", async () => {
		const fleet = [fixtureAgent("p:a", { state: "running", why: "running", adapter: "generic" })];
		await opened("/", { fleet }, async (page) => {
			await page.locator("tr.agent").waitFor();
			expect((await textOf(page, "tr.agent .c-state")).trim()).toBe("Running");
		});
	});

	test("names the limit of an unused budget, and no accounts of programs", async () => {
		const unused = { of: "project", name: "ops", tokens_per_day: 1e6, usd_per_day: null };
		const program = { account: "ops:web", agents: ["ops:web"], limited: false };
		const change = (answer: unknown) => {
			const { budgets, accounts, ...rest } = answer as Record<string, readonly unknown[]>;
			if (budgets === undefined || accounts === undefined) return answer;
			return {
				...rest,
				budgets: [...budgets, { ...unused, tokens_today: 0, usd_today: null }],
				accounts: [...accounts, { ...program, reason: null, until: null }],
			};
		};
		await opened("/#/usage", { change }, async (page) => {
			await page.getByText("0 of 1.0 M tokens").waitFor();
			expect(await textOf(page, "main")).not.toMatch(/no limit ·|ops:web/);
			await page.getByLabel("Days").selectOption("31");
			await expect.poll(() => page.locator(".bars li").count()).toBe(31);
			expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(
				1_440,
			);
		});
	});

	test("lists an event once, and stays where it is read", async () => {
		await opened("/#/events", {}, async (page, server) => {
			await page.getByText("crashed 7 times").waitFor();
			const emit = (n: number) =>
				server.emit({ type: "agent.activity", agent: "shop:tests", data: { to: `step ${n}` } });
			for (let n = 0; n < 80; n++) emit(n);
			await page.getByText("to step 79").waitFor();
			expect(await page.getByText("crashed 7 times").count()).toBe(1);
			const top = () => page.evaluate("Math.round(scrollY)");
			await expect.poll(top).not.toBe(0);
			await page.evaluate("scrollTo(0, 0)");
			for (let n = 80; n < 90; n++) emit(n);
			await page.getByText("to step 89").waitFor({ state: "attached" });
			await page.waitForTimeout(300);
			expect(await top(), "nothing moves while it is read").toBe(0);
		});
	});

	test("has a first heading on the screen of circuits", async () => {
		await opened("/#/tasks/circuits", {}, async (page) => {
			await page.getByRole("heading", { name: "Circuits", level: 1 }).waitFor();
		});
	});

	test("lets the drawings of a day go on without an event", async () => {
		await opened("/#/agents/shop:tests", {}, async (page) => {
			const now = () => page.locator(".day text.label").last().textContent();
			await expect.poll(now).toBe("now 14:28");
			await page.evaluate(`(() => {
				const real = Date.now;
				Date.now = () => real() + 3_600_000;
			})()`);
			await expect.poll(now, { timeout: 20_000 }).toBe("now 15:28");
		});
	});
});

const quiet = (usage: { readonly usd: null; readonly tokens: number }) =>
	({ state: "ready", why: "Waits for a message.", ...usage }) as const;
