/**
 * Every screen of the page in a real browser, with a fleet that is always the same: nothing overflows, nothing is
 * refused or fails, and axe-core finds no serious violation. `REEVE_PICTURES=folder` also writes a picture of each.
 */

import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { RemoteJson } from "../../src/http/contract/remotes.js";
import { describeWithChromium } from "../support/needs.js";
import { type Browser, PHONE, startBrowser, type View, WIDE } from "./browser.js";
import { FLEET, fixtureAgent, largeFleet, troubledFleet } from "./fixture-fleet.js";
import { QUIET_STATES, REMOTES } from "./fixture-more.js";
import { type FixtureServer, startFixtureServer } from "./fixture-server.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PICTURES = process.env["REEVE_PICTURES"];
/** Pictures for the documentation use the font of the design instead of the one of a bare server. */
const FONT = process.env["REEVE_PICTURE_FONT"];

interface Shot {
	readonly name: string;
	readonly path: string;
	/** A text that must be there. */
	readonly shows: string;
	readonly view?: View;
	readonly fleet?: readonly AgentJson[];
	readonly remotes?: readonly RemoteJson[];
}

const phone: View = { size: PHONE, touch: true };
const dark: View = { dark: true };

const SHOTS: readonly Shot[] = [
	{ name: "fleet-light", path: "/", shows: "6 need you" },
	{ name: "fleet-dark", path: "/", shows: "6 need you", view: dark },
	{ name: "fleet-phone", path: "/", shows: "6 need you", view: phone },
	{
		name: "fleet-320",
		path: "/",
		shows: "6 need you",
		view: { size: { width: 320, height: 700 }, touch: true },
	},
	{
		name: "fleet-820",
		path: "/",
		shows: "6 need you",
		view: { size: { width: 820, height: 1000 } },
	},
	{
		name: "fleet-1200",
		path: "/",
		shows: "6 need you",
		view: { size: { width: 1200, height: 800 } },
	},
	{
		name: "fleet-2560",
		path: "/",
		shows: "6 need you",
		view: { size: { width: 2560, height: 1200 } },
	},
	{ name: "fleet-500", path: "/", shows: "500 agents", fleet: largeFleet(500) },
	{
		name: "fleet-500-2560",
		path: "/",
		shows: "500 agents",
		fleet: largeFleet(500),
		view: { size: { width: 2560, height: 1000 } },
	},
	{ name: "fleet-500-phone", path: "/", shows: "500 agents", fleet: largeFleet(500), view: phone },
	{ name: "trouble-light", path: "/", shows: "36 need you", fleet: troubledFleet() },
	{ name: "trouble-phone", path: "/", shows: "36 need you", fleet: troubledFleet(), view: phone },
	{
		name: "quiet-light",
		path: "/",
		shows: "Nothing needs you",
		fleet: FLEET.filter(({ status }) => !status.needs_you),
	},
	{ name: "empty-light", path: "/", shows: "No agents yet", fleet: [] },
	{
		name: "agent-light",
		path: "/#/agents/shop:coder",
		shows: "Usage today",
		view: { size: { width: 1440, height: 1400 } },
	},
	{
		name: "agent-dark",
		path: "/#/agents/shop:coder",
		shows: "Usage today",
		view: { ...dark, size: { width: 1440, height: 1400 } },
	},
	{ name: "agent-log", path: "/#/agents/shop:coder/log", shows: "<b>not bold</b>" },
	{
		name: "agent-phone",
		path: "/#/agents/shop:coder",
		shows: "Stays allowed from now on",
		view: phone,
	},
	{
		name: "agent-phone-dark",
		path: "/#/agents/shop:tests",
		shows: "Do you want to proceed",
		view: { ...phone, ...dark },
	},
	{ name: "agent-phone-runs", path: "/#/agents/shop:coder/runs", shows: "Run 42", view: phone },
	{
		name: "agent-phone-settings",
		path: "/#/agents/shop:coder/settings",
		shows: "limits.memory",
		view: phone,
	},
	{ name: "tasks-light", path: "/#/tasks", shows: "Tries again" },
	{ name: "plans-light", path: "/#/tasks/plans", shows: "release 2.4.0" },
	{ name: "plan-light", path: "/#/plans/plan-1", shows: "4 of 9 done" },
	{ name: "plan-phone", path: "/#/plans/plan-1", shows: "4 of 9 done", view: phone },
	{
		name: "dead-letters-dark",
		path: "/#/tasks/dead/dead-3120000",
		shows: "It may have taken effect",
		view: dark,
	},
	{ name: "dead-letters-phone", path: "/#/tasks/dead", shows: "3 dead letters", view: phone },
	{ name: "circuits-light", path: "/#/tasks/circuits", shows: "Close circuit" },
	{ name: "events-light", path: "/#/events", shows: "crashed 7 times" },
	{ name: "events-phone", path: "/#/events", shows: "crashed 7 times", view: phone },
	{ name: "usage-light", path: "/#/usage", shows: "By agent" },
	{ name: "usage-phone", path: "/#/usage", shows: "By agent", view: phone },
	{ name: "host-light", path: "/#/host", shows: "loginctl enable-linger" },
	{ name: "host-phone", path: "/#/host", shows: "loginctl enable-linger", view: phone },
	{ name: "access-light", path: "/#/access", shows: "This browser" },
	{ name: "access-phone", path: "/#/access", shows: "This browser", view: phone },
	{
		name: "states-light",
		path: "/",
		shows: "Completed",
		fleet: QUIET_STATES,
	},
	{ name: "states-phone", path: "/", shows: "Completed", fleet: QUIET_STATES, view: phone },
	{
		name: "unhealthy-light",
		path: "/#/agents/web:server",
		shows: "Failed 3 in a row",
		fleet: QUIET_STATES,
	},
	{ name: "remotes-light", path: "/", shows: "Does not answer", remotes: REMOTES },
	{ name: "remotes-phone", path: "/", shows: "Does not answer", remotes: REMOTES, view: phone },
	{
		name: "remote-agent-light",
		path: "/#/agents/box%2Fweb:coder",
		shows: "Which colour?",
		remotes: REMOTES,
	},
	{ name: "schedules-light", path: "/#/tasks/schedules", shows: "every 30 min" },
	{ name: "schedules-phone", path: "/#/tasks/schedules", shows: "every 30 min", view: phone },
	{
		name: "schedule-dark",
		path: "/#/tasks/schedules/shop:review",
		shows: "shop:coder is halted",
		view: dark,
	},
	{ name: "output-light", path: "/#/output", shows: "compiled 214 files" },
	{ name: "output-phone", path: "/#/output", shows: "compiled 214 files", view: phone },
	{ name: "search-light", path: "/#/search?text=memory", shows: "2 matches" },
	{ name: "search-phone", path: "/#/search?text=memory", shows: "2 matches", view: phone },
	{ name: "more-phone", path: "/#/more", shows: "Access", view: phone },
];

describeWithChromium("the page in a browser", () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await startBrowser();
		if (PICTURES !== undefined) mkdirSync(PICTURES, { recursive: true });
	});
	afterAll(() => browser?.close());

	async function opened(
		shot: Omit<Shot, "name">,
		body: (page: Page, server: FixtureServer, problems: string[]) => Promise<void>,
	): Promise<void> {
		const server = await startFixtureServer(shot.fleet, { remotes: shot.remotes ?? [] });
		const { page, problems, context } = await browser.open(server.url + shot.path, shot.view);
		try {
			await page.getByText(shot.shows).filter({ visible: true }).first().waitFor();
			await body(page, server, problems);
		} finally {
			await context.close();
			await server.close();
		}
	}

	test.each(SHOTS)("$name fits, works and can be used by everyone", async (shot) => {
		await opened(shot, async (page, _, problems) => {
			await page.waitForTimeout(300);
			if (FONT !== undefined) {
				await page.evaluate(
					`document.documentElement.style.setProperty("--sans", ${JSON.stringify(FONT)})`,
				);
			}
			if (PICTURES !== undefined)
				await page.screenshot({ path: join(PICTURES, `${shot.name}.png`) });
			// The width that was asked for: on a phone, a page that is too wide widens its window.
			const { width } = shot.view?.size ?? WIDE;
			expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(
				width,
			);
			expect(await tablesWithGaps(page)).toEqual([]);
			expect(await seriousViolations(page)).toEqual([]);
			// The other theme differs in nothing but its colours.
			await page.emulateMedia({ colorScheme: shot.view?.dark ? "light" : "dark" });
			await page.waitForTimeout(300);
			expect(await seriousViolations(page, { runOnly: ["color-contrast"] })).toEqual([]);
			expect(problems).toEqual([]);
		});
	});

	test("shows since when it is not connected, and reconnects without a reload", async () => {
		await opened({ path: "/", shows: "6 need you" }, async (page, server) => {
			await page.evaluate("window.notReloaded = true");
			server.fail();
			await page.getByText("Not connected since").waitFor();
			await page.getByRole("heading", { name: "6 needed you" }).waitFor();
			expect(await page.getByRole("button", { name: "Resume" }).first().isDisabled()).toBe(true);
			if (PICTURES !== undefined)
				await page.screenshot({ path: join(PICTURES, "stale-light.png") });
			server.recover();
			await page.getByRole("button", { name: "Try now" }).click();
			await page.getByRole("heading", { name: "6 need you" }).waitFor({ timeout: 20_000 });
			expect(await page.getByText("Not connected since").count()).toBe(0);
			expect(await page.evaluate("window.notReloaded")).toBe(true);
		});
	});

	test("shows a change of an agent as soon as its event arrives", async () => {
		await opened({ path: "/", shows: "6 need you" }, async (page, server) => {
			server.change(
				fixtureAgent("shop:tests", { state: "halted", why: "crashed too often", sinceMs: 0 }),
			);
			server.emit({ type: "agent.decided", agent: "shop:tests", data: {} });
			await page.getByRole("heading", { name: "7 need you" }).waitFor();
			expect(await page.title()).toBe("(7) Reeve");
		});
	});

	test("lets a new card wait while the pointer is in the list", async () => {
		await opened({ path: "/", shows: "6 need you" }, async (page, server) => {
			await page.locator("#needs").hover();
			server.change(
				fixtureAgent("shop:tests", { state: "halted", why: "crashed too often", sinceMs: 0 }),
			);
			server.emit({ type: "agent.decided", agent: "shop:tests", data: {} });
			await page.getByRole("button", { name: "1 new, show" }).waitFor();
			expect(await page.getByRole("article", { name: "shop:tests is halted" }).count()).toBe(0);
			await page.getByRole("button", { name: "1 new, show" }).click();
			await page.getByRole("article", { name: "shop:tests is halted" }).waitFor();
		});
	});

	test("asks the same of several agents one after the other, and never moves on by itself", async () => {
		const shot = { path: "/", shows: "500 agents", fleet: largeFleet(500) };
		await opened(shot, async (page) => {
			await page.getByRole("button", { name: "Go through all 7…" }).click();
			const dialog = page.getByRole("dialog");
			await dialog.getByRole("heading", { name: "Question 1 of 7" }).waitFor();
			const first = await dialog.locator(".cell-mark b").textContent();
			await dialog.getByText("git push origin agent/*").waitFor();
			await page.keyboard.press("1");
			await dialog.getByText("Answered: Yes").waitFor();
			expect(await dialog.locator(".cell-mark b").textContent(), "it stays").toBe(first);
			expect(await dialog.locator("[data-choice]").count()).toBe(0);
			await page.keyboard.press("Enter");
			await dialog.getByRole("heading", { name: "Question 2 of 7" }).waitFor();
			expect(await dialog.locator(".cell-mark b").textContent()).not.toBe(first);
			if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, "go-through.png") });
			await dialog.getByRole("button", { name: "Skip" }).click();
			await dialog.getByRole("heading", { name: "Question 3 of 7" }).waitFor();
			await page.keyboard.press("Escape");
			await dialog.waitFor({ state: "detached" });
		});
	});

	test("can be used with the keyboard alone", async () => {
		await opened({ path: "/", shows: "6 need you" }, async (page) => {
			await page.keyboard.press("j");
			await page.keyboard.press("j");
			expect(await page.evaluate("document.activeElement.textContent")).toBe("coder");
			await page.keyboard.press("Enter");
			await page.getByRole("heading", { name: "shop:coder" }).waitFor();
			await page.keyboard.press("g");
			await page.keyboard.press("u");
			await page.getByText("By agent").waitFor();
			await page.keyboard.press("g");
			await page.keyboard.press("f");
			await page.getByRole("heading", { name: "6 need you" }).waitFor();
			await page.keyboard.press("/");
			await page.keyboard.type("codex api");
			await expect.poll(() => page.locator("tr.agent").count()).toBe(2);
			await page.keyboard.press("Escape");
			await page.keyboard.press("?");
			await page.getByRole("dialog", { name: "Keys" }).waitFor();
			await page.getByLabel("Single keys act").uncheck();
			await page.keyboard.press("Escape");
			await page.keyboard.press("g");
			await page.keyboard.press("u");
			await page.waitForTimeout(300);
			expect(await page.getByText("By agent").count()).toBe(0);
		});
	});

	test("keeps the theme that was chosen", async () => {
		await opened({ path: "/", shows: "6 need you" }, async (page) => {
			const ground = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
			expect(await ground()).toBe("rgb(244, 245, 246)");
			await page.keyboard.press("?");
			await page.getByLabel("Theme").selectOption("dark");
			expect(await ground()).toBe("rgb(15, 17, 19)");
			await page.reload();
			await page.getByRole("heading", { name: "6 need you" }).waitFor();
			expect(await ground()).toBe("rgb(15, 17, 19)");
		});
	});

	test("shows a push notification as text, and remembers the agent that it is about", async () => {
		await opened({ path: "/", shows: "6 need you" }, async (page, server) => {
			const context = page.context();
			await context.grantPermissions(["notifications"], { origin: server.url });
			const session = await context.newCDPSession(page);
			const registered = new Promise<string>((resolve) => {
				session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations: [first] }) => {
					if (first !== undefined) resolve(first.registrationId);
				});
			});
			await session.send("ServiceWorker.enable");
			await page.evaluate(
				`navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready).then(() => 0)`,
			);
			const notice = {
				...{
					title: "shop:coder asks permission",
					text: "<b>npm run db:migrate</b>",
					agent: "shop:coder",
				},
				link: "https://evil.example/#/agents/shop:coder",
			};
			await session.send("ServiceWorker.deliverPushMessage", {
				origin: server.url,
				registrationId: await registered,
				data: JSON.stringify(notice),
			});
			const shown = () =>
				page.evaluate(`navigator.serviceWorker.ready
					.then((registration) => registration.getNotifications())
					.then((all) => all.map(({ title, body, data }) => [title, body, data]))`);
			await expect
				.poll(shown, { timeout: 20_000 })
				.toEqual([
					["shop:coder asks permission", "<b>npm run db:migrate</b>", "#/agents/shop:coder"],
				]);
		});
	});

	test("targets on a phone are large enough for a finger", async () => {
		await opened({ path: "/", shows: "6 need you", view: phone }, async (page) => {
			const small =
				await page.evaluate(`[...document.querySelectorAll("button, .button, input, select, .tabs a")]
				.filter((each) => each.checkVisibility() && !each.matches(".link, .skip"))
				.map((each) => [each.textContent || each.id, each.getBoundingClientRect()])
				.filter(([, box]) => box.height < 44)
				.map(([text, box]) => text + " " + box.height)`);
			expect(small).toEqual([]);
		});
	});
});

/** Tables whose columns do not fill them: a row with another number of cells adds a column. */
function tablesWithGaps(page: Page): Promise<unknown> {
	return page.evaluate(`[...document.querySelectorAll("table")]
		.filter((table) => table.tHead?.checkVisibility())
		.map((table) => [table, [...table.tHead.rows[0].cells].filter((cell) => cell.checkVisibility()).at(-1)])
		.filter(([table, last]) => last && table.getBoundingClientRect().right - last.getBoundingClientRect().right > 2)
		.map(([table]) => table.className + ": " + table.tHead.textContent)`);
}

async function seriousViolations(page: Page, options: object = {}): Promise<unknown> {
	// Evaluated by the tool, not by the page: its policy refuses scripts that are not its own.
	await page.evaluate(AXE);
	const asked = JSON.stringify({ resultTypes: ["violations"], ...options });
	return page.evaluate(`axe.run(document, ${asked}).then(({ violations }) =>
		violations
			.filter(({ impact }) => impact === "serious" || impact === "critical")
			.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")))`);
}
