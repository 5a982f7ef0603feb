import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEnvFile } from "./env-file.js";

const parse = (text: string | Uint8Array) =>
	parseEnvFile(typeof text === "string" ? Buffer.from(text) : text, ".env");

const valuesOf = (text: string) => {
	const parsed = parse(text);
	return parsed.ok ? parsed.values : parsed.problems;
};

describe("parseEnvFile", () => {
	it.each([
		["A= b ", " b "],
		['A="b"', '"b"'],
		["A='b'", "'b'"],
		["A=b # c", "b # c"],
		["A=$HOME/*", "$HOME/*"],
		["A=b=c==", "b=c=="],
		["A=", ""],
		["A=\\n\\t", "\\n\\t"],
		["A=b\tc", "b\tc"],
		["A=b\r", "b"],
		["A=b\rc\r\r", "b\rc\r"],
		["A=å😀", "å😀"],
		["  A=b", "b"],
		["\uFEFFA=b", "b"],
	])("reads the value of %j byte for byte", (line, value) => {
		expect(valuesOf(`${line}\n`)).toEqual({ A: value });
		expect(valuesOf(line)).toEqual({ A: value });
	});

	it.each([
		"",
		"   ",
		"# A=b",
		"  # A=b",
		"A",
		"=b",
		"export A=b",
		"A B=c",
		"1A=b",
		"A-B=c",
		"A =b",
	])("skips the line %j", (line) => {
		expect(valuesOf(`${line}\nOK=1\n`)).toEqual({ OK: "1" });
	});

	it.each([
		["export A=b", "starts with `export`, so `A` is not set"],
		["MY-VAR=b", "not a valid variable name"],
		["A =b", "not a valid variable name"],
		["just words", "no `=`"],
		["REEVE_HOME=/x", "`REEVE_HOME` is not set"],
		['A="b"', "quotes are part of the value of `A`"],
		["A='b' # c", "quotes are part of the value of `A`"],
		["A=b # c", "after `#` is part of the value of `A`"],
		["A= b", "starts with a space"],
		["A=b ", "ends with a space"],
		[`A=\${HOME}/x`, "is not expanded"],
	])("warns about the line %j", (line, words) => {
		const parsed = parse(`# first\n${line}\nOK=1\n`);
		if (!parsed.ok) throw new Error("meant to be usable");
		expect(parsed.warnings).toHaveLength(1);
		expect(parsed.warnings[0]).toMatchObject({ file: ".env", line: 2 });
		expect(parsed.warnings[0]?.message).toContain(words);
	});

	it.each(["A=b", "A=b#c", "A=it's", "A=", "A=a b", "A=$HOME", "  # x", "A=b=c=="])(
		"does not warn about the line %j",
		(line) => {
			expect(parse(`${line}\n`)).toMatchObject({ ok: true, warnings: [] });
		},
	);

	it("A5: quotes neither a value nor text that is not a name", () => {
		const parsed = parse('A="canary"\nMIIcanary==\ncanary\nexport B=canary\nC= canary\n');
		expect(JSON.stringify(parsed.ok && parsed.warnings)).not.toContain("canary");
	});

	it("uses the last of two lines with the same key", () => {
		expect(valuesOf("A=1\nA=2\n")).toEqual({ A: "2" });
	});

	it("keeps a variable with the name of an object property", () => {
		const parsed = parse("__proto__=x\n");
		expect(parsed.ok && Object.entries(parsed.values)).toEqual([["__proto__", "x"]]);
	});

	it("reports the line that is not UTF-8 instead of changing its bytes", () => {
		const bytes = Buffer.concat([
			Buffer.from("A=1\nB="),
			Buffer.from([0xff]),
			Buffer.from("\nC=3"),
		]);
		expect(parse(bytes)).toMatchObject({
			ok: false,
			problems: [{ file: ".env", line: 2, column: 1, message: "this line is not valid UTF-8" }],
		});
	});

	it("reports the line with a NUL byte, and A5: not its other contents", () => {
		const parsed = parse("A=1\nB=canary\0\n");
		expect(parsed).toMatchObject({ ok: false, problems: [{ line: 2 }] });
		expect(JSON.stringify(parsed)).not.toContain("canary");
	});

	it("gives back every value that a line can hold", () => {
		const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
		const value = fc.string({ unit: "binary" }).filter((text) => !/[\n\0]|\r$/.test(text));
		fc.assert(
			fc.property(fc.dictionary(name, value), (values) => {
				const lines = Object.entries(values).map(([key, each]) => `${key}=${each}`);
				expect(valuesOf(lines.join("\n"))).toEqual({ ...values });
				expect(valuesOf(`${lines.join("\r\n")}\r\n`)).toEqual({ ...values });
			}),
		);
	});

	it("gives an answer for any bytes", () => {
		fc.assert(fc.property(fc.uint8Array(), (bytes) => typeof parse(bytes).ok === "boolean"));
	});
});
