import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runReeve, temporaryFolder } from "../support/reeve.js";

/** The command lines of processes that name a folder, where the system shows them. */
function processesOf(folder: string): string[] {
	if (!existsSync("/proc")) return [];
	const lines = readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.map((pid) => {
			try {
				return readFileSync(`/proc/${pid}/cmdline`, "utf8");
			} catch {
				return "";
			}
		});
	return lines.filter((line) => line.includes(folder));
}

test("the demo works and leaves nothing behind", {
	timeout: 120_000,
}, async () => {
	const folder = temporaryFolder();
	const { code, stdout } = await runReeve(["demo", "--json"], { env: { TMPDIR: folder } });
	expect(code).toBe(0);
	const shown = JSON.parse(stdout) as {
		exits: object[];
		killed: { before: object; after: object };
	};
	expect(shown.exits).toHaveLength(7);
	expect(shown.killed.after).toEqual(shown.killed.before);
	expect(readdirSync(folder)).toEqual([]);
	expect(processesOf(folder)).toEqual([]);
});
