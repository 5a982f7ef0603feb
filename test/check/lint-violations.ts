/** Violations that `check.mjs lint` must catch: above all, impure code in core. */

import type { Violation } from "./violation.js";

/** A file in core with one impure thing in it. */
function inCore(title: string, text: string, rule: string, says: string): Violation {
	const file = "src/core/planted.ts";
	return { title, plant: { [file]: text }, finds: [`${file}: ${rule}`], says };
}

const GLOBALS = "lint/style/noRestrictedGlobals";
const IMPORTS = "lint/style/noRestrictedImports";
const TIME = "Take the time as an argument";
const WAIT = "Return the delay in milliseconds";

export const LINT_VIOLATIONS: readonly Violation[] = [
	inCore("Date.now() in core", "export const planted = Date.now();\n", GLOBALS, TIME),
	inCore("new Date() in core", "export const planted = new Date();\n", GLOBALS, TIME),
	inCore("performance.now() in core", "export const planted = performance.now();\n", GLOBALS, TIME),
	inCore(
		"a clock reached through globalThis",
		"export const planted = globalThis;\n",
		GLOBALS,
		"IO",
	),
	inCore(
		"setTimeout in core",
		"export const planted = (then: () => void) => setTimeout(then, 1);\n",
		GLOBALS,
		WAIT,
	),
	inCore(
		"process.hrtime in core",
		"export const planted = process.hrtime.bigint();\n",
		GLOBALS,
		"Core does no IO",
	),
	inCore(
		"Math.random in core",
		"export const planted = Math.random();\n",
		"core-no-random",
		"Take the number as an argument",
	),
	inCore(
		"Math taken apart in core",
		"const { random } = Math;\n\nexport const planted = random();\n",
		"core-no-random",
		"Take the number as an argument",
	),
	inCore(
		"crypto in core",
		"export const planted = crypto.randomUUID();\n",
		GLOBALS,
		"Take the number as an argument",
	),
	inCore(
		"an async function in core",
		"export async function planted() {\n\treturn 1;\n}\n",
		"core-no-async",
		"Take the finished value as an argument",
	),
	inCore(
		"an async method in core",
		"export const planted = {\n\tasync run() {\n\t\treturn 1;\n\t},\n};\n",
		"core-no-async",
		"Take the finished value as an argument",
	),
	inCore(
		"await in core",
		"export const planted = await 1;\n",
		"core-no-async",
		"Take the finished value as an argument",
	),
	inCore(
		"a Promise in a type in core",
		"export type Planted = Promise<number>;\n",
		GLOBALS,
		"Take the finished value as an argument",
	),
	inCore(
		"console in core",
		'console.log("planted");\n',
		GLOBALS,
		"Return the reason as part of the decision",
	),
	inCore(
		"a Node module in core",
		'import { readFileSync } from "node:fs";\n\nexport const planted = readFileSync;\n',
		IMPORTS,
		"Core imports only core",
	),
	inCore(
		"a package in core",
		'import { z } from "zod";\n\nexport const planted = z.string();\n',
		IMPORTS,
		"Core imports only core",
	),
	{
		title: "any",
		plant: { "src/engine/planted.ts": "export const planted = (value: any) => value;\n" },
		finds: ["src/engine/planted.ts: lint/suspicious/noExplicitAny"],
	},
	{
		title: "a non-null assertion",
		plant: { "src/engine/planted.ts": "export const planted = (of: string[]) => of.at(0)!;\n" },
		finds: ["src/engine/planted.ts: lint/style/noNonNullAssertion"],
	},
	{
		title: "a promise without await",
		plant: {
			"src/engine/planted.ts":
				"async function work() {\n\tawait 1;\n}\n\nexport function planted() {\n\twork();\n}\n",
		},
		finds: ["src/engine/planted.ts: lint/nursery/noFloatingPromises"],
	},
	{
		title: "a barrel that is no entry point",
		plant: { "src/engine/planted.ts": 'export * from "../core/time.js";\n' },
		finds: [
			"src/engine/planted.ts: lint/performance/noBarrelFile",
			"src/engine/planted.ts: lint/performance/noReExportAll",
		],
	},
	{
		title: "the wrong format",
		plant: { "src/engine/planted.ts": "export const planted = 'single quotes'\n" },
		finds: ["src/engine/planted.ts: format"],
	},
];
