/** The output of several agents as one stream of lines, merged by time. */

import {
	appendFileSync,
	mkdirSync,
	renameSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { MergedLine, MergedLogOptions } from "../../src/client/client.js";
import { encodeTime, encodeTimesHeader } from "../../src/core/log-times.js";
import { createApiWorld } from "./api-world.js";

const AT = Date.parse("2031-04-05T06:00:00.000Z");

/** Writes a log whose lines arrive at these seconds; null for a line without a time of its own. */
function writeLog(
	folder: string,
	name: string,
	lines: readonly (readonly [second: number | null, text: string])[],
	timesName = name.replace("current.log", "times"),
): void {
	mkdirSync(folder, { recursive: true });
	const path = join(folder, name);
	writeFileSync(path, "");
	const { ino } = statSync(path, { bigint: true });
	const records = [encodeTimesHeader(ino)];
	let [offset, skipped] = [0, false];
	for (const [second, text] of lines) {
		if (second !== null) records.push(encodeTime(offset, AT + second * 1_000, skipped));
		skipped = second === null;
		offset += Buffer.byteLength(text);
	}
	writeFileSync(path, lines.map(([, text]) => text).join(""));
	writeFileSync(join(folder, timesName), Buffer.concat(records));
	const last = lines.findLast(([second]) => second !== null)?.[0] ?? 0;
	utimesSync(path, new Date(AT + last * 1_000), new Date(AT + last * 1_000));
}

async function createWorld() {
	const api = await createApiWorld();
	const [web, db] = [api.logs, join(api.logs, "p:db")];
	const read = async (options: Partial<MergedLogOptions> = {}) => {
		const found: MergedLine[] = [];
		const all = { agents: ["p:web", "p:db"], follow: false, ...options };
		for await (const line of api.client.mergedLogs(all)) found.push(line);
		return found;
	};
	const texts = async (options: Partial<MergedLogOptions> = {}) =>
		(await read(options)).map(({ agent, text }) => `${agent.slice(2)} ${text}`);
	return { ...api, web, db, read, texts };
}

const second = (at: number) => new Date(AT + at * 1_000).toISOString();

describe("merged logs", () => {
	test("are in the order of their times, across rotations", async () => {
		const { web, db, read } = await createWorld();
		writeLog(web, "current.log.1", [
			[1, "w1\n"],
			[3, "w3\n"],
		]);
		writeLog(web, "current.log", [[6, "w6\n"]]);
		writeLog(db, "current.log", [
			[2, "d2\n"],
			[4, "d4\n"],
			[5, "d5\n"],
		]);
		const found = await read();
		expect(found.map(({ text }) => text)).toEqual(["w1", "d2", "w3", "d4", "d5", "w6"]);
		expect(found.map(({ at }) => at)).toEqual([1, 2, 3, 4, 5, 6].map(second));
		expect(found.every(({ until }) => until === null)).toBe(true);
	});

	test("keep the order of each agent when its clock was set back", async () => {
		const { web, db, texts } = await createWorld();
		writeLog(web, "current.log", [
			[9, "w1\n"],
			[1, "w2\n"],
		]);
		writeLog(db, "current.log", [[5, "d\n"]]);
		expect(await texts()).toEqual(["db d", "web w1", "web w2"]);
	});

	test("report an interval where the time of a line is unknown", async () => {
		const { web, read } = await createWorld();
		writeLog(web, "current.log", [
			[1, "a\n"],
			[null, "b\n"],
			[8, "c\n"],
		]);
		expect((await read()).map(({ at, until }) => [at, until])).toEqual([
			[second(1), null],
			[second(1), second(8)],
			[second(8), null],
		]);
		rmSync(join(web, "times"));
		const untimed = await read();
		expect(untimed.map(({ until }) => until !== null)).toEqual([true, true, true]);
	});

	test("find the times of a file whose `times` was not renamed with it", async () => {
		const { web, read } = await createWorld();
		writeLog(web, "current.log.1", [[1, "a\n"]], "times");
		expect(await read()).toMatchObject([{ text: "a", at: second(1), until: null }]);
	});

	test("are joined where a rotation has cut a line", async () => {
		const { web, texts } = await createWorld();
		writeLog(web, "current.log.1", [[1, "one\nhalf "]]);
		writeLog(web, "current.log", [[2, "line\nlast"]]);
		expect(await texts()).toEqual(["web one", "web half line", "web last"]);
	});

	test("contain the last lines of each agent, those that match, or those of a time window", async () => {
		const { web, db, texts } = await createWorld();
		const lines = (name: string) =>
			Array.from({ length: 9 }, (_, n) => [n, `${name}${n} ${n % 2 ? "odd" : "even"}\n`] as const);
		writeLog(web, "current.log", lines("w"));
		writeLog(db, "current.log", lines("d"));
		expect(await texts({ lines: 1 })).toEqual(["web w8 even", "db d8 even"]);
		expect(await texts({ lines: 0 })).toEqual([]);
		expect(await texts({ grep: "ODD$", ignoreCase: true, lines: 1 })).toEqual([
			"web w7 odd",
			"db d7 odd",
		]);
		expect(await texts({ grep: "ODD" })).toEqual([]);
		const window = { since: second(3), until: second(5), agents: ["p:web"] };
		expect(await texts(window)).toEqual(["web w3 odd", "web w4 even"]);
		expect(await texts({ lines: 2, until: second(5), agents: ["p:db"] })).toEqual([
			"db d3 odd",
			"db d4 even",
		]);
	});

	test("contain neither control sequences nor secrets", async () => {
		const { web, texts } = await createWorld();
		writeLog(web, "current.log", [[1, "\u001b[31mpassword\u001b[0m hunter2\r\n"]]);
		expect(await texts()).toEqual(["web password ***"]);
	});

	test("send a long line in pieces, without breaking a character", async () => {
		const { web, read } = await createWorld();
		const long = `x${"ü".repeat(100_000)}`;
		writeLog(web, "current.log", [[1, `${long}\nnext\n`]]);
		const found = await read();
		expect(found.length).toBeGreaterThan(3);
		expect(
			found
				.slice(0, -1)
				.map(({ text }) => text)
				.join(""),
		).toBe(long);
	});

	test.each([
		[{ agents: ["p:missing"] }, "unknown agent or project p:missing"],
		[{ grep: "(?=x)" }, "lookaheads and lookbehinds are not supported"],
		[{ grep: "[ab]{999}".repeat(50) }, "too large"],
		[{ follow: true, until: second(1) }, "`follow` and `until` cannot be combined"],
	])("are refused for %j", async (options, message) => {
		const { read } = await createWorld();
		await expect(read(options)).rejects.toThrow(message);
	});

	test("contain only what a token may see", async () => {
		const { tokens, raw, web, db } = await createWorld();
		writeLog(web, "current.log", [[1, "w\n"]]);
		writeLog(db, "current.log", [[1, "d\n"]]);
		const scope = { type: "read", within: "p:db" } as const;
		const { token } = await tokens.create({ kind: "token", scope, expiresAtMs: null });
		const headers = { authorization: `Bearer ${token}` };
		const ask = (path: string) => raw({ path, headers });
		const all = await ask("/api/v1/logs");
		expect(all.body).toContain('"text":"d"');
		expect(all.body).not.toContain("p:web");
		expect((await ask("/api/v1/logs?agents=p:web")).status).toBe(404);
	});

	test("are followed across rotations faster than the reader, and resume with another daemon", async () => {
		const { client, raw, web, db } = await createWorld();
		writeLog(web, "current.log", [[1, "w1\n"]]);
		const current = join(web, "current.log");
		const rotate = () => {
			for (const age of [3, 2, 1]) {
				try {
					renameSync(`${current}.${age}`, `${current}.${age + 1}`);
				} catch {}
			}
			renameSync(current, `${current}.1`);
		};
		const found: string[] = [];
		const options = { agents: ["p:web", "p:db"], lines: 10, follow: true };
		for await (const { text } of client.mergedLogs(options)) {
			found.push(text);
			if (text === "w1") {
				for (const n of [2, 3, 4]) {
					appendFileSync(current, `w${n}\n`);
					rotate();
					writeFileSync(current, "");
				}
				appendFileSync(current, "w5\n");
			}
			if (text === "w5") writeLog(db, "current.log", [[2, "d1\nopen"]]);
			if (text === "open") break;
		}
		expect(found).toEqual(["w1", "w2", "w3", "w4", "w5", "d1", "open"]);
		const read = async (query: string) => {
			const { body } = await raw({ path: `/api/v1/logs?agents=p:web,p:db&${query}` });
			return body
				.trim()
				.split("\n")
				.map((line) => JSON.parse(line));
		};
		const items = await read("lines=10");
		const at = (text: string) => items.find((item) => item.text === text)?.next;
		const rest = await read(`from=${at("w3")},${at("d1")}`);
		expect(rest.flatMap(({ text }) => text ?? [])).toEqual(["w4", "w5", "open"]);
		const removed = await read("from=9.9:9,start:0");
		expect(removed[0]).toMatchObject({ agent: "p:web", removed: true });
	});
});
