import { describe, expect, test } from "vitest";
import { decodeKeys, isPastedEnter } from "./terminal.js";

const names = (input: string) =>
	decodeKeys(input).keys.map((key) => ("text" in key ? `${key.type}:${key.text}` : key.type));

describe("input of a fake agent", () => {
	test.each([
		["hello\r", ["text:hello", "enter"]],
		["\u001b[200~two\rlines\u001b[201~\r", ["paste:two\rlines", "enter"]],
		["\u001b[A\u001bOB\u001b", ["up", "down", "esc"]],
		["\u0003\u0003", ["ctrl_c", "ctrl_c"]],
		["ab\u007f\u0004", ["text:ab", "backspace", "ctrl_d"]],
	])("%j becomes %j", (input, expected) => {
		expect(names(input)).toEqual(expected);
	});

	test("waits for the end of a paste that came in two pieces", () => {
		const { keys, rest } = decodeKeys("\u001b[200~half");
		expect(keys).toEqual([]);
		expect(names(`${rest} whole\u001b[201~`)).toEqual(["paste:half whole"]);
	});

	test("an Enter in one piece with text was not pressed by hand", () => {
		expect(isPastedEnter(decodeKeys("hello\r").keys, 1)).toBe(true);
		expect(isPastedEnter(decodeKeys("\r").keys, 0)).toBe(false);
	});
});
