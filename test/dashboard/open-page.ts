/** The page with a server of fixtures, for one test. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { type Browser, startBrowser } from "./browser.js";
import { FLEET } from "./fixture-fleet.js";
import { type Fixture, type FixtureServer, startFixtureServer } from "./fixture-server.js";

type Opened = (
	path: string,
	fixture: Fixture & { readonly fleet?: readonly AgentJson[] },
	body: (page: Page, server: FixtureServer) => Promise<void>,
) => Promise<void>;

/** Opens a page per call, and checks that it reported no problem. The tests of a block share the browser. */
export function useOpenedPage(): Opened {
	let browser: Browser;
	beforeAll(async () => {
		browser = await startBrowser();
	});
	afterAll(() => browser?.close());
	return async (path, { fleet = FLEET, ...fixture }, body) => {
		const server = await startFixtureServer(fleet, fixture);
		const { page, problems, context } = await browser.open("about:blank");
		try {
			await page.goto(server.url + path);
			await body(page, server);
			expect(problems).toEqual([]);
		} finally {
			await context.close();
			await server.close();
		}
	};
}
