/** Debian's Chromium for tests of the page. */

import { execFileSync } from "node:child_process";
import { type BrowserContext, chromium, type Page } from "playwright-core";

export const WIDE = { width: 1440, height: 900 };
export const PHONE = { width: 360, height: 740 };

export interface View {
	readonly size?: { readonly width: number; readonly height: number };
	readonly dark?: boolean;
	readonly touch?: boolean;
	readonly scale?: number;
}

export interface Browser {
	/** A new page; its errors and refused contents are collected. */
	open(
		url: string,
		view?: View,
	): Promise<{ page: Page; problems: string[]; context: BrowserContext }>;
	close(): Promise<void>;
}

const FLAGS = [
	...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
	...["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"],
];

export async function startBrowser(): Promise<Browser> {
	const executablePath = execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
	const browser = await chromium.launch({ executablePath, args: FLAGS });
	return {
		async open(url, { size = WIDE, dark = false, touch = false, scale = 1 } = {}) {
			const context = await browser.newContext({
				viewport: size,
				deviceScaleFactor: scale,
				colorScheme: dark ? "dark" : "light",
				hasTouch: touch,
				isMobile: touch,
				timezoneId: "UTC",
				locale: "en-GB",
			});
			const page = await context.newPage();
			const problems: string[] = [];
			page.on("pageerror", (error) => problems.push(String(error)));
			page.on("console", (message) => {
				const text = message.text();
				// A lost connection is part of some tests.
				if (message.type() === "error" && !/net::ERR_|Failed to load resource/.test(text))
					problems.push(text);
			});
			await page.goto(url);
			return { page, problems, context };
		},
		close: () => browser.close(),
	};
}
