/** A new home asks the file system to place its folders apart from those beside it. */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeHomeFolders, prepareHome } from "../../src/daemon/self-care/acquire-home.js";
import { resolveHome } from "../../src/home/paths.js";

/** Whether this file system has the attribute, as the system's own program finds out. */
function isSupported(folder: string): boolean {
	return spawnSync("chattr", ["+T", folder]).status === 0;
}

function isSpread(folder: string): boolean {
	const [attributes = ""] = spawnSync("lsattr", ["-d", folder], { encoding: "utf8" }).stdout.split(
		" ",
	);
	return attributes.includes("T");
}

const onLinux = {
	skip: process.platform !== "linux",
	meta: { skipReason: "only Linux has this attribute" },
};

test(
	"the folders of a new home are spread where the file system supports it",
	onLinux,
	async () => {
		const parent = mkdtempSync(join(tmpdir(), "reeve-spread-"));
		onTestFinished(() => rmSync(parent, { recursive: true }));
		const sibling = join(parent, "sibling");
		mkdirSync(sibling);
		const home = resolveHome({ REEVE_HOME: join(parent, "home") });
		await prepareHome(home);
		await makeHomeFolders(home);
		expect(isSpread(home.dir)).toBe(isSupported(sibling));
	},
);
