/** Pages and searches of logs: bounded, in both directions, across rotations. */

import { createWriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { describe, expect, test } from "vitest";
import { readLogLines } from "../../src/http/log-lines.js";
import { searchLog } from "../../src/http/search.js";
import { temporaryFolder } from "../support/reeve.js";

const asIs = (text: string) => text;
const texts = ({ lines }: { readonly lines: readonly { readonly text: string }[] }) =>
	lines.map(({ text }) => text);

function logOf(...files: readonly string[]): string {
	const folder = temporaryFolder();
	for (const [age, text] of files.entries()) {
		writeFileSync(join(folder, age === 0 ? "current.log" : `current.log.${age}`), text);
	}
	return folder;
}

const SEARCH = { redact: asIs, indexes: "/there/is/none" };

describe("a log", () => {
	test("is read backwards page by page, across rotations, without gap or repeat", async () => {
		const numbers = Array.from({ length: 50 }, (_, n) => `line ${n}`);
		const half = (from: number, to: number) => `${numbers.slice(from, to).join("\n")}\n`;
		const folder = logOf(half(20, 50), half(0, 20));
		const seen: string[] = [];
		let before: string | undefined;
		for (let page = 0; page < 20; page++) {
			const read = await readLogLines(folder, { limit: 7, before }, asIs);
			seen.unshift(...texts(read));
			if (read.older === null) break;
			before = read.older;
		}
		expect(seen).toEqual(numbers);
	});

	test("is continued at its end, where an unfinished line is returned again", async () => {
		const folder = logOf("one\ntwo\nthr");
		const first = await readLogLines(folder, { limit: 10 }, asIs);
		expect(texts(first)).toEqual(["one", "two", "thr"]);
		writeFileSync(join(folder, "current.log"), "ee\nfour\n", { flag: "a" });
		const after = first.newer ?? "";
		const next = await readLogLines(folder, { limit: 10, after }, asIs);
		expect(texts(next)).toEqual(["three", "four"]);
		const last = await readLogLines(folder, { limit: 10, after: next.newer ?? "" }, asIs);
		expect(texts(last)).toEqual([]);
	});

	test("has lines without sequences, cut where they are too long", async () => {
		const folder = logOf(`\u001b[31mred\u001b[0m <b>\n${"x".repeat(200_000)}\nend\n`);
		const { lines } = await readLogLines(folder, { limit: 10 }, asIs);
		expect(lines.map(({ text, cut }) => [text.length, cut])).toEqual([
			[7, undefined],
			[2_000, true],
			[3, undefined],
		]);
	});

	test("is empty if there is none, and if the position is gone", async () => {
		expect(await readLogLines(temporaryFolder(), { limit: 1 }, asIs)).toEqual({
			...{ lines: [], older: null, newer: null },
		});
		const gone = await readLogLines(logOf("a\n"), { limit: 1, before: "1.2:3" }, asIs);
		expect(texts(gone)).toEqual([]);
	});

	test("is searched from its end, ignoring case and sequences", async () => {
		const folder = logOf("Error one\nfine\nan \u001b[1mER\u001b[0mROR two\n", "old error\n");
		const all = await searchLog(folder, { text: "error", limit: 10 }, SEARCH);
		expect(all.matches.map(({ text }) => text)).toEqual(["an ERROR two", "Error one", "old error"]);
		expect(all.next).toBeNull();
		const first = await searchLog(folder, { text: "error", limit: 1 }, SEARCH);
		const rest = await searchLog(
			folder,
			{ text: "error", limit: 9, before: first.next ?? "" },
			SEARCH,
		);
		expect([...first.matches, ...rest.matches]).toEqual(all.matches);
	});

	test("of any size is searched in bounded steps that cover all of it", async () => {
		const folder = temporaryFolder();
		const file = createWriteStream(join(folder, "current.log"));
		file.write("the needle\n");
		const block = `${"plain output of an agent, \u001b[32mgreen\u001b[0m ".repeat(20)}\n`.repeat(
			1_000,
		);
		for (let n = 0; n < 40; n++) file.write(block);
		file.end();
		await finished(file);
		let before: string | undefined;
		const found: string[] = [];
		for (let steps = 0; steps < 1_000; steps++) {
			const { matches, next } = await searchLog(
				folder,
				{ text: "needle", limit: 5, before },
				SEARCH,
			);
			found.push(...matches.map(({ text }) => text));
			if (next === null) break;
			before = next;
		}
		expect(found).toEqual(["the needle"]);
	}, 120_000);
});
