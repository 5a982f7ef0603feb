import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "./program.js";

const leavesOf = (parent: Command): Command[] =>
	parent.commands.flatMap((command) =>
		command.commands.length === 0 ? [command] : leavesOf(command),
	);
const commands = leavesOf(createProgram());

test("every command accepts --json and has a description", () => {
	expect(commands.length).toBeGreaterThan(20);
	for (const command of commands) {
		expect(command.options.map((option) => option.long)).toContain("--json");
		expect(command.description()).toMatch(/^[A-Z].*\.$/);
	}
});

test("every option and argument has a description", () => {
	for (const command of commands) {
		for (const { description } of [...command.options, ...command.registeredArguments]) {
			expect(description).not.toBe("");
		}
	}
});
