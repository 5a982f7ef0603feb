/**
 * The page with a real daemon and real agents, in a real browser, on a wide screen and on a phone: log in by link,
 * watch a crash loop, resume, type into a terminal, answer questions, run a plan, replay a dead letter, and survive
 * the death of the daemon.
 */

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { freePort } from "../support/free-port.js";
import { describeWithChromium } from "../support/needs.js";
import { type Browser, PHONE, startBrowser, type View, WIDE } from "./browser.js";

/** Text that would have an effect if the page did not escape it. */
const EVIL = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202e`;

/** Asks before it works. */
const ASKS = {
	turns: [
		{
			asks: {
				title: "Do you want to proceed?",
				choices: ["Yes", "Yes, and don't ask again", "No"],
				accepts: ["Yes", "Yes, and don't ask again"],
			},
			reply: "The migration is done. It took a second.",
		},
	],
};

/** A fleet whose programs behave like their names. */
function writeFleet(home: FleetHome): void {
	const [fixed, repaired] = ["fixed", "repaired"].map((name) => join(home.folder, name));
	const policy =
		"crash_policy: { halt_threshold: 3, transient_delay: 300ms, flapping_delay: 300ms }";
	const sh = (script: string) => JSON.stringify(["/bin/sh", "-c", script]);
	home.writeFleet(
		[
			`crasher: { command: ${sh(`[ -e ${fixed} ] && exec sleep 1000; echo '${EVIL}'; exit 7`)}, ${policy} }`,
			`parrot: { command: ${sh(`printf '\\033]0;${EVIL}\\007\\033]8;;javascript:alert(1)\\007link\\033]8;;\\007\\n'; while read line; do echo "parrot says: $line"; done`)} }`,
			`ender: { command: ${sh("sleep 1; exit 0")}, on_clean_exit: prompt }`,
			`asker: { command: [sleep, "1000"] }`,
			`coder: { adapter: claude, command: ${JSON.stringify([process.execPath, resolve("dist/testing/fake-agent/fake-agent-main.js"), "--script", JSON.stringify(ASKS)])} }`,
			`tool: { kind: call, command: [${JSON.stringify(resolve("test/fixtures/call-agents/answers.sh"))}], retry: { max_attempts: 1 } }`,
			`broken: { kind: call, command: ${sh(`[ -e ${repaired} ] && exec ${resolve("test/fixtures/call-agents/answers.sh")}; echo '${EVIL}' >&2; exit 1`)}, retry: { max_attempts: 1 }, circuit_breaker: { failure_threshold: 50 } }`,
		].join("\n"),
	);
}

const VIEWS: readonly (readonly [name: string, view: View])[] = [
	["a wide screen", { size: WIDE }],
	["a phone", { size: PHONE, touch: true }],
];

describeWithChromium("the page of a real daemon", () => {
	let home: FleetHome;
	let browser: Browser;
	beforeEach(async () => {
		home = createFleetHome();
		writeFleet(home);
		browser = await startBrowser();
		await home.must("daemon", "start", "--listen", `127.0.0.1:${await freePort()}`);
		await home.must("up");
	}, 120_000);
	afterEach(async () => {
		await browser?.close();
		await home?.close();
	}, 120_000);

	const client = () =>
		createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") });
	const login = async () => (await home.must("dashboard", "--no-open")).trim();

	test.each(VIEWS)("serves a day's work on %s", { timeout: 300_000 }, async (_, view) => {
		const { page, problems } = await browser.open(await login(), view);
		await page.evaluate("window.notReloaded = true");
		const isPhone = view.touch === true;
		expect(page.url()).toMatch(/:\d+\/$/);

		// The crash loop ends in a card, live.
		const halted = page.getByRole("article", { name: "p:crasher is halted" });
		await halted.waitFor({ timeout: 60_000 });
		await halted.getByText("<img src=x").first().waitFor();

		// Fixed and resumed, it runs.
		writeFileSync(join(home.folder, "fixed"), "");
		await halted.getByRole("button", { name: "Resume" }).click();
		await halted.waitFor({ state: "detached", timeout: 60_000 });
		expect((await home.ps()).find(({ id }) => id === "p:crasher")?.policy).not.toBe("halted");

		// After a clean exit the agent waits for a decision.
		const ended = page.getByRole("article", { name: "p:ender ended by itself" });
		await ended.getByRole("button", { name: "Leave stopped" }).click();
		await eventually(
			async () => (await home.ps()).find(({ id }) => id === "p:ender")?.desired === "down",
			"the answer reached the daemon",
		);

		// An agent asks a question, and gets the answer.
		const question = client().call("POST /api/v1/agents/:id/ask", {
			place: "p:asker",
			body: { question: `Which colour? ${EVIL}` },
			query: { wait: "120s" },
		});
		const asks = page.getByRole("article", { name: "p:asker asks you" });
		await asks.getByText("Which colour?").first().waitFor();
		await asks.getByRole("textbox").fill("teal");
		await asks.getByRole("button", { name: "Reply" }).click();
		expect(await question).toEqual({ answer: "teal" });

		await typeIntoTerminal(page, isPhone);
		await sendByComposer(page, isPhone);
		await runPlan(page);
		await replayDeadLetter(page);
		await surviveDeath(page);

		expect(await page.evaluate("window.hacked ?? null")).toBe(null);
		expect(await page.evaluate("window.notReloaded")).toBe(true);
		expect(problems.filter((text) => !/WebSocket/.test(text))).toEqual([]);
	});

	async function typeIntoTerminal(page: Page, isPhone: boolean): Promise<void> {
		await go(page, "#/agents/p:parrot");
		await page.getByRole("heading", { name: "p:parrot" }).waitFor();
		const take = page.getByRole("button", { name: "Take control" });
		await take.click();
		await page.getByText("You have the keyboard").waitFor();
		if (isPhone) {
			await page.getByLabel("Text to type into the terminal").fill("hello phone");
			await page.getByRole("button", { name: "Type", exact: true }).click();
			await page.getByRole("button", { name: "Enter", exact: true }).click();
			await page.getByText("parrot says: hello phone").waitFor({ timeout: 30_000 });
			await page.getByRole("button", { name: "Give back" }).click();
		} else {
			await page.locator(".term-box").click();
			await page.keyboard.type("hello wide");
			await page.keyboard.press("Enter");
			await expect
				.poll(() => page.locator(".xterm-rows").textContent(), { timeout: 30_000 })
				.toContain("parrot says: hello wide");
			await page.keyboard.press("Control+]");
		}
		await take.waitFor();
	}

	async function sendByComposer(page: Page, isPhone: boolean): Promise<void> {
		await page.getByLabel("Message to p:parrot").fill("by message");
		await page.getByRole("button", { name: /^Send/ }).click();
		await page.getByRole("list", { name: "Messages" }).getByText("by message").waitFor();
		const screen = isPhone
			? page.getByRole("region", { name: "Screen", exact: true })
			: page.locator(".xterm-rows");
		await expect
			.poll(() => screen.textContent(), { timeout: 30_000 })
			.toContain("parrot says: by message");
	}

	async function runPlan(page: Page): Promise<void> {
		const one = { agent: "p:tool", action: "greet", payload: { text: EVIL } };
		const { plan_id: id } = await client().call("POST /api/v1/plans", {
			body: { name: "release", tasks: { build: one, push: { ...one, depends_on: ["build"] } } },
		});
		await go(page, `#/plans/${id}`);
		await page.getByRole("heading", { name: "release" }).waitFor();
		await page.getByText("2 of 2 done").waitFor({ timeout: 60_000 });
		await page
			.getByRole("region", { name: "The tasks of the plan" })
			.getByText("push", { exact: true })
			.waitFor();
	}

	async function replayDeadLetter(page: Page): Promise<void> {
		const { task_id: id } = await client().call("POST /api/v1/tasks", {
			body: { agent: "p:broken", action: "push" },
		});
		await eventually(
			async () => (await client().call("GET /api/v1/tasks/:id", { place: id })).ended_at !== null,
			"the task has ended",
		);
		await go(page, "#/tasks/dead");
		await page.getByRole("checkbox", { name: "Select p:broken push" }).check();
		writeFileSync(join(home.folder, "repaired"), "");
		await page.getByRole("button", { name: "Replay 1…" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Replay it" }).click();
		await page.getByText("1 dead letter replayed.").waitFor();
		await page.getByRole("heading", { name: "0 dead letters" }).waitFor({ timeout: 30_000 });
		const { replayed_as: again } = await client().call("GET /api/v1/tasks/:id", { place: id });
		await eventually(
			async () =>
				(await client().call("GET /api/v1/tasks/:id", { place: again ?? "" })).status ===
				"succeeded",
			"the replay succeeded",
		);
	}

	async function surviveDeath(page: Page): Promise<void> {
		await go(page, "#/");
		await home.killDaemon();
		await page.getByText("Not connected since").waitFor({ timeout: 60_000 });
		await home.must("daemon", "start");
		await page.getByText("Not connected since").waitFor({ state: "detached", timeout: 60_000 });
		await page.getByText("Live", { exact: false }).first().waitFor();
	}

	test("answers a permission prompt by its label, and shows the finished turn", {
		timeout: 180_000,
	}, async () => {
		await client().call("POST /api/v1/agents/:id/send", {
			place: "p:coder",
			body: { text: "migrate" },
		});
		const { page } = await browser.open(await login());
		const asks = page.getByRole("article", { name: "p:coder asks permission" });
		await asks.getByText("Stays allowed from now on").waitFor({ timeout: 90_000 });
		await asks.getByRole("button", { name: "2 Yes, and don't ask again" }).click();
		await page.getByRole("heading", { name: "1 finished, not seen yet" }).waitFor({
			timeout: 90_000,
		});
		await page.getByText("The migration is done.").first().waitFor();
		const { events } = await client().call("GET /api/v1/events/list", {
			query: { type: "agent.question_answered" },
		});
		expect(events.map(({ data }) => data)).toMatchObject([
			{ answer: "Yes, and don't ask again", by: "session", confirmed: true },
		]);
		await page.getByRole("button", { name: "Mark as seen" }).click();
		await page.getByText("not seen yet").waitFor({ state: "detached", timeout: 30_000 });
	});

	test("names the browser that has the keyboard, and asks before it takes over", {
		timeout: 180_000,
	}, async () => {
		const pages: Page[] = [];
		for (const view of [{ size: WIDE }, { size: PHONE, touch: true }]) {
			const { page } = await browser.open(await login(), view);
			await go(page, "#/agents/p:parrot");
			pages.push(page);
		}
		const [wide, phone] = pages as [Page, Page];
		const mine = (page: Page) => page.getByText("You have the keyboard");
		await wide.getByRole("button", { name: "Take control" }).click();
		await mine(wide).waitFor();
		await phone.getByText(/A browser has had the keyboard since \d\d:\d\d/).waitFor();

		await phone.getByRole("button", { name: "Take over…" }).click();
		const dialog = phone.getByRole("dialog", { name: "Take over the keyboard of p:parrot?" });
		await dialog.getByRole("button", { name: "Keep watching" }).click();
		expect(await mine(wide).count(), "nothing changes before the answer").toBe(1);
		await phone.getByRole("button", { name: "Take over…" }).click();
		await dialog.getByRole("button", { name: "Take over", exact: true }).click();
		await mine(phone).waitFor();
		await wide.getByText(/A browser has had the keyboard since .* Watching/).waitFor();
		await wide.getByRole("button", { name: "Take over…" }).waitFor();

		await phone.getByRole("button", { name: "Give back" }).click();
		await wide.getByRole("button", { name: "Take control" }).waitFor();
	});

	test("shows that its login was revoked, and continues after a new one without a reload", {
		timeout: 120_000,
	}, async () => {
		const { page, context } = await browser.open(await login());
		await page.getByRole("heading", { name: /need/ }).first().waitFor();
		await page.evaluate("window.notReloaded = true");
		const { tokens } = await client().call("GET /api/v1/tokens");
		const session = tokens.find(({ kind }) => kind === "session");
		await client().call("POST /api/v1/tokens/:id/revoke", { place: session?.id ?? "" });
		await page.getByRole("heading", { name: "The login of this browser has ended" }).waitFor();
		// In another tab of the same browser.
		const other = await context.newPage();
		await other.goto(await login());
		await other.getByRole("heading", { name: /need/ }).first().waitFor();
		await page.evaluate("dispatchEvent(new Event('focus'))");
		await page.getByRole("heading", { name: /need/ }).first().waitFor();
		expect(await page.evaluate("window.notReloaded")).toBe(true);
	});

	test("refuses a browser without a login, and a link that was used", {
		timeout: 120_000,
	}, async () => {
		const link = await login();
		const first = await browser.open(link);
		await first.page.getByText("All agents").or(first.page.locator("#agents")).first().waitFor();
		const { origin } = new URL(link);
		const stranger = await browser.open(origin);
		await stranger.page.getByRole("heading", { name: "This browser is not logged in" }).waitFor();
		const again = await browser.open("about:blank");
		const answer = await again.page.goto(link);
		expect(answer?.status()).toBe(401);
	});
});

/** Changes the place inside the page, as its links do. */
async function go(page: Page, hash: string): Promise<void> {
	await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}
