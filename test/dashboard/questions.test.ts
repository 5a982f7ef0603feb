/** A person's everyday questions: each is answered within two clicks, on a wide screen and on a phone. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithChromium } from "../support/needs.js";
import { type Browser, PHONE, startBrowser, WIDE } from "./browser.js";
import { type FixtureServer, startFixtureServer } from "./fixture-server.js";

/** The names of the links and buttons to press, one after the other. */
type Path = readonly string[];

interface Everyday {
	readonly question: string;
	/** From the fleet. */
	readonly wide: Path;
	readonly phone: Path;
	/** The texts that answer it. */
	readonly shows: readonly string[];
}

const QUESTIONS: readonly Everyday[] = [
	{
		...{ question: "Which agent waits for me, and for what?", wide: [], phone: [] },
		shows: ["6 need you", "npm run db:migrate -- --env staging"],
	},
	{
		...{ question: "What was finished while I was away?", wide: [], phone: [] },
		shows: ["2 finished, not seen yet", "All 212 endpoints have types now"],
	},
	{
		...{ question: "Why is it halted?", wide: [], phone: [] },
		shows: ["Crashed 7 times without a stable run", "Error: Cannot find module"],
	},
	{
		...{ question: "When does the limit lift, and what continues then?", wide: [], phone: [] },
		shows: ["Next, by itself", "shop:docs: its limit lifts"],
	},
	{
		question: "Why did it restart at night?",
		...{ wide: ["coder"], phone: ["coder", "Runs"] },
		shows: ["Out of memory: over its limit of 2 GB", "Restarted after 30 s"],
	},
	{
		question: "What did it cost this week?",
		...{ wide: ["Usage"], phone: ["Usage"] },
		shows: ["in 7 days", "By agent"],
	},
	{
		question: "Which calls failed permanently, and is it safe to replay them?",
		...{ wide: ["Look at all 3"], phone: ["Look at all 3"] },
		shows: ["3 dead letters", "May have taken effect"],
	},
	{
		question: "What happened in the last hours?",
		...{ wide: ["Events"], phone: ["Events"] },
		shows: ["crashed 7 times", "to waiting_input"],
	},
	{
		question: "What does it print, and did it ever print an error?",
		...{ wide: ["coder", "Log"], phone: ["coder", "Log"] },
		shows: ["14 passed", "Search"],
	},
	{
		question: "Which settings does it run with, and where do they come from?",
		...{ wide: ["coder"], phone: ["coder", "Settings"] },
		shows: ["claude --model opus", "reeve.yaml:14"],
	},
	{
		question: "What runs tonight by itself, and did it work last night?",
		...{ wide: ["Tasks", "Schedules"], phone: ["Tasks", "Schedules"] },
		shows: ["writes to shop:coder", "Succeeded"],
	},
	{
		question: "What do all agents print now?",
		...{ wide: ["Events", "Output"], phone: ["Events", "Output"] },
		shows: ["compiled 214 files", "FAIL src/login.test.ts"],
	},
	{
		question: "Who is near a budget?",
		...{ wide: ["Usage"], phone: ["Usage"] },
		shows: ["Budgets today", "Low"],
	},
	{
		question: "Is the daemon healthy?",
		...{ wide: ["Host"], phone: ["More", "Host"] },
		shows: ["1 to look at", "loginctl enable-linger"],
	},
	{
		question: "Who has access?",
		...{ wide: ["Access"], phone: ["More", "Access"] },
		shows: ["This browser", "operate:shop"],
	},
];

/** The first visible link or button whose name starts with this. */
function press(page: Page, name: string): Promise<void> {
	const pattern = new RegExp(`^\\d*\\+?\\s*${name}\\b`);
	return page
		.getByRole("link", { name: pattern })
		.or(page.getByRole("button", { name: pattern }))
		.filter({ visible: true })
		.first()
		.click();
}

describeWithChromium("everyday questions", () => {
	let browser: Browser;
	let server: FixtureServer;
	beforeAll(async () => {
		browser = await startBrowser();
		server = await startFixtureServer();
	});
	afterAll(async () => {
		await browser?.close();
		await server?.close();
	});

	test.each([
		["wide", { size: WIDE }],
		["phone", { size: PHONE, touch: true }],
	] as const)("are answered within two clicks, %s", { timeout: 300_000 }, async (form, view) => {
		const { page, context } = await browser.open(server.url, view);
		for (const { question, shows, ...paths } of QUESTIONS) {
			await page.goto(`${server.url}/#/`);
			await page.getByRole("heading", { name: "6 need you" }).waitFor();
			const path = paths[form];
			expect(path.length, question).toBeLessThanOrEqual(2);
			for (const name of path) await press(page, name);
			for (const text of shows) {
				const found = page.getByText(text).filter({ visible: true }).first();
				await found.waitFor({ timeout: 15_000 }).catch(() => {
					throw new Error(`"${question}" is not answered by ${path.join(", ")}: no "${text}"`);
				});
			}
		}
		await context.close();
	});
});
