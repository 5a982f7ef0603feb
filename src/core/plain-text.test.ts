import { expect, test } from "vitest";
import { plainText } from "./plain-text.js";

test.each([
	["\u001b[31mred\u001b[0m", "red"],
	["a\u001b[2Cb", "a b"],
	["\u001b]0;title\u0007text", " text"],
	["\u001b]8;;x\u001b\\link", " link"],
	["\u001bPq#0\u001b\\after", " after"],
	["\u001b7saved", " saved"],
])("%j reads as %j", (text, expected) => {
	expect(plainText(text)).toBe(expected);
});
