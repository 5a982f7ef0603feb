import { expect, test } from "vitest";
import { noteAnswer } from "../client/answered-remotes.js";
import { NO_COLORS, type Output } from "./output.js";
import { printError } from "./print-error.js";

function printed(error: unknown): string {
	const lines: string[] = [];
	const output = { note: (line: string) => lines.push(line), sayColors: NO_COLORS };
	printError(error, output as unknown as Output, false);
	return lines.join("\n");
}

test("an answer of another version that cannot be read is no bug of this one", () => {
	const error = new TypeError("Cannot read properties of undefined (reading 'outcome')");
	expect(printed(error)).toMatch(/Cannot read properties[\s\S]*hint: Report it/);
	noteAnswer("old");
	const text = printed(error);
	expect(text).toContain("error: this version of Reeve cannot read the answer of old");
	expect(text).toContain("may have been carried out");
	expect(text).not.toContain("outcome");
	expect(printed(new Error("disk"))).toContain("hint: Report it");
});
