/** Runs the built `reeve` as a real process, as a user would. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export const REEVE = resolve("dist/cli/main.js");

export interface Ran {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

export interface RunOptions {
	readonly cwd?: string;
	readonly env?: Readonly<Record<string, string>>;
	/** Its stdin; empty if omitted. */
	readonly input?: string | Uint8Array;
	readonly program?: string;
	/** Kills the command with -9 after this time, wherever it is by then. */
	readonly killAfterMs?: number;
}

/** Runs `reeve` with these arguments in an environment of its own, without a terminal. */
export async function runReeve(
	args: readonly string[],
	{ cwd = tmpdir(), env = {}, input = "", program = REEVE, killAfterMs }: RunOptions = {},
): Promise<Ran> {
	if (!existsSync(program)) throw new Error("dist is missing: run `npm run build` first");
	const child = spawn(process.execPath, [program, ...args], {
		cwd,
		env: { PATH: process.env["PATH"] ?? "", ...env },
		stdio: ["pipe", "pipe", "pipe"],
		...(killAfterMs !== undefined && { timeout: killAfterMs, killSignal: "SIGKILL" as const }),
	});
	// A program that does not read it closes it.
	child.stdin.on("error", () => {});
	child.stdin.end(input);
	const [stdout, stderr, [code]] = await Promise.all([
		text(child.stdout),
		text(child.stderr),
		once(child, "close") as Promise<[number | null]>,
	]);
	return { code, stdout, stderr };
}

/** A new empty folder that is gone after the test. */
export function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "reeve-test-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}
