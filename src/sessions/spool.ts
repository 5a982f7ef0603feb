/**
 * The records of an agent's hooks, one small file each, written atomically. Writing them needs no
 * daemon, so nothing is lost while there is none. Of frequent events only the last is kept, and of the
 * others a few hundred (A6).
 */

import { lstat, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AgentSign } from "../core/sign.js";
import type { AgentAdapter, JsonRecord, SignReaderAt } from "../ports/adapter.js";

const RECORDS_MAX = 300;
const RECORD_BYTES_MAX = 2_097_152;

/** `hook.sh EVENT each|last [JSON]`: the record is the third argument, or stdin. */
export const HOOK_SCRIPT = `#!/bin/sh
umask 077
[ -d "$REEVE_SPOOL" ] || exit 0
beside=$(mktemp "$REEVE_SPOOL/.$1.XXXXXX") || exit 0
if [ "$2" = last ]; then cat > /dev/null; printf '{}' > "$beside"; name="$1.last"
elif [ $# -ge 3 ]; then printf '%s' "$3" > "$beside"; name="$1\${beside##*/.$1}"
else cat > "$beside"; name="$1\${beside##*/.$1}"; fi
mv -f "$beside" "$REEVE_SPOOL/$name.json"
exit 0
`;

export const spoolOf = (folder: string) => join(folder, "spool");

/** Nothing of an earlier run is to be taken for this one's. Links are removed, not followed. */
export async function emptySpool(folder: string): Promise<void> {
	const spool = spoolOf(folder);
	const there = await lstat(spool).catch(() => null);
	if (there?.isDirectory() !== true) await rm(spool, { recursive: true, force: true });
	await mkdir(spool, { recursive: true, mode: 0o700 });
	for (const name of await readdir(spool)) {
		await rm(join(spool, name), { recursive: true, force: true });
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

	return {
		async read(readerAt) {
			if (adapter.readRecord === undefined) return [];
			const names = (await readdir(spool).catch(() => [])).filter((name) => name.endsWith(".json"));
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
			return ordered.slice(-RECORDS_MAX).flatMap(([, { sign }]) => sign ?? []);
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
