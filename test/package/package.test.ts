/** The published package: packed, installed into an empty project, and used from there. */

import { execFileSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../faults/fleet-home.js";
import { runReeve } from "../support/reeve.js";

let project: string;
let packed: string[];

const run = (program: string, ...args: string[]) =>
	execFileSync(program, args, { cwd: project, encoding: "utf8" });

beforeAll(() => {
	project = realpathSync(mkdtempSync(join(tmpdir(), "reeve-package-")));
	// Without scripts: dist is built already, and rebuilding it would remove it during other tests.
	const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", project];
	const [result] = JSON.parse(execFileSync("npm", pack, { encoding: "utf8" })) as [
		{ filename: string; files: { path: string }[] },
	];
	packed = result.files.map((file) => file.path);
	writeFileSync(join(project, "package.json"), `{ "type": "module", "private": true }\n`);
	run(
		"npm",
		"install",
		"--prefer-offline",
		"--no-audit",
		"--no-fund",
		join(project, result.filename),
	);
}, 120_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("the installed package", () => {
	test("contains the needed files and nothing else", () => {
		expect(packed).toContain("dist/cli/main.js");
		expect(packed).toContain("schema/reeve.schema.json");
		for (const program of [
			"adapters/opencode/reeve-plugin.js",
			"adapters/pi/reeve-extension.js",
			"notify/desktop.applescript",
			"sessions/hook.sh",
			"store/postgres/001-hosts.sql",
		]) {
			expect(packed).toContain(`dist/${program}`);
		}
		expect(
			packed.filter(
				(path) => /test|\.planted|src\//.test(path) && !/^(dist\/testing|docs)\//.test(path),
			),
		).toEqual([]);
	});

	test("resolves every relative link of every page", () => {
		const root = join(project, "node_modules", "reeve");
		const pages = packed.filter((path) => path.endsWith(".md"));
		expect(pages).toContain("docs/guides/api.md");
		const broken = pages.flatMap((path) =>
			[...readFileSync(join(root, path), "utf8").matchAll(/\]\((?!\w+:|#)([^)#\s]+)[^)]*\)/g)]
				.map((match) => join(dirname(path), match[1] ?? ""))
				.filter((target) => !existsSync(join(root, target)))
				.map((target) => `${path} -> ${target}`),
		);
		expect(broken).toEqual([]);
	});

	test("has the command", () => {
		const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
		expect(run(join("node_modules", ".bin", "reeve"), "--version")).toBe(`${version}\n`);
	});

	test("brings no PostgreSQL, and names the package that a cluster needs", async () => {
		for (const name of ["pg", "@dbos-inc"]) {
			expect(existsSync(join(project, "node_modules", name))).toBe(false);
		}
		const home = join(project, "home");
		const reeve = async (...args: string[]) => {
			const program = join(project, "node_modules", "reeve", "dist", "cli", "main.js");
			return runReeve(args, { program, cwd: project, env: { REEVE_HOME: home } });
		};
		mkdirSync(home, { mode: 0o700 });
		writeFileSync(join(home, "daemon.json"), `{ "cluster": { "database": "postgres:///x" } }`);
		try {
			expect(await reeve("daemon", "start")).toMatchObject({ code: 0 });
			await eventually(
				async () => (await reeve("host", "ls")).stderr.includes("npm install --global pg@"),
				"the missing package is named",
			);
			expect((await reeve("daemon", "status")).stdout).toContain("`pg`");
		} finally {
			await reeve("daemon", "stop");
		}
	});

	test("gives its entry points to programs", () => {
		const program = `
			import { decideAfterExit, DEFAULT_CRASH_POLICY, exitReport, NEW_AGENT } from "reeve";
			import { POLICY_STATES } from "reeve/client";
			import { createManualClock, createRandom } from "reeve/testing";
			const context = { settings: DEFAULT_CRASH_POLICY, onCleanExit: "restart", random: createRandom(1).next() };
			const { reason } = decideAfterExit(NEW_AGENT, exitReport({ code: 1, uptimeMs: 400 }), context);
			console.log(JSON.stringify([reason, POLICY_STATES, createManualClock().now()]));`;
		expect(JSON.parse(run(process.execPath, "--input-type=module", "-e", program))).toEqual([
			"exit code 1 after 400ms: transient (1 within 60s of running time, flapping from 3)",
			["healthy", "degraded", "halted"],
			{ steadyMs: 0, wallMs: 0 },
		]);
	});

	test("makes an agent in a few lines", () => {
		const program = `
			import { serve } from "reeve/agent";
			await serve({ greet: async ({ name }) => ({ text: "hello " + name }) });`;
		writeFileSync(join(project, "agent.mjs"), program);
		const request = { request_id: "r-1", action: "greet", payload: { name: "Ada" } };
		const answer = execFileSync(process.execPath, ["agent.mjs"], {
			...{ cwd: project, encoding: "utf8", input: JSON.stringify(request) },
		});
		expect(JSON.parse(answer)).toEqual({
			...{ request_id: "r-1", status: "success", code: 0, result: { text: "hello Ada" } },
		});
	});

	test("gives its types to TypeScript, strictly", { timeout: 60_000 }, () => {
		const source = `
			import { type CrashDecision, decideResume, NEW_AGENT } from "reeve";
			import { type AgentContext, BadRequest, serve } from "reeve/agent";
			import { createClient, type ReeveEvent } from "reeve/client";
			import { createManualClock, type ManualClock } from "reeve/testing";
			export const clock: ManualClock = createManualClock();
			export const action: CrashDecision["action"] = decideResume(NEW_AGENT).action;
			const client = createClient({ url: "http://127.0.0.1:4270", token: "t" });
			export const policies = async () => (await client.call("GET /api/v1/agents")).agents.map(({ policy }) => policy === "halted");
			export const isExit = (event: ReeveEvent) => event.type === "agent.exited" && event.data.code;
			export const start = () =>
				serve({
					greet: async (payload: { name?: string }, { log, signal }: AgentContext) => {
						log(signal.aborted);
						if (!payload.name) throw new BadRequest("no name");
						return { text: payload.name };
					},
					anything: (payload) => typeof payload,
				});`;
		writeFileSync(join(project, "use.ts"), source);
		const tsc = resolve("node_modules/.bin/tsc");
		const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023"];
		expect(run(tsc, ...flags, "use.ts")).toBe("");
	});

	test("writes a fleet file that finds its schema beside it", () => {
		run(join("node_modules", ".bin", "reeve"), "init");
		const [first] = readFileSync(join(project, "reeve.yaml"), "utf8").split("\n");
		expect(first).toBe(
			"# yaml-language-server: $schema=./node_modules/reeve/schema/reeve.schema.json",
		);
	});
});
