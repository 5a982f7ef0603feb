import { describe, expect, test } from "vitest";
import { decideWatchRestart, type FileChanges, noteChange, renderChanges } from "./file-changes.js";

const changed = (...at: readonly number[]): FileChanges =>
	at.reduce<FileChanges | null>((before, ms) => noteChange(before, `f${ms}`, ms), null) ??
	noteChange(null, "f", 0);

describe("changes of watched files", () => {
	test("are named without repeats, and the rest is only mentioned", () => {
		const twice = noteChange(noteChange(null, "a.js", 1), "a.js", 2);
		expect(renderChanges(twice)).toBe("a.js changed");
		expect(renderChanges(noteChange(twice, "b.js", 3))).toBe("a.js and b.js changed");
		expect(renderChanges(changed(1, 2, 3))).toBe("f1, f2 and f3 changed");
		const many = changed(1, 2, 3, 4, 5, 6, 7, 5);
		expect(many).toMatchObject({ firstMs: 1, lastMs: 5, more: true });
		expect(renderChanges(many)).toBe("f1, f2, f3, f4, f5 and others changed");
	});

	test("restart when it is quiet, or after a minute", () => {
		expect(decideWatchRestart(changed(0, 400), [], 1_000)).toEqual({
			restart: false,
			afterMs: 400,
			tooMany: false,
		});
		expect(decideWatchRestart(changed(0, 400), [], 1_400)).toEqual({ restart: true });
		const endless = Array.from({ length: 200 }, (_, n) => n * 300);
		expect(decideWatchRestart(changed(...endless), [], 59_900)).toMatchObject({ restart: false });
		expect(decideWatchRestart(changed(...endless), [], 60_000)).toEqual({ restart: true });
	});

	test("restart at most five times a minute", () => {
		const four = [0, 10_000, 20_000, 30_000];
		expect(decideWatchRestart(changed(38_000), four, 40_000)).toEqual({ restart: true });
		expect(decideWatchRestart(changed(41_000), [...four, 40_000], 42_000)).toEqual({
			restart: false,
			afterMs: 18_000,
			tooMany: true,
		});
		expect(decideWatchRestart(changed(41_000), [...four, 40_000], 60_000)).toEqual({
			restart: true,
		});
	});
});
