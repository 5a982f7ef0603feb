/** The checks of commands in a chaos run, tested without a run. */

import { expect, test } from "vitest";
import { Book } from "./book.js";
import { checkCode, codeOf } from "./clients.js";

function judged(printed: string): readonly string[] {
	const book = new Book(() => {});
	checkCode(book, "call", codeOf(printed) ?? "exit 1", printed);
	return book.violations.map(({ rule }) => rule);
}

test("an error of the daemon with HTTP 500 is a violation", () => {
	const printed = JSON.stringify({ error: { code: "internal", message: "oh no" } });
	expect(judged(printed)).toEqual(["no request ends with HTTP 500 (internal)"]);
	expect(judged(JSON.stringify({ error: { code: "unheard_of" } }))).toHaveLength(1);
});

test("a refusal is not a violation, and neither is a task whose attempt was interrupted by the death of the daemon", () => {
	expect(judged(JSON.stringify({ error: { code: "not_ready" } }))).toEqual([]);
	const task = { task_id: "t", status: "dead_lettered", error: { code: "internal" } };
	expect(judged(JSON.stringify(task, null, 2))).toEqual([]);
	expect(judged("killed")).toEqual([]);
});
