import { appendFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
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

	test("is returned completely, at any size", async () => {
		const many = (from: number) =>
			Array.from({ length: 200_000 }, (_, n) => `line ${from + n} of a long log\n`).join("");
		const files = { "current.log.1": many(0), "current.log": many(200_000) };
		const text = await readLogs(files, 1_000_000);
		expect(text.length).toBe(many(0).length + many(200_000).length);
		expect(text.startsWith("line 0 of")).toBe(true);
	});

	test("is followed into the next file after a rotation", async () => {
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

	test("is followed when it is emptied in place", async () => {
		const { client, logs } = await createApiWorld();
		const current = join(logs, "current.log");
		writeFileSync(current, "a long first part\n");
		let written = "";
		for await (const part of client.logs("p:web", { lines: 9, follow: true })) {
			written += part;
			if (written.endsWith("part\n")) writeFileSync(current, "next\n");
			if (written.endsWith("next\n")) break;
		}
		expect(written).toBe("a long first part\nnext\n");
	});

	test("continues at a position, across rotations, and reports removed parts", async () => {
		const { raw, logs } = await createApiWorld();
		const current = join(logs, "current.log");
		const read = async (from = "") => {
			const { headers, body } = await raw({ path: `/api/v1/agents/p:web/logs?${from}` });
			return { position: String(headers["x-log-position"]), body };
		};
		writeFileSync(current, "one\ntwo\n");
		const { position } = await read("lines=1");
		const [file, offset] = position.split(":");
		expect(offset).toBe("4");
		const after = `from=${file}:${Number(offset) + 4}`;
		expect(await read(after)).toEqual({ position: after.slice(5), body: "" });
		renameSync(current, `${current}.1`);
		writeFileSync(current, "three\n");
		expect((await read(after)).body).toBe("three\n");
		const later = `from=${file}:${Number(offset) + 4 + 2}`;
		expect(await read(later)).toEqual({ position: later.slice(5), body: "ree\n" });
		// Beyond the end of the log.
		const lost = await read(`from=${file}:99`);
		expect(lost.body).toBe("three\n");
		expect(lost.position).not.toBe(`${file}:99`);
		rmSync(`${current}.1`);
		expect((await read(after)).body).toBe("three\n");
		expect((await read(after)).position).not.toBe(after.slice(5));
	});

	test("continues from a position before the log existed", async () => {
		const { raw, logs } = await createApiWorld();
		const path = "/api/v1/agents/p:web/logs";
		expect((await raw({ path })).headers["x-log-position"]).toBe("start:0");
		writeFileSync(join(logs, "current.log"), "one\n");
		const { headers, body } = await raw({ path: `${path}?from=start:2` });
		expect([headers["x-log-position"], body]).toEqual(["start:2", "e\n"]);
	});
});
