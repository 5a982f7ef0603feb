/**
 * The directory shared by an agent's runs: the shim's lock, its socket and the record of the newest
 * run. It is reused for each run of the agent.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makePrivateFolder, socketPathIn } from "../../host/socket-path.js";
import { type RunSummary, readRecord } from "./run-record.js";

/** Run ids become parts of names. */
export const isRunId = (text: string) => /^[A-Za-z0-9][\w.-]{0,127}$/.test(text);

const AGENTS = "agents";
const ABOUT = "about.json";
const NAME_LENGTH_MAX = 64;
const UNUSED_MS_MAX = 30 * 24 * 60 * 60 * 1_000;

/** The shim's record has room for this much besides its own fields. */
const RECORDED_BYTES_MAX = 2_048;

/** Whether a shim can record it: it leaves out what is long or has control characters. Otherwise the daemon notes it in a file. */
export function fitsRecord(about: RunSummary): boolean {
	const isPlain = !/\p{Cc}/u.test(`${about.agentId}${about.logDir}`);
	return isPlain && Buffer.byteLength(JSON.stringify(about)) <= RECORDED_BYTES_MAX;
}

/** The name of an agent's directory. A special or long id is replaced by a hash. */
export function folderName(agentId: string): string {
	const plain = agentId.replace(":", ".");
	if (/^[a-z0-9][a-z0-9_.-]*$/.test(plain) && plain.length <= NAME_LENGTH_MAX) return plain;
	return `_${createHash("sha256").update(agentId).digest("hex").slice(0, 24)}`;
}

export class AgentFolders {
	readonly #folder: string;
	readonly #made = new Map<string, string | null>();

	constructor(folder: string) {
		this.#folder = join(folder, AGENTS);
	}

	pathOf(name: string): string {
		return join(this.#folder, name);
	}

	socketOf(name: string): string {
		return socketPathIn(this.pathOf(name), "s");
	}

	/**
	 * Makes the folder, and notes facts that the shim will not record. Not on the daemon's own thread: file systems may need
	 * a millisecond for each new file, and hundreds of agents may start at once.
	 */
	async prepare(name: string, about: RunSummary | null): Promise<void> {
		const text = about === null ? null : JSON.stringify(about);
		if (this.#made.get(name) === text) return;
		if (this.#made.size === 0) makePrivateFolder(this.#folder);
		const path = this.pathOf(name);
		await makeFolder(path);
		const sockets = dirname(this.socketOf(name));
		if (sockets !== path) makePrivateFolder(sockets);
		if (text !== null && readText(join(path, ABOUT)) !== text) {
			await writeFile(join(path, ABOUT), text, { mode: 0o600 });
		}
		this.#made.set(name, text);
	}

	/** A directory that was removed in the meantime is created again. */
	forget(name: string): void {
		this.#made.delete(name);
	}

	readAbout(name: string): RunSummary | null {
		try {
			const recorded = readRecord(this.pathOf(name))?.about;
			if (recorded) return recorded;
		} catch {
			// Damaged; the note may be there.
		}
		try {
			return JSON.parse(readText(join(this.pathOf(name), ABOUT)) ?? "") as RunSummary;
		} catch {
			return null;
		}
	}

	/** Throws if the directory exists but cannot be read. */
	list(): string[] {
		try {
			return readdirSync(this.#folder);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
			throw error;
		}
	}

	/** Removes directories of agents that have not run for a month. */
	prune(isOver: (name: string) => boolean): void {
		const oldestMs = Date.now() - UNUSED_MS_MAX;
		for (const name of this.list()) {
			const found = statSync(join(this.pathOf(name), "record"), { throwIfNoEntry: false });
			if (found === undefined || found.mtimeMs > oldestMs || !isOver(name)) continue;
			rmSync(this.pathOf(name), { recursive: true, force: true });
		}
	}
}

/** One call for a new folder below an existing one, the usual case when many agents start at once. */
async function makeFolder(path: string): Promise<void> {
	const isMade = await mkdir(path, { mode: 0o700 }).then(
		() => true,
		() => false,
	);
	if (!isMade) makePrivateFolder(path);
}

function readText(path: string): string | null {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return null;
	}
}
