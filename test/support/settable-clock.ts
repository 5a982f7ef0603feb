/** A wall clock that a test sets for whole programs: every process with its environment sees it jump at once. */

import { execFileSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { whyNoCompiler } from "../native/support/compile.js";

/** Why programs cannot get a clock of their own here, or null. */
export function whyNoSettableClock(): string | null {
	return process.platform === "linux" ? whyNoCompiler() : "the library for LD_PRELOAD is for Linux";
}

export interface SettableClock {
	/** Programs with this environment use the clock. */
	readonly env: Readonly<Record<string, string>>;
	nowMs(): number;
	set(wallMs: number): void;
	/** Negative values set the clock back. */
	move(byMs: number): void;
	close(): void;
}

/** Its files are in `folder`. It starts at the real time. */
export function createSettableClock(folder: string): SettableClock {
	const [library, path] = [join(folder, "set-clock.so"), join(folder, "clock-offset")];
	const source = resolve("test/fixtures/clock/set-clock.c");
	execFileSync("cc", ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source]);
	const file = openSync(path, "w");
	let offsetMs = 0;
	const write = () => {
		const bytes = Buffer.alloc(8);
		bytes.writeBigInt64LE(BigInt(offsetMs));
		writeSync(file, bytes, 0, 8, 0);
	};
	const move = (byMs: number) => {
		offsetMs += Math.round(byMs);
		write();
	};
	write();
	return {
		env: { LD_PRELOAD: library, SET_CLOCK: path },
		nowMs: () => Date.now() + offsetMs,
		set: (wallMs) => move(wallMs - Date.now() - offsetMs),
		move,
		close: () => closeSync(file),
	};
}
