/** The guide to writing agents, compared with the behaviour of the product. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, onTestFinished, test } from "vitest";
import { ATTEMPT_ERROR_TRAITS, ATTEMPT_ERRORS } from "../../src/core/outcome.js";
import {
	attempt,
	ending,
	NEVER,
	openExecutor,
	program,
	request,
	tempFolder,
} from "../executor/world.js";
import { describeWithPython } from "../support/needs.js";

const guide = readFileSync("docs/guides/agents.md", "utf8");

function block(language: string): string {
	const found = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "ms").exec(guide)?.[1];
	if (found === undefined) throw new Error(`no ${language} in the guide`);
	return found;
}

const count = (argv: readonly [string, ...string[]], text?: string) => {
	const asked = request({ action: "count", payload: { text } });
	return openExecutor().call(attempt({ ...program("words"), argv }, { request: asked }), NEVER);
};

test("the agent in TypeScript works as it is printed", async () => {
	// Inside of the repository, otherwise the import of `reeve` would fail.
	const folder = mkdtempSync(resolve("examples/.planted-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	const { outputText } = ts.transpileModule(block("ts"), {
		compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
	});
	const file = join(folder, "words.mjs");
	writeFileSync(file, outputText);
	expect(ending(await count([process.execPath, file], "one two"))).toBe('ok {"words":2}');
	expect(ending(await count([process.execPath, file]))).toBe("invalid_request");
});

describeWithPython("the agent in Python", () => {
	test("works as it is printed", async () => {
		const file = join(tempFolder(), "words.py");
		writeFileSync(file, block("python"));
		expect(ending(await count(["python3", file], "one two"))).toBe('ok {"words":2}');
	});
});

describe("the table of outcomes", () => {
	const rows = [...guide.matchAll(/^\| .* \| `(\w+)` \| (yes|no) \| (yes|no) \|$/gm)];

	test("shows the decision of the core for each", () => {
		const yes = (is: boolean) => (is ? "yes" : "no");
		for (const [row, error, retried, counts] of rows) {
			const traits = ATTEMPT_ERROR_TRAITS[error as keyof typeof ATTEMPT_ERROR_TRAITS];
			expect([row, retried, counts]).toEqual([row, yes(traits.retryable), yes(traits.counts)]);
		}
	});

	test("has every outcome", () => {
		expect(new Set(rows.map(([, error]) => error))).toEqual(new Set(ATTEMPT_ERRORS));
	});
});
