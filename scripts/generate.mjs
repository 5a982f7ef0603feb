/**
 * Writes the files that are made from the source. `--check` writes nothing and fails when one of
 * them is not what it would write; `--list` prints their paths.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { COMPILER } from "./lib/compiler.mjs";
import { renderCliPage } from "./reference/cli-page.mjs";
import { renderErrorsPage, renderEventsPage, renderStatesPage } from "./reference/core-pages.mjs";
import { renderDefaultLeaves } from "./reference/default-leaves.mjs";
import { renderHttpPage } from "./reference/http-page.mjs";
import { renderLibraryPage } from "./reference/library-page.mjs";

/** @type {{ path: string, render: () => string | Promise<string> }[]} */
const OUTPUTS = [
	{
		path: "schema/reeve.schema.json",
		render: async () => (await built("config/json-schema.js")).renderJsonSchema(),
	},
	{
		path: "docs/reference/fleet-file.md",
		render: async () => (await built("config/reference.js")).renderReference(),
	},
	{
		path: "src/config/default-leaves.ts",
		render: async () =>
			renderDefaultLeaves({
				schema: await built("config/schema.js"),
				resolve: await built("config/resolve.js"),
				diff: await built("config/diff.js"),
				kinds: (await built("core/states.js")).AGENT_KINDS,
			}),
	},
	{
		path: "schema/daemon.schema.json",
		render: async () => (await built("config/json-schema.js")).renderSettingsSchema(),
	},
	{
		path: "docs/reference/daemon-settings.md",
		render: async () => (await built("config/reference.js")).renderSettingsReference(),
	},
	{
		path: "docs/reference/cli.md",
		render: async () => renderCliPage((await built("cli/program.js")).createProgram()),
	},
	{
		path: "docs/reference/errors.md",
		render: async () => renderErrorsPage((await built("core/errors.js")).ERRORS),
	},
	{
		path: "docs/reference/events.md",
		render: async () => renderEventsPage((await built("core/event-docs.js")).EVENT_DOCS),
	},
	{
		path: "schema/openapi.json",
		render: async () => `${JSON.stringify(await openApi(), null, "\t")}\n`,
	},
	{
		path: "docs/reference/http-api.md",
		render: async () => renderHttpPage(await openApi()),
	},
	{
		path: "docs/reference/library.md",
		render: renderLibraryPage,
	},
	{
		path: "docs/reference/states.md",
		render: async () => {
			const { TASK_TABLE } = await built("core/task.js");
			const { PLAN_TABLE } = await built("core/plan.js");
			return renderStatesPage(TASK_TABLE, PLAN_TABLE);
		},
	},
];

/** @param {string} module */
function built(module) {
	return import(pathToFileURL(resolve("build", module)).href);
}

/** @returns {Promise<Record<string, unknown>>} */
async function openApi() {
	const { readVersion } = await built("home/version.js");
	return (await built("http/openapi.js")).renderOpenApi(readVersion());
}

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
	execFileSync(process.execPath, [COMPILER, "-p", "tsconfig.build.json"], { stdio: "inherit" });
	let stale = 0;
	for (const { path, render } of OUTPUTS) {
		const text = await render();
		if (readOrEmpty(path) === text) continue;
		stale += 1;
		if (check) {
			console.error(`${path} is stale: run \`npm run generate\` and commit the result.`);
		} else {
			mkdirSync(dirname(path), { recursive: true });
			writeFileSync(path, text);
		}
	}
	return check && stale > 0 ? 1 : 0;
}

process.exitCode = await main();
