import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { REEVE, runReeve, temporaryFolder } from "../support/reeve.js";

/** The files that a run of `reeve` loaded, as V8 saw it, Node's own left out. */
async function loadedBy(...args: string[]): Promise<string[]> {
	const folder = temporaryFolder();
	await runReeve(args, { cwd: temporaryFolder(), env: { NODE_V8_COVERAGE: folder } });
	const [file = ""] = readdirSync(folder);
	const { result } = JSON.parse(readFileSync(join(folder, file), "utf8")) as {
		result: { url: string }[];
	};
	return result.map(({ url }) => url).filter((url) => url.startsWith("file:"));
}

function bytesOf(urls: readonly string[]): number {
	return urls.reduce((sum, url) => sum + statSync(new URL(url)).size, 0);
}

describe("starting up", () => {
	test("--version loads a few small files of its own", async () => {
		const dist = pathToFileURL(join(REEVE, "..", "..")).href;
		const loaded = await loadedBy("--version");
		expect(loaded.filter((url) => !url.startsWith(`${dist}/`))).toEqual([]);
		expect(loaded.length).toBeLessThanOrEqual(4);
		expect(bytesOf(loaded)).toBeLessThan(16_000);
	});

	test("a command without a fleet file loads neither the YAML parser nor the schema", async () => {
		const loaded = await loadedBy("explain", "--simulate", "1");
		const text = loaded.map((url) => readFileSync(new URL(url), "utf8")).join("");
		expect(/^\/\/ \S*node_modules\/commander\//m.test(text)).toBe(true);
		expect(/^\/\/ \S*node_modules\/(yaml|zod)\//m.test(text)).toBe(false);
	});

	// A ratio of processor times within one run, measured turn by turn; a busy machine gets further tries.
	test("--version takes at most 1.35 times as long as `node -e 0`", {
		retry: 3,
		timeout: 60_000,
	}, () => {
		const bench = ["bench/cli-startup.mjs", "--runs", "21", "--assert", "1.35"];
		const { status, stdout, stderr } = spawnSync(process.execPath, bench, { encoding: "utf8" });
		expect(`${stdout}${stderr}`).toMatch(/reeve --version +[\d.]+ ms +[\d.]+x/);
		expect(stderr).toBe("");
		expect(status).toBe(0);
	});
});
