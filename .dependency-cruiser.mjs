/**
 * Which folder may import which. `core ← config, ports ← engine ← http`; folders that know a technology (backends,
 * store, adapters, notify) see core and ports only, backends also host, home and native, store also home; sessions sees
 * the engine's interfaces and the adapters; clients (client, cli, dashboard) see the HTTP contract and home, the agent
 * kit sees core; daemon constructs everything.
 *
 * A new folder in src/ gets a line in `ROOMS` here. Types count as imports: a folder that needs
 * another's types depends on it. Tests may import what they test, so no rule starts at a test.
 */

import { BUNDLED } from "./scripts/lib/bundled.mjs";

const TEST = "\\.test\\.ts$";
const ANY_PACKAGE = "(^|/)node_modules/";

/**
 * @typedef {object} Room a folder of src/, or a part of one
 * @property {string} name the rule is called `<name>-imports`
 * @property {string} path
 * @property {string[]} sees what it may import besides itself and Node's own modules
 * @property {true} [withoutNode] not even Node's own modules
 * @property {string} instead the way to follow the rule
 */

/** @type {Room[]} */
const ROOMS = [
	{
		name: "core",
		path: "^src/core/",
		sees: ["(^|/)node_modules/re2js/"],
		withoutNode: true,
		instead:
			"Core imports nothing outside core but the pure re2js: no folder, no other package, no Node module. Take what you need as an argument; or, if it reads, waits or knows a technology, move it out of core.",
	},
	{
		name: "config",
		path: "^src/config/",
		sees: ["^src/core/", "(^|/)node_modules/(zod|yaml|croner)/"],
		instead:
			"Config sees core, Node and the packages zod, yaml and croner. Code that acts on the configuration belongs in engine, which imports config; what both need belongs in core.",
	},
	{
		name: "ports",
		path: "^src/ports/",
		sees: ["^src/core/"],
		withoutNode: true,
		instead:
			"Ports are the engine's interfaces to the outside, in the types of core: they import core only. Move the type you need to core, or define it here.",
	},
	{
		name: "host",
		path: "^src/host/",
		sees: ["^src/(core|ports)/"],
		instead:
			"Host asks the operating system, with Node alone: it sees core and ports. Code that knows a backend belongs in backends, which import host.",
	},
	{
		name: "native",
		path: "^src/native/",
		sees: [],
		instead:
			"Native holds the C program and finds the binary for this host, with Node alone: it sees no other folder. Code that speaks to the program belongs in the backend that uses it.",
	},
	{
		name: "home",
		path: "^src/home/",
		sees: ["^src/(core|ports|host)/"],
		instead:
			"Home holds the paths of a home and writes its files, for CLI, client, store, backends and daemon alike: it sees core, ports and host. The meaning of a file belongs to its owner, who passes a parser in.",
	},
	{
		name: "sessions",
		path: "^src/sessions/",
		sees: ["^src/(core|config|ports|home|host|adapters|engine)/"],
		instead:
			"Sessions prepares agent CLIs and reads their files on this host: it sees core, config, ports, home, host, adapters and the engine's interfaces. The daemon passes in parts of the HTTP API or of a backend.",
	},
	{
		name: "executor",
		path: "^src/executor/",
		sees: ["^src/(core|ports|host)/"],
		instead:
			"The executor runs programs and speaks JSON with them: it sees core, ports and host. Whether to try again is decided in core and ordered by the engine.",
	},
	{
		name: "engine",
		path: "^src/engine/",
		sees: ["^src/(core|config|ports)/", ANY_PACKAGE],
		instead:
			"The engine sees core, config and ports. Ask for a backend, store, adapter or notifier through its port; daemon/main.ts passes the real one in.",
	},
	{
		name: "services",
		path: "^src/services/",
		sees: ["^src/(core|ports)/"],
		instead:
			"Services keeps the parts of any Node program alive: it sees core, ports and Node only. A part of the daemon belongs in daemon, which hands it to supervise().",
	},
	{
		name: "http-contract",
		path: "^src/http/contract",
		sees: ["^src/core/", "^src/config/spec(-schema)?\\.ts$", "(^|/)node_modules/zod/"],
		withoutNode: true,
		instead:
			"The contract is what client, cli and dashboard share with the server, so it imports core and zod only, and the schema of a resolved fleet. Handlers and whatever needs the engine live beside it in src/http.",
	},
	{
		name: "http",
		path: "^src/http/(?!contract)",
		sees: ["^src/(core|config|ports|engine)/", "^src/http/", ANY_PACKAGE],
		instead:
			"HTTP translates for the engine: it sees core, config, ports and engine. Add what is missing to the engine's facade, and let daemon pass in the rest.",
	},
	{
		name: "remotes",
		path: "^src/remotes/",
		sees: ["^src/(core|ports)/"],
		instead:
			"Remotes keeps the connections to daemons of other hosts: it sees core, ports and Node only. Requests to them are made by the client, which daemon passes in.",
	},
	{
		name: "cluster",
		path: "^src/cluster/",
		sees: ["^src/(core|ports)/"],
		instead:
			"Cluster keeps this host a member of its cluster: it sees core, ports and Node only. Statements to the database belong in store/postgres, which daemon passes in.",
	},
	{
		name: "client",
		path: "^src/client/",
		sees: ["^src/(core|home)/", "^src/http/contract", ANY_PACKAGE],
		instead:
			"The client runs in other people's programs: it sees core, home and src/http/contract* only. Ask the daemon over HTTP; add the route to the contract if there is none.",
	},
	{
		name: "cli",
		path: "^src/cli/",
		sees: ["^src/(core|config|client|home)/", "^src/http/contract", ANY_PACKAGE],
		instead:
			"The CLI is one more client: it sees core, config, client, home and src/http/contract* only. Reach the engine through the client, and start the daemon as a program of its own.",
	},
	{
		name: "dashboard",
		path: "^dashboard/",
		sees: [
			"^src/http/contract",
			"^src/core/(agent-status|events|remote)\\.ts$",
			"(^|/)node_modules/(preact|@preact/signals|@xterm/xterm|@xterm/addon-fit)/",
			// To tsconfig.json, the types of the terminal are those without a screen.
			"(^|/)node_modules/@xterm/headless/typings/",
		],
		withoutNode: true,
		instead:
			"The dashboard is one more client, in a browser: of src/ it sees http/contract*, the types of events, core/agent-status and core/remote only, no Node module, and only the packages that its budget has room for. Add what the page needs to the contract.",
	},
	{
		name: "agent",
		path: "^src/agent/",
		sees: ["^src/core/"],
		instead:
			"The agent kit runs in other people's agents, where nothing but Node can be counted on: of src/ it sees core only, and no package.",
	},
	{
		name: "acp",
		path: "^src/acp/",
		sees: ["^src/(core|agent|client|home)/", "^src/http/contract", ANY_PACKAGE],
		instead:
			"The driver of ACP agents is a worker agent of our own: it sees core, home, the agent kit and the client. Ask the daemon over HTTP; what starts it belongs in daemon.",
	},
	{
		name: "testing",
		path: "^src/testing/",
		sees: ["^src/(core|config|ports)/", ANY_PACKAGE],
		instead:
			"Testing holds fakes of the ports for users of the library: it sees core, config and ports. Helpers for our own tests belong in test/support.",
	},
	{
		name: "library-entry",
		path: "^src/index\\.ts$",
		sees: ["^src/(core|config|ports|engine|services)/"],
		instead:
			"The library's entry point re-exports core, config, ports, engine and services. Client and testing have entry points of their own.",
	},
	{
		name: "daemon",
		path: "^src/daemon/",
		sees: [
			"^src/(core|config|ports|host|native|home|services|executor|engine|sessions|http|backends|store|adapters|notify|remotes|cluster)/",
			"^src/client/",
			ANY_PACKAGE,
		],
		instead:
			"The daemon puts the parts together and sees them all, but not the cli (a client of it), testing (fakes) or the library's entry point.",
	},
];

/** Folders with one part per technology: `src/backends/tmux/`, `src/adapters/claude.ts`. */
const PLUGGABLE = ["backends", "store", "adapters", "notify"];
/** The folders that a pluggable folder sees besides core and ports. */
const ALSO_SEES = { backends: ["host", "home", "native"], store: ["home"] };
const PLUGGABLE_PATHS = PLUGGABLE.map((name) => `^src/${name}/`);

/**
 * @param {Room} room
 * @returns {import("dependency-cruiser").IForbiddenRuleType}
 */
function roomRule({ name, path, sees, withoutNode, instead }) {
	/** @type {import("dependency-cruiser").DependencyType[]} */
	const allowedTypes = withoutNode ? [] : ["core"];
	return {
		name: `${name}-imports`,
		severity: "error",
		comment: instead,
		from: { path, pathNot: TEST },
		// An import that leads nowhere has a rule of its own, and no direction.
		to: { pathNot: [path, ...sees], dependencyTypesNot: allowedTypes, couldNotResolve: false },
	};
}

/**
 * @param {string} name
 * @returns {import("dependency-cruiser").IForbiddenRuleType[]}
 */
function pluggableRules(name) {
	// `claude.ts` and `claude/` are the same part, so the part's name ends at a slash or a dot.
	const part = `^src/${name}/([^/.]+)`;
	const also = /** @type {Record<string, string[]>} */ (ALSO_SEES)[name] ?? [];
	const seen = ["core", "ports", ...also];
	return [
		{
			name: `${name}-imports`,
			severity: "error",
			comment: `Code in ${name} implements a port: it sees ${seen.slice(0, -1).join(", ")} and ${seen.at(-1)} only. Add what it has to know to the port's interface; the engine or daemon/main.ts passes it in.`,
			from: { path: `^src/${name}/`, pathNot: TEST },
			to: {
				pathNot: [`^src/(${[name, ...seen].join("|")})/`, ANY_PACKAGE],
				dependencyTypesNot: ["core"],
				couldNotResolve: false,
			},
		},
		{
			name: `${name}-no-siblings`,
			severity: "error",
			comment: `Each part of ${name} can be read, replaced and deleted alone, so none imports another. What two of them share is a decision for core or an interface for ports; a choice between them belongs in daemon/main.ts.`,
			from: { path: part, pathNot: TEST },
			to: { path: `^src/${name}/`, pathNot: `^src/${name}/$1[/.]` },
		},
	];
}

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
	forbidden: [
		...ROOMS.map(roomRule),
		...PLUGGABLE.flatMap(pluggableRules),
		{
			name: "no-cycles",
			severity: "error",
			comment:
				"These modules import each other, so none can be understood alone. Move what they share (often a type) to a module that both import.",
			from: {},
			to: { circular: true },
		},
		{
			name: "nothing-imports-the-outermost",
			severity: "error",
			comment:
				"daemon, cli, acp, agent and testing are entry points: nothing in src/ imports them (but acp, which is an agent, the agent kit). Move what you need to the folder that owns it, or pass it in from daemon/main.ts.",
			from: { path: "^src/([^/]+)", pathNot: [TEST, "^src/acp/"] },
			to: { path: "^src/(daemon|cli|acp|agent|testing)/", pathNot: "^src/$1/" },
		},
		{
			name: "only-known-folders",
			severity: "error",
			comment:
				"This folder of src/ has no rule about what it may import. Put the module where it belongs, or give the new folder a line in `ROOMS` in .dependency-cruiser.mjs.",
			from: {},
			to: { path: "^src/", pathNot: [...ROOMS.map(({ path }) => path), ...PLUGGABLE_PATHS] },
		},
		{
			name: "source-without-tests",
			severity: "error",
			comment:
				"Shipped code never imports tests, scripts or benchmarks. Move the shared part to src/ (src/testing if users want it too) and import it from there.",
			from: { path: "^(src|dashboard)/", pathNot: TEST },
			to: { path: ["^(test|scripts|bench|tools)/", TEST] },
		},
		{
			name: "source-without-dev-dependencies",
			severity: "error",
			comment:
				"Users do not have our devDependencies. A package that is worth shipping is bundled: name it in BUNDLED in scripts/lib/bundled.mjs. One with native code goes to dependencies in package.json.",
			from: { path: "^src/", pathNot: TEST },
			to: {
				dependencyTypes: ["npm-dev"],
				// Users install these peer dependencies only for a cluster.
				pathNot: [...BUNDLED, "pg", "@types/pg", "@dbos-inc/dbos-sdk"].map(
					(name) => `(^|/)node_modules/${name}/`,
				),
			},
		},
		{
			name: "only-declared-packages",
			severity: "error",
			comment:
				"This package is not in package.json, so it is here by accident of another. Add it there, or do without.",
			from: {},
			to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
		},
		{
			name: "only-what-exists",
			severity: "error",
			comment: "This import leads nowhere. Correct the path, and write `.js` for a `.ts` file.",
			from: {},
			to: { couldNotResolve: true },
		},
		{
			name: "no-orphans",
			severity: "error",
			comment:
				"Nothing imports this module and it imports nothing. Use it from where it is needed, or delete it.",
			from: { orphan: true, path: "^src/", pathNot: ["\\.d\\.ts$", TEST] },
			to: {},
		},
	],
	options: {
		// Types are imports too: a cycle of types is still a cycle to its reader.
		tsPreCompilationDeps: true,
		tsConfig: { fileName: "tsconfig.json" },
		// The dashboard has a package.json of its own.
		combinedDependencies: true,
		doNotFollow: { path: "node_modules" },
		exclude: { path: ["^\\.planted-", "^(\\.\\./)*(dashboard/)?(build|dist)/", "^coverage/"] },
		enhancedResolveOptions: {
			exportsFields: ["exports"],
			conditionNames: ["import", "node", "types"],
		},
	},
};
