/**
 * A check that catches nothing is worthless. Each case plants one violation in a copy of this
 * checkout and expects the named step to report exactly that, with the file and the rule. Those
 * that touch different files are planted together, and every finding has to belong to one of them.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMPORT_VIOLATIONS } from "./import-violations.js";
import { LINT_VIOLATIONS } from "./lint-violations.js";
import { MANIFEST_VIOLATIONS } from "./manifest-violations.js";
import { findingsIn, groupDisjoint } from "./plant-together.js";
import { findingsOf, PlantedCopy, type Step } from "./planted-copy.js";
import { PROSE_VIOLATIONS } from "./prose-violations.js";
import { LEAF, leaf, type Violation } from "./violation.js";

const TYPE_VIOLATIONS: readonly Violation[] = [
	{
		title: "a type error",
		plant: { "src/core/planted.ts": 'export const planted: number = "one";\n' },
		finds: ["src/core/planted.ts: TS2322"],
	},
	{
		title: "an index that may not be there",
		plant: {
			"src/core/planted.ts":
				"export const planted = (from: readonly string[]): string => from[0];\n",
		},
		finds: ["src/core/planted.ts: TS2322"],
		says: "'string | undefined' is not assignable to type 'string'",
	},
	{
		title: "undefined where a property should be left out",
		plant: {
			"src/core/planted.ts": "export const planted: { readonly a?: number } = { a: undefined };\n",
		},
		finds: ["src/core/planted.ts: TS2375"],
		says: "exactOptionalPropertyTypes",
	},
	{
		title: "a type error in a script",
		plant: { "scripts/planted.mjs": "/** @type {number} */\nexport const planted = 'one';\n" },
		finds: ["scripts/planted.mjs: TS2322"],
	},
	{
		title: "a type error in a plugin for an agent CLI",
		plant: {
			"src/adapters/pi/reeve-extension.js": (before) =>
				before.replace("({ text }) =>", "({ texts: text }) =>"),
		},
		finds: ["src/adapters/pi/reeve-extension.js: TS2339"],
	},
];

const DEAD_CODE: readonly Violation[] = [
	{
		title: "an export without an import",
		plant: {
			"src/core/planted.ts": `${LEAF}export const unused = 2;\n`,
			"src/index.ts": (before) => before + leaf("./core/planted.js"),
		},
		finds: ["src/core/planted.ts: Unused exports unused"],
	},
	{
		title: "a file without an import",
		plant: { "src/core/planted.ts": LEAF },
		finds: ["src/core/planted.ts: Unused files"],
	},
	{
		title: "a dependency without an import",
		plant: {
			"package.json": (before) =>
				before.replace(
					'"optionalDependencies": {',
					'"dependencies": { "planted-package": "1.0.0" },\n  "optionalDependencies": {',
				),
		},
		finds: ["package.json: Unused dependencies planted-package"],
	},
];

const SHELL: readonly Violation[] = [
	{
		title: "a syntax error in the script of the hooks",
		plant: { "src/sessions/hook.sh": (before) => before.replace("\nelse\n", "\nelse if\n") },
		finds: ["src/sessions/hook.sh: syntax error"],
	},
];

const PLANTED: readonly (readonly [Step, readonly Violation[]])[] = [
	["lint", LINT_VIOLATIONS],
	["imports", IMPORT_VIOLATIONS],
	["types", TYPE_VIOLATIONS],
	["dead-code", DEAD_CODE],
	["prose", PROSE_VIOLATIONS],
	["shell", SHELL],
	["manifests", MANIFEST_VIOLATIONS],
];

describe("planted violations", { timeout: 300_000 }, () => {
	let copy: PlantedCopy;
	beforeAll(() => {
		copy = new PlantedCopy(process.cwd());
	}, 300_000);
	afterAll(() => copy.remove());

	for (const [step, violations] of PLANTED) {
		for (const group of groupDisjoint(violations)) {
			// The first test of a group runs the step for all of them.
			const plants = Object.assign({}, ...group.map(({ plant }) => plant));
			let ran: ReturnType<PlantedCopy["check"]> | undefined;
			const check = () => {
				ran ??= copy.with(plants, () => copy.check(step));
				return ran;
			};
			test.each(group)(`${step} catches $title`, async (violation) => {
				const { code, output } = await check();
				const findings = findingsOf(step, output);
				expect(findingsIn(violation, findings), output).toEqual([...violation.finds].sort());
				expect(output.replace(/\s+/g, " ")).toContain(violation.says ?? "");
				expect(code).toBe(1);
				const blamed = new Set(group.flatMap((each) => findingsIn(each, findings)));
				expect(findings.filter((finding) => !blamed.has(finding))).toEqual([]);
			});
		}
	}

	test("generated catches a stale file", async () => {
		const { output: list } = await copy.run("scripts/generate.mjs", "--list");
		const [first] = list.split("\n").filter((line) => line !== "");
		if (first === undefined) throw new Error("nothing is generated, so this proves nothing");
		const edit = { [first]: (before: string) => `${before}\n` };
		const { code, output } = await copy.with(edit, () => copy.check("generated"));
		expect(findingsOf("generated", output), output).toEqual([`${first}: is stale`]);
		expect(code).toBe(1);
	});
});
