import { expect, test } from "vitest";
import { createFrame, cutText, padText, renderChanges, textWidth } from "./frame.js";

const ESC = "\u001b";

test("only changed cells are written", () => {
	const before = createFrame([[{ text: "hello" }], [{ text: "same" }]], 10, 2);
	const now = createFrame([[{ text: "hallo" }], [{ text: "same" }]], 10, 2);
	expect(renderChanges(before, now)).toBe(`${ESC}[1;2Ha`);
	expect(renderChanges(now, now)).toBe("");
});

test("a changed colour is a change, and is reset at the end", () => {
	const before = createFrame([[{ text: "ab" }]], 2, 1);
	const now = createFrame([[{ text: "a" }, { text: "b", sgr: "1;31" }]], 2, 1);
	expect(renderChanges(before, now)).toBe(`${ESC}[1;2H${ESC}[0;1;31mb${ESC}[0m`);
});

test("an unknown screen, or one of another size, is cleared and drawn completely", () => {
	const frame = createFrame([[{ text: "ab" }]], 3, 1);
	expect(renderChanges(null, frame)).toBe(`${ESC}[0m${ESC}[H${ESC}[2J${ESC}[1;1Hab`);
	const wider = createFrame([[{ text: "ab" }]], 4, 1);
	expect(renderChanges(frame, wider)).toContain(`${ESC}[2J`);
});

test("wide characters take two columns, and never cross the edge", () => {
	expect(textWidth("漢字a")).toBe(5);
	const [row = []] = createFrame([[{ text: "漢字" }]], 3, 1);
	expect(row.map(({ text }) => text)).toEqual(["漢", "", " "]);
	expect(cutText("漢字漢字", 5, "…")).toBe("漢字…");
	expect(padText("漢", 4)).toBe("漢  ");
});

test("text is cut with a mark only if it does not fit", () => {
	expect(cutText("hello", 5, "…")).toBe("hello");
	expect(cutText("hello!", 5, "…")).toBe("hell…");
	expect(cutText("hello!", 0, "…")).toBe("");
});

test("no text writes a control character to the terminal (A10)", () => {
	const hostile = "a\u001b[2Jb\u009b8mc\u0007\u009d52;c;aGk=\u009cd\u0000";
	const shown = renderChanges(null, createFrame([[{ text: hostile }]], 40, 1));
	const own = "\u001b[0m\u001b[H\u001b[2J\u001b[1;1H";
	expect(shown).toBe(`${own}a[2Jb8mc52;c;aGk=d`);
});
