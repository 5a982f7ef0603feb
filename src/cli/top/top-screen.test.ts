import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import type { TerminalStreams } from "../raw-terminal.js";
import { TopScreen } from "./top-screen.js";

function createScreen() {
	const stdin = Object.assign(new EventEmitter(), {
		...{ setRawMode: vi.fn(), resume: vi.fn(), pause: vi.fn() },
	});
	const stdout = Object.assign(new EventEmitter(), { write: vi.fn(), columns: 80, rows: 24 });
	const streams = { stdin, stdout } as unknown as TerminalStreams;
	const onInput = vi.fn();
	const screen = new TopScreen(streams, { draw: () => [], onInput, onEnd: () => {} });
	return { screen, stdin, onInput };
}

test("a new list does not take the terminal from an attached agent", () => {
	const { screen, stdin, onInput } = createScreen();
	screen.begin();
	screen.leave();
	// As each list after a lost connection does.
	screen.begin();
	stdin.emit("data", Buffer.from("x"));
	expect(onInput).not.toHaveBeenCalled();
	screen.enter();
	stdin.emit("data", Buffer.from("y"));
	expect(onInput).toHaveBeenCalledTimes(1);
	screen.close();
});

test("a closed screen is never opened again", () => {
	const { screen, stdin } = createScreen();
	screen.begin();
	screen.close();
	screen.enter();
	screen.begin();
	expect(stdin.listenerCount("data")).toBe(0);
	expect(stdin.setRawMode).toHaveBeenLastCalledWith(false);
});
