import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createKeyReader, type Key } from "./keys.js";

function readKeys() {
	const keys: Key[] = [];
	const reader = createKeyReader((key) => keys.push(key));
	onTestFinished(() => reader.close());
	const names = () => keys.map((key) => (key.type === "key" ? `<${key.name}>` : key.text));
	return { keys, names, take: (text: string) => reader.take(Buffer.from(text)) };
}

test("letters, control keys and sequences are keys", () => {
	const { names, take } = readKeys();
	take("jR\r\u007f\u0003\u001b[A\u001bOB\u001b[5~\u001b[1;5B");
	expect(names()).toEqual([
		...["j", "R", "<enter>", "<backspace>", "<quit>", "<up>", "<down>", "<page_up>", "<down>"],
	]);
});

test("sequences and characters may be split anywhere", () => {
	const { names, take } = readKeys();
	for (const part of ["\u001b", "[", "B", "é"]) take(part);
	expect(names()).toEqual(["<down>", "é"]);
});

test("a lone escape is a key, also before another one", async () => {
	const { names, take } = readKeys();
	take("\u001b");
	expect(names()).toEqual([]);
	await sleep(100);
	take("\u001be");
	expect(names()).toEqual(["<escape>", "<escape>", "e"]);
});

test("pasted text is never treated as keys, wherever it is split", () => {
	const { keys, take } = readKeys();
	take("\u001b[200~q\rRy");
	take("S\u001b[20");
	take("1~k");
	expect(keys).toEqual([
		{ type: "paste", text: "q\rRyS" },
		{ type: "text", text: "k" },
	]);
});
