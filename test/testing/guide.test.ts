/** The guide to testing fleets, compared with the behaviour of the product. */

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { readScript } from "../../src/testing/fake-agent/script.js";
import { REEVE, temporaryFolder } from "../support/reeve.js";

const guide = readFileSync("docs/guides/testing.md", "utf8");
const blocks = (language: string) =>
	[...guide.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(
		([, text]) => text ?? "",
	);

/** Runs a program of the guide with the command `reeve` on its PATH. */
function run(text: string): string {
	const bin = temporaryFolder();
	writeFileSync(join(bin, "reeve"), `#!/bin/sh\nexec ${process.execPath} ${REEVE} "$@"\n`);
	chmodSync(join(bin, "reeve"), 0o755);
	// Inside of the repository, otherwise the import of `reeve` would fail.
	const folder = mkdtempSync(resolve("examples/.planted-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	writeFileSync(join(folder, "guide.mjs"), text);
	const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
	return execFileSync(process.execPath, [join(folder, "guide.mjs")], { env, encoding: "utf8" });
}

test("the fleet under test works as in the guide", { timeout: 180_000 }, () => {
	expect(run(blocks("js")[0] ?? "")).toBe("the fleet works as expected\n");
});

test("the mock API answers as in the guide", { timeout: 60_000 }, () => {
	expect(run(blocks("js")[1] ?? "")).toBe("529 hello\n");
});

test("the script of the guide is one, and no key is missing from it", () => {
	const read = readScript(parse(blocks("yml")[0] ?? ""));
	expect(read).toMatchObject({ ok: true });
	const keys = read.ok ? Object.keys(read.script) : [];
	for (const key of keys) expect(guide).toContain(key);
});
