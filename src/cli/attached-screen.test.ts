import { beforeEach, describe, expect, test, vi } from "vitest";
import { createAttachedScreen } from "./attached-screen.js";

let shown: string[];
beforeEach(() => {
	vi.useFakeTimers();
	shown = [];
	return () => vi.useRealTimers();
});

function openScreen(readOnly = false) {
	const screen = createAttachedScreen(
		(bytes) => void shown.push(bytes.toString().replace(/^.*\[2J/s, "CLEAR ")),
		{
			notice: (text) => shown.push(`NOTICE ${text}`),
			title: (text) => shown.push(`TITLE ${text}`),
		},
		{ greeting: "attached", readOnly },
	);
	const draw = (text: string) => screen.draw(Buffer.from(text));
	const snapshot = (text: string) => {
		screen.onMessage({ type: "snapshot", columns: 80, rows: 24 });
		draw(text);
	};
	return { screen, draw, snapshot };
}

const GREETED = ["CLEAR screen", "TITLE attached", "NOTICE attached"];

describe("a notice never mixes with the agent's output", () => {
	test("output waits until the notice is over and the screen is back", () => {
		const { draw, snapshot } = openScreen();
		snapshot("screen");
		draw("one ");
		draw("two");
		expect(shown).toEqual(GREETED);
		vi.advanceTimersByTime(2_000);
		expect(shown).toEqual([...GREETED, "CLEAR screen", "one two"]);
		draw("three");
		vi.advanceTimersByTime(10_000);
		expect(shown.slice(5)).toEqual(["three"]);
	});

	test("a key ends it immediately", () => {
		const { screen, draw, snapshot } = openScreen();
		snapshot("screen");
		draw("one");
		screen.typed();
		expect(shown).toEqual([...GREETED, "CLEAR screen", "one"]);
		screen.typed();
		expect(shown).toHaveLength(5);
	});

	test("much output ends it early (A6)", () => {
		const { draw, snapshot } = openScreen();
		snapshot("screen");
		draw("x".repeat(300_000));
		expect(shown.slice(3)).toEqual(["CLEAR screen", "x".repeat(300_000)]);
	});

	test("a snapshot replaces it together with the output that waited", () => {
		const { draw, snapshot } = openScreen();
		snapshot("screen");
		draw("old");
		snapshot("new");
		expect(shown).toEqual([...GREETED, "CLEAR new"]);
		vi.advanceTimersByTime(2_000);
		expect(shown).toHaveLength(4);
	});

	test("once the agent has drawn, only the title of the window carries it", () => {
		const { screen, draw, snapshot } = openScreen();
		snapshot("screen");
		vi.advanceTimersByTime(2_000);
		draw("one");
		screen.onMessage({ type: "writer", you: false, holder: null });
		expect(shown.slice(5)).toEqual([
			expect.stringMatching(/^TITLE another client has the keyboard/),
		]);
	});
});

test("a change of the client that may type is shown once", () => {
	const { screen } = openScreen();
	screen.onMessage({ type: "writer", you: true, holder: null });
	expect(shown).toEqual([]);
	screen.onMessage({ type: "writer", you: false, holder: null });
	screen.onMessage({ type: "writer", you: false, holder: null });
	expect(shown).toEqual([expect.stringContaining("your keys are ignored")]);
	screen.onMessage({ type: "writer", you: true, holder: null });
	expect(shown[1]).toBe("TITLE you can type again");
});

test("a viewer that only watches gets no notice about ignored keys", () => {
	openScreen(true).screen.onMessage({ type: "writer", you: false, holder: null });
	expect(shown).toEqual([]);
});

test("the reason of a close is kept, and whether anything was shown", () => {
	const { screen } = openScreen();
	screen.onMessage(null);
	expect([screen.closedFor, screen.seen]).toEqual([null, false]);
	screen.onMessage({ type: "closed", reason: "the agent has ended" });
	expect(screen.closedFor).toBe("the agent has ended");
});
