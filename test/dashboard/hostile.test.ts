/**
 * Everything that agents, programs and other hosts can name or print, on every screen, with text that tries to act:
 * it stays text. No script runs, no element and no link is created, and control characters are visible.
 */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RemoteJson } from "../../src/http/contract/remotes.js";
import { describeWithChromium } from "../support/needs.js";
import { type Browser, PHONE, startBrowser, type View, WIDE } from "./browser.js";
import { REMOTES } from "./fixture-more.js";
import { startFixtureServer } from "./fixture-server.js";

const ACTS =
	`<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>` +
	`<a href="javascript:window.hacked=1">x</a>"'\`\u202e\u001b]0;owned\u0007\u001b[2J`;

/** Keys of text that Reeve did not write itself: of agents, programs, fleet files and other hosts. */
const FOREIGN = new Set([
	...["why", "reason", "text", "title", "detail", "label", "message", "error", "value", "fix"],
	...["name", "action", "file", "fleet_file", "hint", "address", "blocked", "log", "payload"],
	...["last_output", "before", "after", "account", "waits", "why_awake", "adapter", "problems"],
	...["key", "at_line", "cron", "timezone", "version", "paths", "url", "activity_detail"],
]);

/** Words that the page compares, inside of foreign objects too. */
const OWN = new Set(["type", "id", "agent", "kind", "status", "state"]);

function poison(value: unknown, isForeign = false): unknown {
	if (typeof value === "string") return isForeign ? `${value} ${ACTS}` : value;
	if (Array.isArray(value)) return value.map((each) => poison(each, isForeign));
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).map(([key, each]) => [
			key,
			poison(each, !OWN.has(key) && (isForeign || FOREIGN.has(key))),
		]),
	);
}

/** A host that does not answer: its agents cannot be asked for, but its name and its reason are shown. */
const remotes: readonly RemoteJson[] = REMOTES.filter(({ state }) => state === "unreachable");

const SCREENS: readonly (readonly [path: string, shows: string])[] = [
	["#/", "6 need you"],
	["#/agents/shop:coder", "Stays allowed from now on"],
	["#/agents/api:coder/why", "Why, and what happens next"],
	["#/agents/shop:coder/log", "14 passed"],
	["#/agents/shop:coder/runs", "Run"],
	["#/agents/shop:coder/settings", "limits.memory"],
	["#/agents/shop:coder/usage", "Usage today"],
	["#/tasks", "Tries again"],
	["#/tasks/plans", "release 2.4.0"],
	["#/plans/plan-1", "4 of 9 done"],
	["#/tasks/dead/dead-3120000", "It may have taken effect"],
	["#/tasks/circuits", "Close circuit"],
	["#/tasks/schedules/shop:review", "History"],
	["#/events", "crashed 7 times"],
	["#/output", "compiled 214 files"],
	["#/search?text=memory", "2 matches"],
	["#/usage", "Budgets today"],
	["#/host", "Other hosts"],
	["#/access", "This browser"],
];

/** The traces of a text that was not treated as plain text. */
const TRACES = `({
	hacked: window.hacked ?? null,
	elements: document.querySelectorAll("#app :is(img, script, iframe, object, embed)").length,
	handlers: [...document.querySelectorAll("#app *")].filter((each) => each.hasAttribute("onerror")).length,
	links: [...document.querySelectorAll("#app a[href]")].map((each) => each.getAttribute("href"))
		.filter((href) => !href.startsWith("#/") && !href.startsWith("#")),
	title: document.title,
	hidden: [...document.querySelectorAll("#app *")]
		.filter((each) => each.checkVisibility() && [...each.childNodes].some((node) => node.nodeType === 3 && /[\\u0007\\u001b\\u202e]/.test(node.data)))
		.map((each) => each.parentElement.className + " " + each.tagName + ": " + each.textContent.slice(0, 40)),
})`;

describeWithChromium("text that tries to act", () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await startBrowser();
	});
	afterAll(() => browser?.close());

	test.each([
		["a wide screen", { size: WIDE }],
		["a phone", { size: PHONE, touch: true }],
	] as const)("stays text on %s", { timeout: 300_000 }, async (_, view: View) => {
		const server = await startFixtureServer(undefined, {
			remotes,
			change: (answer) => poison(answer),
		});
		const { page, problems, context } = await browser.open(server.url, view);
		try {
			let seen = 0;
			for (const [path, shows] of SCREENS) {
				await page.goto(`${server.url}/${path}`);
				await page.reload();
				await visibleText(page, shows, path);
				await page.waitForTimeout(200);
				const traces = (await page.evaluate(TRACES)) as { readonly title: string };
				expect.soft(traces, path).toEqual({
					...{ hacked: null, elements: 0, handlers: 0, links: [], hidden: [] },
					title: expect.stringMatching(/^(\(\d+\) )?Reeve$/),
				});
				const text = (await page.evaluate(`document.getElementById("app").innerText`)) as string;
				if (text.includes("<script>window.hacked=1</script>")) seen += 1;
				expect.soft(await overflow(page), path).toBeLessThanOrEqual(view.size?.width ?? 0);
			}
			expect(seen, "the text was on nearly every screen").toBeGreaterThan(SCREENS.length - 4);
			server.emit({
				type: "agent.decided",
				agent: "shop:tests",
				data: { reason: ACTS, action: ACTS },
			});
			await page.waitForTimeout(1_000);
			expect(await page.evaluate("window.hacked ?? null")).toBe(null);
			expect(problems).toEqual([]);
		} finally {
			await context.close();
			await server.close();
		}
	});
});

const overflow = (page: Page) =>
	page.evaluate("document.documentElement.scrollWidth") as Promise<number>;

async function visibleText(page: Page, text: string, path: string): Promise<void> {
	const found = page.getByText(text).filter({ visible: true }).first();
	await found.waitFor({ timeout: 20_000 }).catch(() => {
		throw new Error(`${path} does not show "${text}"`);
	});
}
