/** Copies the files of the package that are not compiled, as a step of `npm run build`. */

import { chmodSync, cpSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { NATIVE, PREBUILT, sources, TARGETS } from "./native.mjs";

/** Programs in other languages, or for other processes, below `src`. */
const PROGRAMS = [
	"notify/desktop.applescript",
	"sessions/hook.sh",
	...readdirSync("src/store/postgres")
		.filter((name) => name.endsWith(".sql"))
		.map((name) => `store/postgres/${name}`),
	"adapters/opencode/reeve-plugin.js",
	"adapters/pi/reeve-extension.js",
];

/** @param {string} folder Where the compiled code is. */
export function copyPrograms(folder) {
	for (const name of PROGRAMS) {
		mkdirSync(dirname(join(folder, name)), { recursive: true });
		cpSync(join("src", name), join(folder, name));
	}
}

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
