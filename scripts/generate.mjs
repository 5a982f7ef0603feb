/**
 * Writes the files that are made from the source. `--check` writes nothing and fails when one of
 * them is not what it would write; `--list` prints their paths.
 */

import { readFileSync, writeFileSync } from "node:fs";

/** @type {{ path: string, render: () => string | Promise<string> }[]} */
const OUTPUTS = [];

/** @param {string} path */
function readOrEmpty(path) {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}

async function main() {
	if (process.argv.includes("--list")) {
		for (const { path } of OUTPUTS) console.log(path);
		return 0;
	}
	const check = process.argv.includes("--check");
	let stale = 0;
	for (const { path, render } of OUTPUTS) {
		const text = await render();
		if (readOrEmpty(path) === text) continue;
		stale += 1;
		if (check) console.error(`${path} is stale: run \`npm run generate\` and commit the result.`);
		else writeFileSync(path, text);
	}
	return check && stale > 0 ? 1 : 0;
}

process.exitCode = await main();
