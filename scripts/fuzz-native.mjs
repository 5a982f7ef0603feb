/**
 * Fuzzes the parsers of the native program, built with the system's C compiler and sanitizers.
 *
 *     npm run fuzz:native                      10 million inputs
 *     REEVE_FUZZ_INPUTS=1000 REEVE_FUZZ_SEED=7 npm run fuzz:native
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NATIVE } from "./lib/native.mjs";

const INPUTS = process.env["REEVE_FUZZ_INPUTS"] ?? "10000000";
const SEED = process.env["REEVE_FUZZ_SEED"] ?? "1";
const PARSERS = ["frame.c", "bytes.c", "spec.c", "modes.c", "modes_render.c", "text.c"];

const folder = mkdtempSync(join(tmpdir(), "reeve-fuzz-"));
try {
	const fuzz = join(folder, "fuzz");
	const flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror"];
	const sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
	const args = [...flags, ...sanitizers, "fuzz/fuzz.c", ...PARSERS, "-o", fuzz];
	execFileSync("cc", args, { cwd: NATIVE, stdio: "inherit" });
	execFileSync(fuzz, [INPUTS, SEED], { stdio: "inherit" });
} finally {
	rmSync(folder, { recursive: true });
}
