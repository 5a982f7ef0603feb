import { expect, test } from "vitest";
import type { StartedJson } from "../http/contract/agents.js";
import type { Output } from "./output.js";
import { printStartHints } from "./start-report.js";

function hints(start: Partial<StartedJson>): readonly string[] {
	const said: string[] = [];
	const output = { note: (line: string) => void said.push(line) } as unknown as Output;
	const started = { id: "web:a", outcome: "halted", pid: null, reason: "", ...start } as const;
	printStartHints([started], output);
	return said;
}

test("an agent that could not be started is started by `up` after a fix; `resume` would fail again", () => {
	const reason = "cannot start: the program /x does not exist";
	expect(hints({ reason })).toEqual(["hint: fix the cause, then `reeve up web:a` starts it"]);
});

test("an agent that was halted for its crashes needs `resume`", () => {
	const [hint] = hints({ reason: "crashed 5 times" });
	expect(hint).toContain("`reeve resume web:a` starts it again");
});

test("only an agent that waits for the operator can be answered", () => {
	const outcome = "waiting";
	const [hint] = hints({ outcome, reason: "exit code 0 after 2s: waiting for the operator" });
	expect(hint).toContain("reeve answer web:a");
	const reasons = [
		"waits for web:db",
		"waits for account work, usage limit",
		"waits for the cluster: this host belongs to no cluster",
		"runs on build-2",
	];
	for (const reason of reasons) expect(hints({ outcome, reason })).toEqual([]);
});
