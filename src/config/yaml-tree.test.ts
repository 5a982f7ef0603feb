import { describe, expect, it } from "vitest";
import { findTree, locateKey, locateValue } from "./tree.js";
import { FILE_LENGTH_MAX, parseYaml } from "./yaml-tree.js";

const findingsIn = (text: string) =>
	parseYaml(text, {}).findings.map(({ line, column, path, message }) =>
		[`${line}:${column}`, path, message].filter((part) => part !== "").join(" "),
	);

describe("parseYaml", () => {
	it("knows the position of every key and value", () => {
		const { tree } = parseYaml("a:\n  b: [x, yy]\nc:\n", {});
		if (tree === null) throw new Error("not read");
		expect(locateKey(tree, ["a", "b"])).toEqual({ line: 2, column: 3 });
		expect(locateValue(tree, ["a", "b"])).toEqual({ line: 2, column: 6 });
		expect(locateValue(tree, ["a", "b", 1])).toEqual({ line: 2, column: 10 });
		// A missing element is located at its surroundings.
		expect(locateValue(tree, ["a", "nope", "deeper"])).toEqual({ line: 1, column: 1 });
		expect(locateValue(tree, ["c"])).toEqual({ line: 3, column: 1 });
	});

	it("reads words that are booleans in older YAML as text", () => {
		const { tree } = parseYaml("a: yes\nb: on\nc: 0o17\n", {});
		expect(tree && findTree(tree, ["a"])).toMatchObject({ value: "yes" });
		expect(tree && findTree(tree, ["b"])).toMatchObject({ value: "on" });
	});

	it("keeps the written text next to the value of a variable", () => {
		const { tree } = parseYaml(`a: \${A}\n`, { A: "1: [2]" });
		const expected = { value: "1: [2]", written: `\${A}`, expanded: true };
		expect(tree && findTree(tree, ["a"])).toMatchObject(expected);
	});

	it("does not put variables into keys", () => {
		const { tree, findings } = parseYaml(`"\${A}": 1\n`, {});
		expect(findings).toEqual([]);
		expect(tree && findTree(tree, [`\${A}`])).not.toBeNull();
	});

	it("shows an aliased value where it was written", () => {
		const { tree } = parseYaml("a: &x\n  b: 1\nc: *x\n", {});
		expect(tree && locateValue(tree, ["c", "b"])).toEqual({ line: 2, column: 6 });
	});

	it.each([
		["a: 1\nb: 2\na: 3\n", "3:1 a duplicate key"],
		["a: {b: 1, b: 2}\n", "1:11 a.b duplicate key"],
		["1: a\n", "1:1 1 a key must be a string"],
		["? [a]\n: b\n", "1:3 a key must be a string"],
		["__proto__: a\n", "1:1 __proto__ this name is reserved"],
		["a: !secret b\n", "1:12 a tags are not supported"],
		["a: !!binary aGk=\n", "1:13 a tags are not supported"],
		["a: *b\n", "1:4 a invalid alias: there is no anchor with this name above"],
		["a: &a [*a]\n", "1:8 a[0] invalid alias: it contains itself"],
		["a: 1\n---\nb: 2\n", "2:1 a second document starts here"],
		["", "1:1 the file is empty"],
		["# only a comment\n", "1:1 the file is empty"],
		["---\n", "1:1 the file is empty"],
		["%YAML 1.1\n---\na: yes\n", "1:1 only YAML 1.2 is supported"],
		["a:\n\tb: 1\n", "2:1 a tab indents this line"],
		["a: b: c\n", "1:4 there is a `: ` inside this value"],
		["a: @b\n", "1:4 a value cannot start with this character"],
		['a: "\\q"\n', "1:5 unknown escape sequence in double quotes"],
		["a: 'b\n", "2:1 a quote before this point is not closed"],
		["a: 1\nb\n", "2:1 this line is neither a key nor part of a value"],
		["a: 1 }\n}\n", "2:1 invalid YAML from here on"],
		["a: {b: 1\nc: 2\n", "2:1 this line is not indented like the lines it belongs to"],
		[
			`a: {b: \${C}}\nc: [\n`,
			`1:9 \`\${\` inside \`{ }\` or \`[ ]\` is read as the start of a map`,
		],
	])("reports the problem of %j", (text, finding) => {
		expect(findingsIn(text)).toEqual([finding]);
	});

	it("reports independent mistakes together, without errors that only follow from them", () => {
		expect(findingsIn("a: @x\nb: @y\nc: {\nd: }}}\n")).toEqual([
			"1:4 a value cannot start with this character",
			"2:4 a value cannot start with this character",
			"4:1 this line is not indented like the lines it belongs to",
		]);
	});

	it("reports the first position of a repeated key", () => {
		const [finding] = parseYaml("a: 1\na: 2\n", {}).findings;
		expect(finding?.hint).toBe("it is already defined at line 1, column 1: keep one of them");
	});

	it("A6: reports a file that expands without a limit as an error", () => {
		const names = [..."abcdefghijkl"];
		const bomb = names.map((name, index) => {
			const before = index === 0 ? "1" : `*${names[index - 1]}`;
			return `${name}: &${name} [${Array(9).fill(before).join(", ")}]`;
		});
		const { tree, findings } = parseYaml(bomb.join("\n"), {});
		expect(tree).toBeNull();
		expect(findings).toHaveLength(1);
		expect(findings[0]?.message).toContain("too many values");
	});

	it("A6: rejects endless nesting", () => {
		for (const text of ["[".repeat(60) + "]".repeat(60), "[".repeat(100_000)]) {
			const { tree, findings } = parseYaml(text, {});
			expect(tree).toBeNull();
			expect(findings).toHaveLength(1);
		}
	});

	it("A6: refuses a file that is too large, and variables that bring in too much", () => {
		expect(findingsIn("#".repeat(FILE_LENGTH_MAX + 1))).toEqual([
			"1:1 the file is larger than 1MiB",
		]);
		const env = { BIG: "x".repeat(100_000) };
		const { tree, findings } = parseYaml(`- "\${BIG}"\n`.repeat(50), env);
		expect(tree).toBeNull();
		expect(findings).toHaveLength(1);
	});
});
