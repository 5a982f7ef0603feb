/**
 * A JSON file of the home that the daemon can lose and continue. A damaged file is kept under another name, the
 * previous version replaces it where that is safe, and the damage is reported; it never prevents a start.
 */

import { rename } from "node:fs/promises";
import { ReeveError } from "../core/errors.js";
import { messageOf } from "../core/message-of.js";
import { previousOf, putFile, readIfExists, withLockOf } from "./update-file.js";

/** The damage of a file, and the action taken. */
export interface FileDamage {
	readonly file: string;
	readonly problem: string;
	readonly action: string;
	/** Where the damaged file is now; null if there was none. */
	readonly keptAs: string | null;
}

export interface JsonFileOptions<T> {
	/** The directory of the lock files. */
	readonly locks: string;
	/** Throws a description of the problem, without quoting the content. */
	readonly parse: (value: unknown) => T;
	/**
	 * Whether the previous version may replace a damaged or missing file. Not allowed if that would undo
	 * something permanent, such as the revocation of a token.
	 */
	readonly restoresPrevious: boolean;
	/** The consequence for the operator if there is no previous version. */
	readonly consequence: string;
	readonly onDamage: (damage: FileDamage) => void;
}

export interface JsonFile<T> {
	/** Null if there is no usable file. */
	read(): Promise<T | null>;
	/** Changes the current value, one change at a time; resolves when it is on the disk. */
	update(change: (value: T | null) => T): Promise<T>;
}

export function createJsonFile<T>(path: string, options: JsonFileOptions<T>): JsonFile<T> {
	const { locks, parse, restoresPrevious, consequence, onDamage } = options;

	function parseText(text: string): T {
		let value: unknown;
		try {
			value = JSON.parse(text);
		} catch {
			// Node's own message quotes the text, which may contain secrets (A5).
			throw new Error(text === "" ? "it is empty" : "it is not valid JSON");
		}
		return parse(value);
	}

	/** Called with the lock held. Leaves a usable file, or none. */
	async function readOrRepair(place: string): Promise<{ value: T | null; isThere: boolean }> {
		const text = await readIfExists(place);
		let problem: string;
		if (text === null) {
			const hasPrevious = restoresPrevious && (await readIfExists(previousOf(place))) !== null;
			if (!hasPrevious) return { value: null, isThere: false };
			problem = "it is missing";
		} else {
			try {
				return { value: parseText(text), isThere: true };
			} catch (error) {
				problem = messageOf(error);
			}
		}
		const keptAs = text === null ? null : await setAside(place);
		const restored = restoresPrevious ? await readPrevious(place) : null;
		if (restored !== null) await putFile(place, restored.text, { mode: 0o600, isThere: false });
		const action =
			restored === null ? consequence : "using the previous version; the last change is lost";
		onDamage({ file: place, problem, action, keptAs });
		return { value: restored?.value ?? null, isThere: restored !== null };
	}

	async function readPrevious(place: string): Promise<{ text: string; value: T } | null> {
		try {
			const text = await readIfExists(previousOf(place));
			return text === null ? null : { text, value: parseText(text) };
		} catch {
			return null;
		}
	}

	return {
		async read() {
			// Without a lock, which would fail on a full disk: a reader always sees one complete version.
			const text = await readIfExists(path);
			const hasPrevious = text === null && (await readIfExists(previousOf(path))) !== null;
			if (text === null && !(restoresPrevious && hasPrevious)) return null;
			try {
				if (text !== null) return parseText(text);
			} catch {
				// It is checked again below, with the lock held.
			}
			return withLockOf(path, { locks }, async (place) => (await readOrRepair(place)).value);
		},
		update: (change) =>
			withLockOf(path, { locks }, async (place) => {
				const { value: before, isThere } = await readOrRepair(place);
				const value = change(before);
				const text = `${JSON.stringify(value, null, "\t")}\n`;
				await putFile(place, text, { mode: 0o600, keepsPrevious: true, isThere });
				return value;
			}).catch((error: unknown) => {
				throw explainFailure(path, error);
			}),
	};
}

/** The names of damaged files that were moved. */
export const DAMAGED = /\.damaged-[\dTZ-]+$/;

async function setAside(place: string): Promise<string> {
	const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
	const keptAs = `${place}.damaged-${stamp}`;
	await rename(place, keptAs);
	return keptAs;
}

/** A full or failing disk is not a bug: the same change may succeed later. */
function explainFailure(path: string, error: unknown): unknown {
	if (typeof (error as NodeJS.ErrnoException).syscall !== "string") return error;
	return new ReeveError("store_unavailable", `cannot write ${path}: ${messageOf(error)}`);
}
