/**
 * Finds the native program for this host: the one named by `REEVE_SHIM` (absolute path, for tests),
 * else the shipped binary for this platform if it runs and was built from the current sources, else one
 * that the system's C compiler builds once into a cache directory.
 *
 * The result is cached per process. A binary is trusted only after it printed its protocol versions and
 * the hash of its sources.
 */

import { type ExecFileSyncOptions, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const CHECK_TIMEOUT_MS = 10_000;
const BUILD_TIMEOUT_MS = 120_000;

export interface Shim {
	readonly path: string;
	readonly origin: "environment" | "prebuilt" | "built";
	/** The oldest and newest protocol version that it supports. */
	readonly oldest: number;
	readonly newest: number;
	/** Hash of the sources that it was built from. */
	readonly source: string;
}

export interface ShimMissing {
	readonly path: null;
	/** Why no binary can be used, and how to fix it. */
	readonly reason: string;
}

/** Where to search. */
export interface BinarySearch {
	/** The directory with the C sources and `prebuilt`. */
	readonly folder: string;
	readonly env: Readonly<Record<string, string | undefined>>;
}

let found: Shim | ShimMissing | undefined;

/** The binary in use, or why there is none. */
export function describeShim(): Shim | ShimMissing {
	found ??= findShim({ folder: FOLDER, env: process.env });
	return found;
}

/** The path of the binary. Throws if there is none. */
export function shimPath(): string {
	const shim = describeShim();
	if (shim.path === null) throw new Error(shim.reason);
	return shim.path;
}

export function findShim(place: BinarySearch): Shim | ShimMissing {
	const named = place.env["REEVE_SHIM"];
	if (named !== undefined && named !== "") {
		if (!isAbsolute(named)) return { path: null, reason: "REEVE_SHIM must be an absolute path." };
		return (
			tryBinary(named, "environment") ?? {
				path: null,
				reason: `REEVE_SHIM: ${named} does not run here.`,
			}
		);
	}
	const platform = `${process.platform}-${process.arch}`;
	const prebuilt = join(place.folder, "prebuilt", platform, "reeve-shim");
	return (
		(existsSync(prebuilt) ? tryBinary(prebuilt, "prebuilt") : undefined) ??
		findBuilt(place, platform)
	);
}

function tryBinary(path: string, origin: Shim["origin"]): Shim | undefined {
	const options: ExecFileSyncOptions & { encoding: "utf8" } = {
		encoding: "utf8",
		timeout: CHECK_TIMEOUT_MS,
		stdio: ["ignore", "pipe", "ignore"],
		env: {},
	};
	try {
		const printed = execFileSync(path, ["version"], options);
		const match = /^reeve-shim protocol (\d+)-(\d+) source (\S+)\n$/.exec(printed);
		if (match === null) return undefined;
		const [, oldest = "", newest = "", source = ""] = match;
		return { path, origin, oldest: Number(oldest), newest: Number(newest), source };
	} catch {
		return undefined;
	}
}

function findBuilt(place: BinarySearch, platform: string): Shim | ShimMissing {
	const missing = `There is no native binary for ${platform}`;
	const files = sourceFiles(place.folder);
	if (files.length === 0)
		return {
			path: null,
			reason: `${missing}, and its C sources are missing. Install Reeve again.`,
		};
	const source = hashSources(place.folder, files);
	const path = join(cacheFolder(place.env), `${platform}-${source}`, "reeve-shim");
	const built = existsSync(path) ? tryBinary(path, "built") : undefined;
	if (built?.source === source) return built;
	const failure = build(place, files, source, path);
	const shim = failure === null ? tryBinary(path, "built") : undefined;
	if (shim !== undefined) return shim;
	return {
		path: null,
		reason: `${missing}, and it cannot be built with the C compiler "cc": ${failure ?? "it does not run"}. Install a C compiler, for example the package "gcc" or "build-essential".`,
	};
}

function cacheFolder(env: BinarySearch["env"]): string {
	const cache = env["XDG_CACHE_HOME"];
	return join(
		cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), ".cache"),
		"reeve",
		"native",
	);
}

function sourceFiles(folder: string): string[] {
	return readdirSync(folder)
		.filter((name) => /\.[ch]$/.test(name))
		.sort();
}

/** The same hash as in scripts/lib/native.mjs. */
function hashSources(folder: string, files: readonly string[]): string {
	const hash = createHash("sha256");
	for (const name of [...files, "cc-flags.json"]) {
		const text = readFileSync(join(folder, name));
		hash.update(`${name}\0${text.length}\0`).update(text);
	}
	return hash.digest("hex").slice(0, 32);
}

interface Flags {
	readonly common: readonly string[];
	readonly cc: Readonly<Record<string, readonly string[]>>;
}

/** Returns null, or why it failed. Two processes may build at the same time: each renames its own complete result. */
function build(
	place: BinarySearch,
	files: readonly string[],
	source: string,
	path: string,
): string | null {
	const temporary = `${path}.${process.pid}`;
	try {
		mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
		const flags = JSON.parse(readFileSync(join(place.folder, "cc-flags.json"), "utf8")) as Flags;
		const args = [
			...flags.common,
			...(flags.cc[process.platform] ?? []),
			`-DSOURCE_HASH="${source}"`,
			...files.filter((name) => name.endsWith(".c")),
			...["-o", temporary],
		];
		execFileSync("cc", args, {
			cwd: place.folder,
			env: place.env,
			timeout: BUILD_TIMEOUT_MS,
			stdio: ["ignore", "ignore", "pipe"],
		});
		chmodSync(temporary, 0o755);
		renameSync(temporary, path);
		return null;
	} catch (error) {
		rmSync(temporary, { force: true });
		return error instanceof Error ? (error.message.split("\n")[0] ?? error.message) : String(error);
	}
}
