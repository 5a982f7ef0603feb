/**
 * The records of an agent's hooks, one small file each, written atomically. Writing them needs no daemon, so nothing is
 * lost while there is none. Of frequent events only the last is kept, and of the others a few hundred (A6).
 *
 * On a full disk a hook overwrites a spare file that was written in advance. When no spare is left, the time of the
 * lost report is noted, and the agent's activity is unknown from then on.
 */

import {
	lstat,
	mkdir,
	readdir,
	readFile,
	rename,
	rm,
	stat,
	utimes,
	writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import type { AgentSign } from "../core/sign.js";
import type { AgentAdapter, JsonRecord, SignReaderAt } from "../ports/adapter.js";

const RECORDS_MAX = 300;
const RECORD_BYTES_MAX = 2_097_152;

const SPARES = 8;
const SPARE_BYTES = 4_096;
const SPARE = /^\.spare\.\d+$/;
const LOST = ".lost";

/** The script that hooks run to write a record. */
export const HOOK_SCRIPT = new URL("./hook.sh", import.meta.url);

export const spoolOf = (folder: string) => join(folder, "spool");

/** Records of an earlier run must not be attributed to this one; spares are kept. Links are removed, not followed. */
export async function emptySpool(folder: string): Promise<void> {
	const spool = spoolOf(folder);
	const there = await lstat(spool).catch(() => null);
	if (there?.isDirectory() !== true) await rm(spool, { recursive: true, force: true });
	await mkdir(spool, { recursive: true, mode: 0o700 });
	const names = await readdir(spool);
	for (const name of names.filter((each) => !SPARE.test(each))) {
		await rm(join(spool, name), { recursive: true, force: true });
	}
	for (
		let missing = SPARES;
		missing > 0 && (await addSpare(spool, await readdir(spool)));
		missing--
	);
	// It exists from the start: on a full disk only its time can change.
	await writeFile(join(spool, LOST), "", { mode: 0o600 });
	await utimes(join(spool, LOST), 0, 0);
}

/** Writes one of the spares that are missing. False if none is, or there is no space for it. */
async function addSpare(spool: string, names: readonly string[]): Promise<boolean> {
	const numbers = Array.from({ length: SPARES }, (_, number) => `.spare.${number + 1}`);
	const missing = numbers.find((name) => !names.includes(name));
	if (missing === undefined) return false;
	const beside = join(spool, `.new${missing}`);
	try {
		await writeFile(beside, " ".repeat(SPARE_BYTES), { mode: 0o600 });
		await rename(beside, join(spool, missing));
		return true;
	} catch {
		await rm(beside, { force: true });
		return false;
	}
}

export interface SpoolReader {
	/** The meaning of the records, oldest first. Removes those beyond the limit. */
	read(readerAt: SignReaderAt): Promise<readonly AgentSign[]>;
}

interface Known {
	readonly atMs: number;
	/** Null for a record without a meaning. */
	readonly sign: AgentSign | null;
}

/** Reads each record once: the directory is checked every second, and records never change. */
export function createSpoolReader(folder: string, adapter: AgentAdapter): SpoolReader {
	const spool = spoolOf(folder);
	const known = new Map<string, Known>();

	async function readNew(name: string, readerAt: SignReaderAt): Promise<void> {
		const stats = await stat(join(spool, name)).catch(() => null);
		if (stats === null || known.get(name)?.atMs === stats.mtimeMs) return;
		const event = name.replace(/\.[^.]*\.json$/, "");
		const data = stats.size > RECORD_BYTES_MAX ? {} : await readJson(join(spool, name));
		const atMs = stats.mtimeMs;
		const meaning = adapter.readRecord?.(event, data, readerAt(atMs)) ?? null;
		const sign =
			meaning === null ? null : ({ ...meaning, source: "hook", name: event, atMs } as const);
		known.set(name, { atMs, sign });
	}

	/** The last report that could not be written, if there is one. */
	async function readLost(): Promise<AgentSign[]> {
		const stats = await stat(join(spool, LOST)).catch(() => null);
		if (stats === null || stats.mtimeMs === 0) return [];
		const lost = { source: "hook", name: "lost", activity: "unknown" } as const;
		return [{ ...lost, atMs: stats.mtimeMs, detail: "a report was lost: the disk was full" }];
	}

	return {
		async read(readerAt) {
			if (adapter.readRecord === undefined) return [];
			const all: readonly string[] = await readdir(spool).catch(() => []);
			if (all.includes(LOST)) await addSpare(spool, all);
			const names = all.filter((name) => name.endsWith(".json"));
			const there = new Set(names);
			for (const name of known.keys()) if (!there.has(name)) known.delete(name);
			for (const name of names) {
				if (!known.has(name) || name.endsWith(".last.json")) await readNew(name, readerAt);
			}
			const ordered = [...known].sort(([, a], [, b]) => a.atMs - b.atMs);
			for (const [name] of ordered.slice(0, -RECORDS_MAX)) {
				known.delete(name);
				await rm(join(spool, name), { force: true });
			}
			const signs = ordered.slice(-RECORDS_MAX).flatMap(([, { sign }]) => sign ?? []);
			return [...signs, ...(await readLost())].sort((a, b) => a.atMs - b.atMs);
		},
	};
}

async function readJson(path: string): Promise<JsonRecord> {
	try {
		const data: unknown = JSON.parse(await readFile(path, "utf8"));
		return typeof data === "object" && data !== null ? (data as JsonRecord) : {};
	} catch {
		// Truncated or removed; the event itself still counts.
		return {};
	}
}
