import { describe, expect, test } from "vitest";
import { nextProcessTable, parseEnviron, parsePsMarks } from "./process-table.js";

describe("the mark of a run", () => {
	test("is found at any position of an environment, and only as a whole name", () => {
		expect(parseEnviron("REEVE_RUN_ID=one\0A=b\0")).toBe("one");
		expect(parseEnviron("A=b\0REEVE_RUN_ID=two\0")).toBe("two");
		expect(parseEnviron("A=b\0REEVE_RUN_ID=three")).toBe("three");
		expect(parseEnviron("MY_REEVE_RUN_ID=four\0A=REEVE_RUN_ID=five\0")).toBeNull();
		expect(parseEnviron("")).toBeNull();
	});

	test("is found in ps, and not in the arguments of a process that searches for it", () => {
		const withoutEnv = "  10 node agent.mjs\n  11 grep REEVE_RUN_ID=one\n  12 sleep 5\n";
		const withEnv =
			"  10 node agent.mjs A=b REEVE_RUN_ID=one C=d\n  11 grep REEVE_RUN_ID=one A=b\n  12 sleep 5\n  13 new REEVE_RUN_ID=one\n";
		expect([...parsePsMarks(withoutEnv, withEnv)]).toEqual([[10, "one"]]);
	});
});

test("simultaneous reads of the process table share one scan", async () => {
	const [first, second] = await Promise.all([nextProcessTable(), nextProcessTable()]);
	expect(second).toBe(first);
	expect(first.entries.some(({ pid }) => pid === process.pid)).toBe(true);
	expect(await nextProcessTable()).not.toBe(first);
});
