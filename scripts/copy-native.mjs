/** Puts the native binaries and their sources beside the compiled code, as a step of `npm run build`. */

import { chmodSync, cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { NATIVE, PREBUILT, sources, TARGETS } from "./lib/native.mjs";

/** @param {string} folder Where the compiled code is. */
export function copyNative(folder) {
	const out = join(folder, "native");
	for (const target of Object.keys(TARGETS)) {
		const path = join(out, "prebuilt", target, "reeve-shim");
		mkdirSync(join(out, "prebuilt", target), { recursive: true });
		cpSync(join(PREBUILT, target, "reeve-shim"), path);
		chmodSync(path, 0o755);
	}
	cpSync(join(PREBUILT, "manifest.json"), join(out, "prebuilt", "manifest.json"));
	for (const name of [...sources(), "cc-flags.json"]) cpSync(join(NATIVE, name), join(out, name));
}
