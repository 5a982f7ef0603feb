/** Files with a growing number, `lock.1`, `lock.2`: only one process can create the next one. */

import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryPath } from "./replace-file.js";

export function numbers(folder: string, name: string): number[] {
	return readdirSync(folder).flatMap((file) => {
		const rest = file.startsWith(`${name}.`) ? file.slice(name.length + 1) : "";
		return /^[1-9]\d*$/.test(rest) ? [Number(rest)] : [];
	});
}

export const newestNumber = (folder: string, name: string) => Math.max(0, ...numbers(folder, name));

/** Null if it is missing or unreadable. */
export function readJsonFile<T>(path: string): T | null {
	try {
		return JSON.parse(readFileSync(path, "utf8")) as T;
	} catch {
		return null;
	}
}

/** A link appears with its complete text, or not at all if the number is taken. */
export function createNumberedFile(
	folder: string,
	name: string,
	number: number,
	value: unknown,
): boolean {
	const beside = temporaryPath(join(folder, name));
	try {
		writeFileSync(beside, JSON.stringify(value), { mode: 0o600 });
		linkSync(beside, join(folder, `${name}.${number}`));
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
		throw error;
	} finally {
		rmSync(beside, { force: true });
	}
}
