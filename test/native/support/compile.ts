/** Builds of the native program with the system's compiler. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

interface Flags {
	readonly common: readonly string[];
	readonly warnings: readonly string[];
	readonly cc: Readonly<Record<string, readonly string[]>>;
}

const NATIVE = resolve("src/native");
const SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/** Why nothing can be compiled here, or null. A machine for use, not for building, has no compiler. */
export function whyNoCompiler(): string | null {
	return spawnSync("cc", ["--version"]).status === 0 ? null : "there is no C compiler (cc)";
}

export interface Build {
	readonly binary: string;
	/** Reports of the sanitizers so far. */
	reports(): string[];
	remove(): void;
}

/** Builds with warnings as errors, and with sanitizers if asked. */
export function compileNative(sanitized: boolean): Build {
	const folder = mkdtempSync(join(tmpdir(), "reeve-cc-"));
	const binary = join(folder, "reeve-shim");
	const logs = join(folder, "reports");
	mkdirSync(logs);
	const flags = JSON.parse(readFileSync(join(NATIVE, "cc-flags.json"), "utf8")) as Flags;
	const own = sanitized
		? ["-std=c11", "-O1", "-g", "-D_GNU_SOURCE", ...SANITIZERS, `-DSANITIZER_LOG="${logs}/log"`]
		: [...flags.common, ...(flags.cc[process.platform] ?? [])];
	const sources = readdirSync(NATIVE).filter((name) => name.endsWith(".c"));
	if (sanitized) sources.push(resolve("test/native/support/sanitizer.c"));
	execFileSync("cc", [...own, ...flags.warnings, ...sources, "-o", binary], { cwd: NATIVE });
	return {
		binary,
		reports: () => readdirSync(logs).map((name) => readFileSync(join(logs, name), "utf8")),
		remove: () => rmSync(folder, { recursive: true, force: true }),
	};
}
