/**
 * The thread that indexes logs and transcripts for searches. It uses at most half of a processor, ends
 * when everything is indexed, and takes its memory with it.
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { indexBlock, indexedEnd, type SearchKind } from "../http/search-blocks.js";

export interface IndexedFile {
	readonly kind: SearchKind;
	readonly path: string;
	readonly index: string;
}

if (parentPort !== null) {
	for (const file of workerData as readonly IndexedFile[]) {
		// A file may be gone, or not be readable; the others are indexed nevertheless.
		await indexFile(file).catch(() => {});
	}
}

/** Indexes all complete blocks. Returns the number of bytes. */
export async function indexFile({ kind, path, index }: IndexedFile): Promise<number> {
	const file = await open(path, "r");
	let records: FileHandle | null = null;
	try {
		records = await open(index, constants.O_RDWR | constants.O_CREAT, 0o600);
		const from = await indexedEnd(records, file);
		for (let end = from; ; ) {
			const startedMs = performance.now();
			const bytes = await indexBlock(records, file, kind, end);
			if (bytes === 0) return end - from;
			end += bytes;
			await sleep(Math.min(100, performance.now() - startedMs));
		}
	} finally {
		await records?.close();
		await file.close();
	}
}
