/** The documentation, compared with the behaviour of the product. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseFleet } from "../../src/config/parse-fleet.js";
import { parsePlan } from "../../src/config/plan-file.js";
import { ERRORS } from "../../src/core/errors.js";
import { runReeve } from "../support/reeve.js";

const filesUnder = (folder: string) =>
	readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));

const pages = [
	"README.md",
	"CONTRIBUTING.md",
	"CHANGELOG.md",
	"examples/README.md",
	...filesUnder("docs").filter((path) => path.endsWith(".md")),
].map((path) => ({ path, text: readFileSync(path, "utf8") }));

const blocks = (text: string, language: string) =>
	[...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(
		(match) => match[1] ?? "",
	);

describe("the documentation", () => {
	test("links only to existing files", () => {
		const broken = pages.flatMap(({ path, text }) =>
			[...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)]
				.map((match) => join(dirname(path), match[1] ?? ""))
				.filter((target) => !existsSync(target))
				.map((target) => `${path} -> ${target}`),
		);
		expect(broken).toEqual([]);
	});

	test("shows only fleet files and plans that are valid", () => {
		const shown = pages.flatMap(({ path, text }) =>
			blocks(text, "yaml").map((file) => ({ path, file, isPlan: /^tasks:/m.test(file) })),
		);
		expect(new Set(shown.map(({ isPlan }) => isPlan)).size).toBe(2);
		for (const { path, file, isPlan } of shown) {
			const parsed = isPlan
				? parsePlan(file, path)
				: parseFleet(file, path, { env: {}, homeDir: "/", baseDir: "/" });
			expect(parsed.ok ? [] : parsed.problems).toEqual([]);
		}
	});

	test("shows commands with their exact output", async () => {
		const shown = pages.flatMap(({ text }) => [
			...text.matchAll(/^```\n\$ reeve (explain --simulate "([^"]*)")\n(.*?)^```$/gms),
		]);
		expect(shown.length).toBeGreaterThan(0);
		for (const [, , exits = "", output] of shown) {
			const { stdout } = await runReeve(["explain", "--simulate", exits]);
			expect(stdout).toBe(output);
		}
	});

	test("lists the paths through the code with functions that exist", () => {
		const page = readFileSync("docs/architecture.md", "utf8");
		const section = page.split("## Three paths through the code")[1]?.split("\n## ")[0] ?? "";
		const steps = [...section.matchAll(/`([a-z0-9/-]+):(\w+)`/g)];
		expect(steps.length).toBeGreaterThan(60);
		const missing = steps.filter(([, file, name]) => {
			const path = `src/${file}.ts`;
			return (
				!existsSync(path) ||
				!new RegExp(`\\b${name}\\b[<(:]|class ${name}\\b`).test(readFileSync(path, "utf8"))
			);
		});
		expect(missing.map(([step]) => step)).toEqual([]);
	});

	test("lists each change and each heading of the changelog once", () => {
		const { text } = pages.find(({ path }) => path === "CHANGELOG.md") ?? { text: "" };
		const headings = text.match(/^#{2,4} .*$/gm) ?? [];
		const entries = text.split(/^(?=- |#)/m).filter((part) => part.startsWith("- "));
		expect(entries.length).toBeGreaterThan(100);
		const twice = (parts: string[]) => parts.filter((part, at) => parts.indexOf(part) !== at);
		expect(twice([...headings, ...entries.map((entry) => entry.trim())])).toEqual([]);
	});

	test("mentions only npm scripts that exist", () => {
		const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
			scripts: Record<string, string>;
		};
		const named = pages.flatMap(({ text }) =>
			[...text.matchAll(/npm run ([a-z:]+)/g)].map((m) => m[1]),
		);
		expect(named.filter((name) => scripts[name ?? ""] === undefined)).toEqual([]);
	});

	test("names every invariant that code or tests cite", () => {
		const architecture = readFileSync("docs/architecture.md", "utf8");
		const cited = [...filesUnder("src"), ...filesUnder("test")]
			.filter((path) => path.endsWith(".ts"))
			.flatMap(
				(path) => readFileSync(path, "utf8").match(/\b[STBA]\d{1,2}\b(?= |:|\)|,|\.|$)/gm) ?? [],
			);
		const unknown = [...new Set(cited)].filter((label) => !architecture.includes(`**${label}**`));
		expect(unknown).toEqual([]);
	});
});

test("every error that is registered is raised, or returned to callers of agents", () => {
	const source = filesUnder("src")
		.filter((path) => path.endsWith(".ts") && !path.endsWith("errors.ts"))
		.map((path) => readFileSync(path, "utf8"))
		.join("\n");
	const promised = [
		"validation_failed",
		"planning_failed",
		"execution_failed",
		"agent_unavailable",
		"timeout",
		"internal",
	];
	const idle = Object.keys(ERRORS).filter(
		(code) => !promised.includes(code) && !source.includes(`"${code}"`),
	);
	expect(idle).toEqual([]);
});
