/** The size of the page as it is sent: a budget that fails when it is exceeded. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";

const PAGE = "dist/dashboard";
const kB = 1_000;

const gzipped = (path: string) => gzipSync(readFileSync(join(PAGE, path)), { level: 9 }).length;
const filesOf = (ending: string) =>
	readdirSync(join(PAGE, "assets")).filter((name) => name.endsWith(ending));

/** The scripts that the first view loads: the entry, and everything that it imports at once. */
function firstScripts(): readonly string[] {
	const document = readFileSync(join(PAGE, "index.html"), "utf8");
	const waiting = [/<script[^>]*src="\/(assets\/[^"]+)"/.exec(document)?.[1] ?? ""];
	const found = new Set<string>();
	for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
		if (found.has(path)) continue;
		found.add(path);
		const source = readFileSync(join(PAGE, path), "utf8");
		for (const [, name = ""] of source.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) {
			waiting.push(`assets/${name}`);
		}
	}
	return [...found];
}

describe("the built page", () => {
	test("sends at most 40 kB of scripts for the first view", () => {
		const scripts = firstScripts();
		expect(scripts.length).toBeGreaterThan(0);
		const bytes = scripts.map(gzipped).reduce((sum, size) => sum + size, 0);
		expect(bytes).toBeLessThanOrEqual(40 * kB);
		// The terminal emulator is not among them.
		expect(scripts.some((name) => name.includes("xterm"))).toBe(false);
	});

	test("sends at most 10 kB of styles", () => {
		const [main = ""] = filesOf(".css").filter((name) => name.startsWith("main-"));
		expect(gzipped(`assets/${main}`)).toBeLessThanOrEqual(10 * kB);
	});

	test("has at most 250 kB in all", () => {
		const all = [...filesOf(".js"), ...filesOf(".css")].map((name) => gzipped(`assets/${name}`));
		expect(all.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(250 * kB);
	});

	test("is compressed beside each file, and names only its own addresses", () => {
		for (const name of [...filesOf(".js"), ...filesOf(".css")]) {
			for (const ending of [".br", ".gz"]) {
				expect(statSync(join(PAGE, "assets", name + ending)).size).toBeGreaterThan(0);
			}
		}
		const document = readFileSync(join(PAGE, "index.html"), "utf8");
		expect(document).not.toMatch(/https?:\/\/|<style|style=|<script(?![^>]* src=)/);
	});
});
