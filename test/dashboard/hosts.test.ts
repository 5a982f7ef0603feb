/**
 * Agents of other hosts, problems of the daemon, schedules and search: actions reach the daemon that they belong to.
 */

import { expect, test } from "vitest";
import { describeWithChromium } from "../support/needs.js";
import { REMOTES } from "./fixture-more.js";
import { useOpenedPage } from "./open-page.js";

describeWithChromium("the page", () => {
	const opened = useOpenedPage();

	test("answers a question of another host there", async () => {
		await opened("/", { remotes: REMOTES }, async (page, server) => {
			const card = page.getByRole("article", { name: "box/web:coder asks you" });
			await card.getByRole("textbox").fill("teal");
			await card.getByRole("button", { name: "Reply" }).click();
			await card.getByText("Answered").waitFor();
			expect(server.changes).toEqual([
				"POST /remotes/box/api/v1/agents/web%3Acoder/questions/q-9/answer",
			]);
		});
	});

	test("shows a host that is lost as one line with its age, and its agents again when it is back", async () => {
		await opened("/", { remotes: REMOTES }, async (page, server) => {
			const row = page.locator('tr[data-id="box/web:tests"]');
			const lost = page.getByRole("list", { name: "Hosts that do not answer" });
			await row.waitFor();
			await expect.poll(() => lost.textContent()).toMatch(/^atticDoes|^attic Does/);
			const gone = REMOTES.map((remote) => ({
				...{ ...remote, state: "unreachable" as const, reason: "ssh was closed" },
			}));
			server.setRemotes(gone);
			server.emit({ type: "remote.lost", data: { remote: "box", reason: "ssh was closed" } });
			await row.waitFor({ state: "detached" });
			await expect.poll(() => lost.textContent()).toContain("Ssh was closed.");
			await page.getByRole("heading", { name: "6 need you" }).waitFor();
			server.setRemotes(REMOTES);
			server.emit({ type: "remote.connected", data: { remote: "box", down_ms: 1_000 } });
			await row.waitFor();
			await page.getByRole("heading", { name: "7 need you" }).waitFor();
		});
	});

	test("pauses, resumes and runs schedules", async () => {
		await opened("/#/tasks/schedules", {}, async (page, server) => {
			await page.getByRole("button", { name: "Pause: shop:review" }).click();
			await page.getByText("shop:review is paused").first().waitFor();
			await page.getByRole("button", { name: "Resume: ops:release" }).click();
			await page.getByText("continues with its next slot").first().waitFor();
			await page.getByRole("button", { name: "Run now: api:sync" }).click();
			await page.getByText("api:sync is started").first().waitFor();
			expect(server.changes).toEqual([
				"POST /api/v1/schedules/shop%3Areview/pause",
				"POST /api/v1/schedules/ops%3Arelease/resume",
				"POST /api/v1/schedules/api%3Async/run",
			]);
			await page.getByRole("link", { name: "shop:review" }).click();
			await page.getByText("shop:coder is halted").waitFor();
		});
	});

	test("shows a problem of the daemon as soon as it has one, and no longer than that", async () => {
		await opened("/", {}, async (page, server) => {
			await page.getByRole("heading", { name: "6 need you" }).waitFor();
			const problem = "cannot write to the database: the disk is full";
			// The name of the host is read once, after the connection.
			await page.getByText("box-1").first().waitFor();
			server.emitLive("resources", { agents: {}, problems: [problem] });
			await page.getByText(problem).waitFor();
			server.emitLive("resources", { agents: {}, problems: [] });
			await page.getByText(problem).waitFor({ state: "detached" });
		});
	});

	test("searches on the server, and opens the log where a line was found", async () => {
		await opened("/#/search", {}, async (page) => {
			await page.getByLabel("Search logs and transcripts").fill("memory");
			await page.keyboard.press("Enter");
			await page.getByText("2 matches").waitFor();
			await page.getByRole("link", { name: "shop:coder" }).click();
			await page.getByRole("log", { name: "Log of shop:coder" }).waitFor();
			expect(page.url()).toContain("at=log%3A1");
			await page.goBack();
			await page.getByText("2 matches").waitFor();
			await page.getByLabel("Search logs and transcripts").fill("nowhere");
			await page.keyboard.press("Enter");
			await page.getByText("Nothing contains").waitFor();
		});
	});
});
