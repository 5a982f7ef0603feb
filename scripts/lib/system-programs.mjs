/**
 * The programs that the tests need from the system, which of them are missing, and what to do about
 * it. Only `findMissing` looks at the system; the rest decides from facts.
 */

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {object} SystemProgram
 * @property {string} name as it is called on the command line
 * @property {string[]} versionArgs what makes it print its version
 * @property {[major: number, minor: number]} atLeast
 * @property {string} why
 * @property {string} [versionsIn] a folder with one folder per installed version, outside of PATH
 * @property {{ debian: string, homebrew: string, other: string }} packages
 */

/** @type {SystemProgram[]} */
const SYSTEM_PROGRAMS = [
	{
		name: "tmux",
		versionArgs: ["-V"],
		atLeast: [3, 0],
		why: "a real terminal for sessions",
		packages: { debian: "tmux", homebrew: "tmux", other: "tmux" },
	},
	{
		name: "python3",
		versionArgs: ["--version"],
		atLeast: [3, 8],
		why: "the example agent in Python",
		packages: { debian: "python3", homebrew: "python", other: "python3" },
	},
	{
		name: "chromium",
		versionArgs: ["--version"],
		atLeast: [123, 0],
		why: "a real browser for the web page",
		packages: { debian: "chromium", homebrew: "chromium", other: "chromium" },
	},
	{
		name: "sshd",
		versionArgs: ["-V"],
		atLeast: [6, 7],
		why: "another host, reached through ssh",
		packages: { debian: "openssh-server", homebrew: "openssh", other: "openssh" },
	},
	{
		name: "postgres",
		versionArgs: ["--version"],
		atLeast: [13, 0],
		why: "the database of a cluster",
		versionsIn: "/usr/lib/postgresql",
		packages: { debian: "postgresql", homebrew: "postgresql@17", other: "postgresql" },
	},
];

/**
 * Whether a program's own version line (`tmux 3.3a`) is recent enough.
 *
 * @param {string} versionLine
 * @param {SystemProgram["atLeast"]} atLeast
 */
export function isRecentEnough(versionLine, [major, minor]) {
	const found = /(\d+)\.(\d+)/.exec(versionLine);
	// A version without a number (`tmux master`) is accepted.
	if (found === null) return true;
	const [foundMajor, foundMinor] = [Number(found[1]), Number(found[2])];
	return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}

/**
 * The folder of a program that is not in PATH, of its newest version; null if it has none.
 *
 * @param {string} name
 */
export function folderOf(name) {
	const versionsIn = SYSTEM_PROGRAMS.find((program) => program.name === name)?.versionsIn;
	try {
		const versions = versionsIn === undefined ? [] : readdirSync(versionsIn);
		const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
		return newest === undefined ? null : join(versionsIn ?? "", newest, "bin");
	} catch {
		return null;
	}
}

/** The programs that are not there, or too old. */
export function findMissing() {
	return SYSTEM_PROGRAMS.filter((program) => {
		const path = join(folderOf(program.name) ?? "", program.name);
		const ran = spawnSync(path, program.versionArgs, { encoding: "utf8" });
		return ran.error !== undefined || !isRecentEnough(ran.stdout + ran.stderr, program.atLeast);
	});
}

/** @param {SystemProgram} program */
export function renderMissing({ name, atLeast, why }) {
	return `${name} ${atLeast.join(".")} or newer is missing (${why})`;
}

/**
 * @typedef {object} Facts
 * @property {string} platform as in `process.platform`
 * @property {number | undefined} uid
 * @property {boolean} hasApt
 * @property {SystemProgram[]} missing
 * @property {boolean} ci
 *
 * @typedef {{ type: "nothing" }
 *   | { type: "install", commands: [program: string, ...args: string[]][] }
 *   | { type: "advise", lines: string[], exitCode: 0 | 1 }} Plan
 */

/**
 * Plans the installation of missing programs.
 *
 * @param {Facts} facts
 * @returns {Plan}
 */
export function planInstall(facts) {
	const { missing, hasApt, platform } = facts;
	if (missing.length === 0) return { type: "nothing" };
	if (platform === "linux" && hasApt && facts.uid === 0) {
		const names = missing.map(({ packages }) => packages.debian);
		return {
			type: "install",
			commands: [
				["apt-get", "update"],
				["apt-get", "install", "-y", "--no-install-recommends", ...names],
			],
		};
	}
	return adviseInstall(facts);
}

/**
 * The advice for a manual installation.
 *
 * @param {Facts} facts
 * @returns {Plan}
 */
export function adviseInstall(facts) {
	const consequence = facts.ci
		? "In CI every test must run, so this is an error."
		: "Tests that need it are skipped.";
	return {
		type: "advise",
		lines: [...facts.missing.map(renderMissing), `Install: ${howToInstall(facts)}`, consequence],
		exitCode: facts.ci ? 1 : 0,
	};
}

/** @param {Facts} facts */
function howToInstall({ platform, hasApt, missing }) {
	/** @param {keyof SystemProgram["packages"]} system */
	const names = (system) => missing.map(({ packages }) => packages[system]).join(" ");
	if (platform === "darwin") return `brew install ${names("homebrew")}`;
	if (hasApt) return `sudo apt-get install -y --no-install-recommends ${names("debian")}`;
	return `${names("other")}, with the package manager of this system`;
}
