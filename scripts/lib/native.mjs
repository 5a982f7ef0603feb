/** Shared by the build and the check of the native program: its sources, their hash, and the manifest. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const NATIVE = join("src", "native");
export const PREBUILT = join(NATIVE, "prebuilt");
export const MANIFEST = join(PREBUILT, "manifest.json");
/** Together, in bytes. */
export const SIZE_MAX = 300 * 1024;

/** Folder below `prebuilt` → target of the compiler. */
export const TARGETS = {
	"linux-x64": "x86_64-linux-musl",
	"linux-arm64": "aarch64-linux-musl",
	"darwin-x64": "x86_64-macos",
	"darwin-arm64": "aarch64-macos",
};

/**
 * @typedef {object} Manifest
 * @property {string} source hash of everything that the binaries are made from
 * @property {string} compiler
 * @property {Record<string, { sha256: string, bytes: number }>} binaries
 */

/** @returns {Manifest} */
export function readManifest() {
	return JSON.parse(readFileSync(MANIFEST, "utf8"));
}

/** The names of the C files, sorted; without those of the fuzzer. */
export function sources() {
	return readdirSync(NATIVE)
		.filter((name) => /\.[ch]$/.test(name))
		.sort();
}

/** Names and contents of all sources and the compiler's flags: another file name is another program too. */
export function sourceHash() {
	const hash = createHash("sha256");
	for (const name of [...sources(), "cc-flags.json"]) {
		const text = readFileSync(join(NATIVE, name));
		hash.update(`${name}\0${text.length}\0`).update(text);
	}
	return hash.digest("hex").slice(0, 32);
}

/** @param {string} path */
export function fileHash(path) {
	return createHash("sha256").update(readFileSync(path)).digest("hex");
}
