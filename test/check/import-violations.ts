/** Violations that `check.mjs imports` must catch: each folder importing from a forbidden one. */

import { LEAF, leaf, type Violation } from "./violation.js";

/** One folder importing another: the importer is `from`, and the imported file exists. */
function crossing(from: string, to: string, rules: readonly string[], says: string): Violation {
	const up = from.split("/").map(() => "..");
	return {
		title: `${from} importing ${to}`,
		plant: {
			[`${from}/planted.ts`]: leaf(`${up.join("/")}/${to}/planted-leaf.js`),
			[`${to}/planted-leaf.ts`]: LEAF,
		},
		finds: rules.map((rule) => `${from}/planted.ts: ${rule}`),
		says,
	};
}

const OUTERMOST = "nothing-imports-the-outermost";

export const IMPORT_VIOLATIONS: readonly Violation[] = [
	crossing("src/core", "src/config", ["core-imports"], "Take what you need as an argument"),
	crossing("src/config", "src/engine", ["config-imports"], "belongs in engine"),
	crossing("src/ports", "src/engine", ["ports-imports"], "they import core only"),
	crossing("src/host", "src/engine", ["host-imports"], "Host asks the operating system"),
	crossing("src/native", "src/host", ["native-imports"], "it sees no other folder"),
	crossing("src/engine", "src/native", ["engine-imports"], "through its port"),
	crossing("src/home", "src/store/sqlite", ["home-imports"], "passes a parser in"),
	crossing("src/host", "src/home", ["host-imports"], "Host asks the operating system"),
	crossing("src/engine", "src/home", ["engine-imports"], "through its port"),
	crossing("src/engine", "src/sessions", ["engine-imports"], "through its port"),
	crossing("src/sessions", "src/backends/tmux", ["sessions-imports"], "The daemon passes in"),
	crossing("src/engine", "src/backends/tmux", ["engine-imports"], "through its port"),
	crossing("src/engine", "src/host", ["engine-imports"], "through its port"),
	crossing("src/engine", "src/executor", ["engine-imports"], "through its port"),
	crossing("src/executor", "src/engine", ["executor-imports"], "ordered by the engine"),
	crossing("src/services", "src/engine", ["services-imports"], "any Node program"),
	crossing("src/http", "src/daemon", ["http-imports", OUTERMOST], "the engine's facade"),
	crossing("src/http/contract", "src/config", ["http-contract-imports"], "core and zod only"),
	crossing("src/http/contract", "src/engine", ["http-contract-imports"], "core and zod only"),
	crossing("src/client", "src/engine", ["client-imports"], "Ask the daemon over HTTP"),
	crossing("src/cli", "src/engine", ["cli-imports"], "through the client"),
	crossing("src/cli", "src/http", ["cli-imports"], "through the client"),
	crossing("dashboard/src", "src/engine", ["dashboard-imports"], "one more client"),
	crossing("dashboard/src", "src/client", ["dashboard-imports"], "in a browser"),
	crossing("dashboard/src", "src/core", ["dashboard-imports"], "Add what the page needs"),
	crossing(
		"src/backends/tmux",
		"src/backends/pty",
		["backends-no-siblings"],
		"none imports another",
	),
	crossing(
		"src/backends/tmux",
		"src/store/sqlite",
		["backends-imports"],
		"core, ports, host, home and native only",
	),
	crossing("src/store/sqlite", "src/host", ["store-imports"], "core, ports and home only"),
	crossing(
		"src/store/sqlite",
		"src/notify/desktop",
		["store-imports"],
		"core, ports and home only",
	),
	crossing("src/adapters/claude", "src/engine", ["adapters-imports"], "core and ports only"),
	crossing("src/notify/desktop", "src/config", ["notify-imports"], "core and ports only"),
	crossing("src/agent", "src/client", ["agent-imports"], "other people's agents"),
	crossing("src/acp", "src/engine", ["acp-imports"], "a worker agent of our own"),
	crossing("src/testing", "src/engine", ["testing-imports"], "fakes of the ports"),
	crossing("src/daemon", "src/cli", ["daemon-imports", OUTERMOST], "entry points"),
	crossing(
		"src/engine",
		"test/support",
		["engine-imports", "source-without-tests"],
		"Move the shared",
	),
	{
		title: "source importing the test beside it",
		plant: {
			"src/engine/planted.ts": leaf("./planted-leaf.test.js"),
			"src/engine/planted-leaf.test.ts": LEAF,
		},
		finds: ["src/engine/planted.ts: source-without-tests"],
	},
	{
		title: "one adapter importing another, file to file",
		plant: {
			"src/adapters/planted.ts": leaf("./planted-leaf.js"),
			"src/adapters/planted-leaf.ts": LEAF,
		},
		finds: ["src/adapters/planted.ts: adapters-no-siblings"],
	},
	{
		title: "a Node module in core",
		plant: { "src/core/planted.ts": 'export { readFileSync } from "node:fs";\n' },
		finds: ["src/core/planted.ts: core-imports"],
	},
	{
		title: "a package in core, if only for its types",
		plant: { "src/core/planted.ts": 'export type { ZodType } from "zod";\n' },
		finds: ["src/core/planted.ts: core-imports"],
	},
	{
		title: "a package in config that is not one of its two",
		plant: { "src/config/planted.ts": 'export { Command } from "commander";\n' },
		finds: ["src/config/planted.ts: config-imports"],
	},
	{
		title: "a development package in what is shipped",
		plant: { "src/engine/planted.ts": 'export { test } from "vitest";\n' },
		finds: ["src/engine/planted.ts: source-without-dev-dependencies"],
	},
	{
		title: "a cycle, if only of types",
		plant: {
			"src/engine/planted.ts":
				'import type { B } from "./planted-b.js";\n\nexport type A = B | 1;\n',
			"src/engine/planted-b.ts":
				'import type { A } from "./planted.js";\n\nexport type B = A | 2;\n',
		},
		finds: ["src/engine/planted-b.ts: no-cycles"],
		says: "Move what they share",
	},
	{
		title: "a folder that no rule knows",
		plant: {
			"src/utils/planted.ts": LEAF,
			"test/support/planted.ts": leaf("../../src/utils/planted.js"),
		},
		finds: ["test/support/planted.ts: only-known-folders"],
		says: "Put the module where it belongs",
	},
	{
		title: "an import that leads nowhere",
		plant: { "src/engine/planted.ts": leaf("./not-there.js") },
		finds: ["src/engine/planted.ts: only-what-exists"],
	},
	{
		title: "a module that has to do with no other",
		plant: { "src/engine/planted.ts": LEAF },
		finds: ["src/engine/planted.ts: no-orphans"],
	},
];
