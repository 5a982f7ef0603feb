import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonRecord } from "../ports/adapter.js";
import { createSessionLogReader, removeOldLogs, splitRecords } from "./session-logs.js";

let folder: string;
let file: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "reeve-log-"));
	file = join(folder, "own", "log.json");
	mkdirSync(join(folder, "own"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const readLog = ({ status }: JsonRecord) =>
	status === undefined ? null : { detail: String(status) };
const reader = (own = join(folder, "own")) => createSessionLogReader(own, { readLog });
const readerAt = () => ({ resetAtMs: () => null });

describe("records", () => {
	test("are JSON texts on one line or several, and lines of text with fields at their end", () => {
		const indented = JSON.stringify({ a: { b: [1, 2] } }, null, 2);
		const line = '2026-11-18T04:16:57.600Z [WARNING] request failed {"status":500}';
		const { records, rest } = splitRecords(`${indented}\n{"c":1}\n${line}\njust words\n`);
		expect(records).toEqual([
			{ a: { b: [1, 2] } },
			{ c: 1 },
			{ status: 500, text: line },
			{ text: "just words" },
		]);
		expect(rest).toBe("");
	});

	test("that are not complete wait for the rest", () => {
		const { records, rest } = splitRecords('{"c":1}\n{\n  "status": 5\n');
		expect(records).toEqual([{ c: 1 }]);
		expect(splitRecords(`${rest}}\n`).records).toEqual([{ status: 5 }]);
	});

	test("that are damaged are left out", () => {
		expect(splitRecords('{"c":\n{\n  oops\n}\n{"d":1}\n').records).toEqual([{ d: 1 }]);
	});
});

describe("a log", () => {
	const reported = async (from: ReturnType<typeof reader>) =>
		(await from.read(file, readerAt)).map(({ detail }) => detail);

	test("is read as it is written, each record once", async () => {
		const log = reader();
		expect(await reported(log)).toEqual([]);
		writeFileSync(file, '{"status":1}\n{"sta');
		expect(await reported(log)).toEqual(["1"]);
		appendFileSync(file, 'tus":2}\n{\n  "status": 3');
		expect(await reported(log)).toEqual(["1", "2"]);
		appendFileSync(file, "\n}\n");
		expect(await reported(log)).toEqual(["1", "2", "3"]);
	});

	test("has the time at which a record was written, where the record includes it", async () => {
		const log = createSessionLogReader(folder, { readLog: () => ({ detail: "x" }) });
		writeFileSync(file, "2026-11-18T04:16:57.600Z [INFO] hello\n");
		const [sign] = await log.read(file, readerAt);
		expect(sign?.atMs).toBe(Date.UTC(2026, 10, 18, 4, 16, 57, 600));
	});

	test("is emptied when it has grown large, and read on from its beginning (A6)", async () => {
		const log = reader();
		writeFileSync(file, `{"status":1}\n${`{"x":"${"y".repeat(1_000)}"}\n`.repeat(1_100)}`);
		expect(await reported(log)).toEqual(["1"]);
		expect(statSync(file).size).toBe(0);
		appendFileSync(file, '{"status":2}\n');
		expect(await reported(log)).toEqual(["1", "2"]);
	});

	test("that is not in the agent's own folder is never changed", async () => {
		const log = reader(join(folder, "other"));
		writeFileSync(file, `{"x":"${"y".repeat(1_100_000)}"}\n`);
		const { size } = statSync(file);
		await reported(log);
		await removeOldLogs(join(folder, "other"), file);
		expect(statSync(file).size).toBe(size);
	});

	test("of an earlier run is removed before the next one", async () => {
		writeFileSync(file, "{}\n");
		await removeOldLogs(join(folder, "own"), join(folder, "own", "*.json"));
		expect(() => statSync(file)).toThrow();
	});
});
