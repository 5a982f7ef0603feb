/**
 * Parses every shell script with `sh -n`, so that a syntax error is found before an agent CLI runs the script.
 *
 * Works on the checkout that is the current directory, so that tests can run it on a copy.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const ROOTS = ["src", "deploy", "examples", "bench", "test"].filter((folder) => existsSync(folder));

const scripts = ROOTS.flatMap((folder) =>
	readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".sh"))
		.map((name) => join(folder, name)),
);
const failed = scripts.filter((path) => {
	const { status, stderr } = spawnSync("sh", ["-n", path], { encoding: "utf8" });
	if (status !== 0) console.log(`${path} has a syntax error: ${stderr.trim()}`);
	return status !== 0;
});
if (scripts.length === 0) console.log("found no shell script");
process.exitCode = failed.length > 0 || scripts.length === 0 ? 1 : 0;
