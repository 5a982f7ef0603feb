import { expect, test } from "vitest";
import { createProgram } from "../program.js";
import { completeWords } from "./completion.js";

const complete = (line: string) => completeWords(createProgram(), line.split(" "));

test.each([
	["", ["up", "down", "ps", "completion"]],
	["plan ", ["run", "ls", "show", "cancel"]],
	["completion ", ["bash", "zsh", "fish"]],
	["call --", ["--payload", "--json"]],
	["down --timeout 3s --", ["--json"]],
])("`reeve %s` is completed with the matching words", (line, words) => {
	expect(complete(line).words).toEqual(expect.arrayContaining(words));
	expect(complete(line).words).not.toContain("complete-words");
});

test.each([
	["down ", true],
	["stop p:a ", true],
	["logs -n 5 ", true],
	["logs p:a ", true],
	["logs -n ", false],
	["up -f ", false],
	["call p:a ", false],
	["validate ", false],
])("`reeve %s` wants an agent: %s", (line, wantsAgents) => {
	expect(complete(line).wantsAgents).toBe(wantsAgents);
});
