import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createAttachedScreen } from "./attached-screen.js";

const GREETING = "attached to web:coder; Ctrl-] detaches";

function open(readOnly = false) {
	const written: string[] = [];
	const notices: string[] = [];
	const screen = createAttachedScreen(
		(bytes) => written.push(bytes.toString()),
		{ notice: (text) => notices.push(text) },
		{ greeting: GREETING, readOnly },
	);
	return { screen, written, notices };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a snapshot is drawn on a cleared screen, output as it comes", () => {
	const { screen, written } = open();
	screen.hear({ type: "snapshot", columns: 80, rows: 24 });
	screen.draw(Buffer.from("whole"));
	screen.draw(Buffer.from("more"));
	expect(written[0]).toMatch(/\[2Jwhole$/);
	expect(written[1]).toBe("more");
	screen.end();
});

test("the greeting comes with the first screen, and goes if nothing was drawn since", () => {
	const { screen, written, notices } = open();
	screen.hear({ type: "snapshot", columns: 80, rows: 24 });
	screen.draw(Buffer.from("whole"));
	expect(notices).toEqual([GREETING]);
	vi.advanceTimersByTime(5_000);
	expect(written).toHaveLength(2);
	expect(written[1]).toBe(written[0]);
});

test("where something was drawn since, nothing is drawn over it", () => {
	const { screen, written } = open();
	screen.hear({ type: "snapshot", columns: 80, rows: 24 });
	screen.draw(Buffer.from("whole"));
	screen.draw(Buffer.from("more"));
	vi.advanceTimersByTime(5_000);
	expect(written).toHaveLength(2);
});

test("who may type is told when it changes", () => {
	const { screen, notices } = open();
	screen.hear({ type: "writer", you: true });
	expect(notices).toEqual([]);
	screen.hear({ type: "writer", you: false });
	screen.hear({ type: "writer", you: false });
	expect(notices).toEqual([expect.stringContaining("somebody else types now")]);
	screen.hear({ type: "writer", you: true });
	expect(notices[1]).toContain("taken again");
	screen.end();
});

test("a viewer is not told what it knows", () => {
	const { screen, notices } = open(true);
	screen.hear({ type: "writer", you: false });
	expect(notices).toEqual([]);
});

test("it remembers why it was closed, and whether there was anything to see", () => {
	const { screen } = open();
	screen.hear(null);
	expect([screen.closedFor, screen.seen]).toEqual([null, false]);
	screen.hear({ type: "closed", reason: "the agent has ended" });
	expect(screen.closedFor).toBe("the agent has ended");
});
