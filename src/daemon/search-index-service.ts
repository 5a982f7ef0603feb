/**
 * Keeps the indexes for searches up to date: looks for new output every minute, and starts a thread
 * when there is enough of it. Indexes of removed files are deleted.
 */

import { mkdir, open, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { Engine } from "../engine/engine.js";
import type { Home } from "../home/paths.js";
import { LOG_FILES, logFileName } from "../http/log-files.js";
import { indexPath } from "../http/search.js";
import { indexedEnd } from "../http/search-blocks.js";
import type { Service } from "../services/supervise.js";
import { logDirOf } from "../sessions/prepare-start.js";
import { aborted } from "./aborted.js";
import type { Logger } from "./logger.js";
import type { IndexedFile } from "./search-index-worker.js";

const EVERY_MS = 60_000;
/** Less than this is searched without an index in a moment. */
const NEW_BYTES_MIN = 4 * 1024 * 1024;
const MEMORY_MB_MAX = 64;

/** Without it searches are slower. */
export function searchIndexService(
	engine: Engine,
	home: Pick<Home, "logs" | "search">,
	logger: Logger,
): Service {
	return {
		name: "search",
		policy: "tolerated",
		async run(signal, ready) {
			ready();
			await mkdir(home.search, { recursive: true, mode: 0o700 });
			while (!signal.aborted) {
				await sleep(EVERY_MS, null, { signal }).catch(() => {});
				if (signal.aborted) return;
				try {
					const { files, newBytes } = await findFiles(engine, home);
					await removeOthers(home.search, files);
					if (newBytes >= NEW_BYTES_MIN) await runWorker(files, signal);
				} catch (error) {
					logger.error("cannot index logs for searches", error);
				}
			}
		},
	};
}

/** All logs and transcripts, and how much of them is not indexed. */
async function findFiles(engine: Engine, home: Pick<Home, "logs" | "search">) {
	const files: IndexedFile[] = [];
	let newBytes = 0;
	const add = async (kind: IndexedFile["kind"], path: string) => {
		const file = await open(path, "r").catch(() => null);
		if (file === null) return;
		try {
			const { size, dev } = await file.stat();
			const name = await logFileName(file);
			const index = indexPath(home.search, kind === "log" ? name : `${dev}.${name}`);
			files.push({ kind, path, index });
			newBytes += size - (await endOf(index, file));
		} finally {
			await file.close();
		}
	};
	for (const { agent } of engine.list()) {
		const folder = logDirOf(home.logs, agent.id);
		for (const name of LOG_FILES) await add("log", join(folder, name));
		for (const path of await engine.transcriptsOf(agent.id)) await add("transcript", path);
	}
	return { files, newBytes };
}

async function endOf(index: string, file: Parameters<typeof indexedEnd>[1]): Promise<number> {
	const opened = await open(index, "r").catch(() => null);
	return opened === null ? 0 : indexedEnd(opened, file).finally(() => opened.close());
}

async function removeOthers(folder: string, files: readonly IndexedFile[]): Promise<void> {
	const known = new Set(files.map(({ index }) => basename(index)));
	for (const name of await readdir(folder)) {
		if (!known.has(name)) await rm(join(folder, name), { force: true });
	}
}

async function runWorker(files: readonly IndexedFile[], signal: AbortSignal): Promise<void> {
	const worker = new Worker(new URL("./search-index-worker.js", import.meta.url), {
		workerData: files,
		resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB_MAX },
	});
	try {
		await Promise.race([
			aborted(signal),
			new Promise<void>((resolve, reject) => {
				worker.once("exit", () => resolve());
				worker.once("error", reject);
			}),
		]);
	} finally {
		await worker.terminate();
	}
}
