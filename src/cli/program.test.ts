import { expect, test } from "vitest";
import { createProgram } from "./program.js";

const commands = createProgram().commands;

test("every command takes --json and says what it does", () => {
	for (const command of commands) {
		expect(command.options.map((option) => option.long)).toContain("--json");
		expect(command.description()).toMatch(/^[A-Z].*\.$/);
	}
});

test("every option and argument says what it is", () => {
	for (const command of commands) {
		for (const { description } of [...command.options, ...command.registeredArguments]) {
			expect(description).not.toBe("");
		}
	}
});
