import { appendFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createApiWorld } from "./api-world.js";

async function readLogs(files: Readonly<Record<string, string>>, lines: number): Promise<string> {
	const { client, logs } = await createApiWorld();
	for (const [name, text] of Object.entries(files)) writeFileSync(join(logs, name), text);
	let written = "";
	for await (const part of client.logs("p:web", { lines, follow: false })) written += part;
	return written;
}

describe("an agent's log", () => {
	const rotated = { "current.log.2": "0\n", "current.log.1": "1\n2\n3\n", "current.log": "4\n5\n" };

	test.each([
		[rotated, 0, ""],
		[rotated, 1, "5\n"],
		[rotated, 2, "4\n5\n"],
		[rotated, 3, "3\n4\n5\n"],
		[rotated, 5, "1\n2\n3\n4\n5\n"],
		[rotated, 99, "0\n1\n2\n3\n4\n5\n"],
		[{ "current.log.1": "1\n2", "current.log": "3\n4\n" }, 2, "23\n4\n"],
		[{ "current.log": "no newline" }, 1, "no newline"],
		[{ "current.log": "" }, 5, ""],
		[{}, 5, ""],
	])("of %j has its last %i lines across rotations", async (files, lines, expected) => {
		expect(await readLogs(files, lines)).toBe(expected);
	});

	test("is given whole, however much of it there is", async () => {
		const many = (from: number) =>
			Array.from({ length: 200_000 }, (_, n) => `line ${from + n} of a long log\n`).join("");
		const files = { "current.log.1": many(0), "current.log": many(200_000) };
		const text = await readLogs(files, 1_000_000);
		expect(text.length).toBe(many(0).length + many(200_000).length);
		expect(text.startsWith("line 0 of")).toBe(true);
	});

	test("is followed into the file that takes its place", async () => {
		const { client, logs } = await createApiWorld();
		const current = join(logs, "current.log");
		writeFileSync(current, "one\n");
		const stop = new AbortController();
		let written = "";
		const following = (async () => {
			const options = { lines: 1, follow: true, signal: stop.signal };
			for await (const part of client.logs("p:web", options)) {
				written += part;
				if (written === "one\n") {
					appendFileSync(current, "two\n");
					renameSync(current, `${current}.1`);
					writeFileSync(current, "three\n");
				}
				if (written.endsWith("three\n")) stop.abort();
			}
		})();
		await following.catch(() => {});
		expect(written).toBe("one\ntwo\nthree\n");
	});
});
