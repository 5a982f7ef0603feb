import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandVariables } from "./expand.js";

const ENV = { HOME: "/home/ada", EMPTY: "", TRICKY: `a: [b] \${HOME} # c` };

const expand = (text: string) => expandVariables(text, ENV);

describe("expandVariables", () => {
	it.each([
		[`\${HOME}/x`, "/home/ada/x"],
		[`\${HOME}\${HOME}`, "/home/ada/home/ada"],
		[`\${NOPE:-none}`, "none"],
		[`\${NOPE:-}`, ""],
		[`\${EMPTY:-none}`, "none"],
		[`\${EMPTY}`, ""],
		[`\${HOME:-none}`, "/home/ada"],
		[`\${NOPE:-a:-b}`, "a:-b"],
		[`$\${HOME}`, `\${HOME}`],
		["$HOME", "$HOME"],
		["cost: 5$", "cost: 5$"],
		["$$", "$$"],
		["$(id)", "$(id)"],
		["}{", "}{"],
	])("reads %s as %s", (text, expanded) => {
		expect(expand(text)).toMatchObject({ text: expanded, mistakes: [] });
	});

	it("uses the value of a variable as text, even if it looks like YAML", () => {
		expect(expand(`\${TRICKY}`).text).toBe(ENV.TRICKY);
	});

	it("names the variable that is not set", () => {
		expect(expand(`\${NOPE}`).mistakes).toEqual([
			{
				message: "environment variable `NOPE` is not set",
				hint: `set it, or add a default: \`\${NOPE:-default}\``,
			},
		]);
	});

	it("finds every mistake in one text", () => {
		expect(expand(`\${A} \${B} \${`).mistakes).toHaveLength(3);
	});

	it.each([`\${`, `\${}`, `\${1A}`, `\${A B}`, `\${A-b}`, `\${A:?b}`, `\${ A}`])(
		"refuses %s without quoting it",
		(text) => {
			const { mistakes } = expand(text);
			expect(mistakes).toHaveLength(1);
			expect(mistakes[0]?.hint).toBe(`for a literal \`\${\` write \`$\${\``);
		},
	);

	it("does not find inherited properties of objects", () => {
		expect(expand(`\${toString}`).mistakes).toHaveLength(1);
	});

	it("A6: stops when variables bring in too much text", () => {
		const { text, mistakes } = expandVariables(`\${BIG}`.repeat(1_000), {
			BIG: "x".repeat(100_000),
		});
		expect(mistakes).toHaveLength(1);
		expect(text.length).toBeLessThan(300_000);
	});

	it("leaves text without a brace after a dollar alone", () => {
		fc.assert(
			fc.property(fc.string(), (text) => {
				fc.pre(!text.includes("${"));
				expect(expand(text)).toEqual({ text, expanded: false, mistakes: [] });
			}),
		);
	});

	it("gives back any text whose braces were escaped", () => {
		fc.assert(
			fc.property(fc.string({ unit: fc.constantFrom("$", "{", "}", "a") }), (text) => {
				const escaped = text.replaceAll("${", () => "$${");
				expect(expand(escaped)).toEqual({ text, expanded: false, mistakes: [] });
			}),
		);
	});

	it("puts any value in byte for byte", () => {
		fc.assert(
			fc.property(fc.string(), (value) => {
				expect(expandVariables(`<\${V}>`, { V: value }).text).toBe(`<${value}>`);
			}),
		);
	});
});
