/**
 * The checks are only worth what they catch. Each case plants one violation in a copy of this
 * checkout and expects the named step to report exactly that, with the file and the rule. The copy is
 * green without it, so nothing else can be what the step complains about.
 *
 * Each case runs a whole step over the whole checkout, so every third is planted here; all of them with
 * `npm run check:planted`.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IMPORT_VIOLATIONS } from "./import-violations.js";
import { LINT_VIOLATIONS } from "./lint-violations.js";
import { findingsOf, PlantedCopy, type Step } from "./planted-copy.js";
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
];

const DEAD_CODE: readonly Violation[] = [
	{
		title: "an export that nobody imports",
		plant: {
			"src/core/planted.ts": `${LEAF}export const unused = 2;\n`,
			"src/index.ts": (before) => before + leaf("./core/planted.js"),
		},
		finds: [expect.stringMatching(/^unused +src\/core\/planted\.ts\S*: Unused exports$/)],
	},
	{
		title: "a file that nobody imports",
		plant: { "src/core/planted.ts": LEAF },
		finds: ["src/core/planted.ts: Unused files"],
	},
	{
		title: "a dependency that nobody imports",
		plant: {
			"package.json": (before) =>
				before.replace('"dependencies": {', '"dependencies": {\n    "planted-package": "1.0.0",'),
		},
		finds: [expect.stringMatching(/^planted-package +package\.json\S*: Unused dependencies$/)],
	},
];

const PLANTED: readonly (readonly [Step, readonly Violation[]])[] = [
	["lint", LINT_VIOLATIONS],
	["imports", IMPORT_VIOLATIONS],
	["types", TYPE_VIOLATIONS],
	["dead-code", DEAD_CODE],
];

const EVERY = process.env["REEVE_PLANT_ALL"] === "1" ? 1 : 3;

describe("planted violations", { timeout: 300_000 }, () => {
	let copy: PlantedCopy;
	beforeAll(() => {
		copy = new PlantedCopy(process.cwd());
	}, 300_000);
	afterAll(() => copy.remove());

	test("nothing is found in the copy as it is", async () => {
		const { code, output } = await copy.check();
		expect({ code, output }).toEqual({ code: 0, output: expect.not.stringContaining("FAIL") });
	});

	for (const [step, violations] of PLANTED) {
		const chosen = violations.filter((_, index) => index % EVERY === 0);
		for (const { title, plant, finds, says = "" } of chosen) {
			test(`${step} catches ${title}`, async () => {
				const { code, output } = await copy.with(plant, () => copy.check(step));
				expect(findingsOf(step, output), output).toEqual([...finds].sort());
				expect(output.replace(/\s+/g, " ")).toContain(says);
				expect(code).toBe(1);
			});
		}
	}

	test("generated catches a file that is not what the source makes of it", async () => {
		const { output: list } = await copy.run("scripts/generate.mjs", "--list");
		const [first] = list.split("\n").filter((line) => line !== "");
		if (first === undefined) throw new Error("nothing is generated, so this proves nothing");
		const edit = { [first]: (before: string) => `${before}\n` };
		const { code, output } = await copy.with(edit, () => copy.check("generated"));
		expect(findingsOf("generated", output), output).toEqual([`${first}: is stale`]);
		expect(code).toBe(1);
	});
});
