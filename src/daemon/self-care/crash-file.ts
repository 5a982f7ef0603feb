/**
 * Writes a crash report synchronously, since the process is about to exit. It contains neither environment nor secrets
 * (A5): known values are removed from every text, and events come without their data. Only a few reports are kept (A6).
 */

import {
	closeSync,
	existsSync,
	fstatSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	readSync,
	rmSync,
} from "node:fs";
import { join } from "node:path";
import type { CrashReport } from "../../home/crash-reports.js";
import type { Home } from "../../home/paths.js";
import { removeLeftovers, replaceFileSync } from "../../home/replace-file.js";

export type CrashHome = Pick<Home, "crashes" | "vault" | "token" | "daemonLog">;
export type CrashFacts = Omit<CrashReport, "log">;

const REPORTS_MAX = 10;
const LOG_BYTES_MAX = 32_768;
const LOG_LINES_MAX = 50;
const TEXT_LENGTH_MAX = 16_384;
/** Shorter values are often ordinary words. */
const SECRET_LENGTH_MIN = 6;
const SECRET_NAME = /key|token|secret|pass|credential|auth|cookie/i;

/** The path of the report; null if it could not be written. Never throws. */
export function writeCrashReport(
	home: CrashHome,
	facts: CrashFacts,
	env: NodeJS.ProcessEnv = process.env,
): string | null {
	try {
		const strike = createStriker(readSecrets(home, env));
		const report: CrashReport = {
			...facts,
			message: strike(facts.message),
			stack: facts.stack === null ? null : strike(facts.stack),
			services: facts.services.map((each) => ({
				...each,
				reason: each.reason === null ? null : strike(each.reason),
			})),
			log: readLastLines(home.daemonLog).map(strike),
		};
		if (!existsSync(home.crashes)) mkdirSync(home.crashes, { mode: 0o700 });
		const name = `crash-${facts.at.replaceAll(":", "-")}-${facts.pid}.json`;
		const path = join(home.crashes, name);
		replaceFileSync(path, `${JSON.stringify(report, null, "\t")}\n`);
		removeOldest(home.crashes);
		return path;
	} catch {
		// For example a full disk. The log contains the error.
		return null;
	}
}

function removeOldest(folder: string): void {
	removeLeftovers(folder);
	const names = readdirSync(folder)
		.filter((name) => name.startsWith("crash-"))
		.sort();
	for (const name of names.slice(0, -REPORTS_MAX)) rmSync(join(folder, name), { force: true });
}

/** Known secrets: values passed to agents, tokens, and variables with a secret-like name. */
function readSecrets(home: CrashHome, env: NodeJS.ProcessEnv): readonly string[] {
	const secrets = new Set<string>();
	const add = (value: unknown) => {
		if (typeof value === "string" && value.length >= SECRET_LENGTH_MIN) secrets.add(value);
		else if (typeof value === "object" && value !== null) Object.values(value).forEach(add);
	};
	add(readIfThere(home.token)?.trim());
	try {
		add(JSON.parse(readIfThere(home.vault) ?? "{}"));
	} catch {}
	for (const [name, value] of Object.entries(env)) if (SECRET_NAME.test(name)) add(value);
	// Longest first: one may be a part of another.
	return [...secrets].sort((a, b) => b.length - a.length);
}

function createStriker(secrets: readonly string[]): (text: string) => string {
	return (text) =>
		secrets
			.reduce((rest, secret) => rest.replaceAll(secret, "[struck out]"), text)
			.slice(0, TEXT_LENGTH_MAX);
}

function readIfThere(path: string): string | null {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return null;
	}
}

/** The last lines of a file, within bounds. Empty if there is none. */
export function readLastLines(path: string): readonly string[] {
	try {
		const file = openSync(path, "r");
		try {
			const { size } = fstatSync(file);
			const bytes = Buffer.alloc(Math.min(size, LOG_BYTES_MAX));
			const length = readSync(file, bytes, 0, bytes.length, size - bytes.length);
			const lines = bytes.toString("utf8", 0, length).split("\n");
			return lines.filter((line) => line !== "").slice(-LOG_LINES_MAX);
		} finally {
			closeSync(file);
		}
	} catch {
		return [];
	}
}
