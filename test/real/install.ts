/** Fetches the real agent CLIs from npm, at pinned versions, into a cache outside of the repository. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const CACHE =
	process.env["REEVE_REAL_CACHE"] ?? join(homedir(), ".cache", "reeve-test-real");

export interface Package {
	readonly name: string;
	readonly version: string;
	readonly bin: string;
}

const installing = new Map<string, Promise<string>>();

/** The program's path. Installs it when it is not there yet. */
export function install(wanted: Package): Promise<string> {
	// Concurrent tests of one CLI share an installation.
	const known = installing.get(wanted.name) ?? fetchPackage(wanted);
	installing.set(wanted.name, known);
	return known;
}

async function fetchPackage({ name, version, bin }: Package): Promise<string> {
	const folder = join(CACHE, `${name.replace(/^@/, "").replace("/", "-")}@${version}`);
	const program = join(folder, "node_modules", ".bin", bin);
	if (existsSync(program)) return program;
	const unfinished = `${folder}.${process.pid}`;
	await mkdir(unfinished, { recursive: true });
	await writeFile(join(unfinished, "package.json"), '{ "private": true }\n');
	const args = ["install", "--no-audit", "--no-fund", `${name}@${version}`];
	await promisify(execFile)("npm", args, { cwd: unfinished, maxBuffer: 1 << 26 });
	// Atomic: an interrupted install is never used.
	await rm(folder, { recursive: true, force: true });
	await rename(unfinished, folder);
	return program;
}
