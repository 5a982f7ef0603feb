import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { runReeve } from "../support/reeve.js";

const leftBehind = () => readdirSync(tmpdir()).filter((name) => name.startsWith("reeve-demo-"));

test("the demo keeps what it promises, and leaves nothing behind", {
	timeout: 120_000,
}, async () => {
	const before = leftBehind();
	const { code, stdout } = await runReeve(["demo", "--json"]);
	expect(code).toBe(0);
	const shown = JSON.parse(stdout) as {
		exits: object[];
		killed: { before: object; after: object };
	};
	expect(shown.exits).toHaveLength(7);
	expect(shown.killed.after).toEqual(shown.killed.before);
	expect(leftBehind()).toEqual(before);
});
