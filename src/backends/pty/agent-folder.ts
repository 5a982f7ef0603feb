/**
 * The directory shared by an agent's runs: the shim's lock, its socket and the record of the newest
 * run. It is reused for each run of the agent.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makePrivateFolder, socketPathIn } from "../../host/socket-path.js";

/** Run ids become parts of names. */
export const isRunId = (text: string) => /^[A-Za-z0-9][\w.-]{0,127}$/.test(text);

const AGENTS = "agents";
const ABOUT = "about.json";
const NAME_LENGTH_MAX = 64;
const UNUSED_MS_MAX = 30 * 24 * 60 * 60 * 1_000;

/** The daemon's notes next to the shim's own files; the same for all runs of an agent. */
export interface About {
	readonly agentId: string;
	readonly logDir: string;
}

/** The name of an agent's directory. A special or long id is replaced by a hash. */
export function folderName(agentId: string): string {
	const plain = agentId.replace(":", ".");
	if (/^[a-z0-9][a-z0-9_.-]*$/.test(plain) && plain.length <= NAME_LENGTH_MAX) return plain;
	return `_${createHash("sha256").update(agentId).digest("hex").slice(0, 24)}`;
}

export class AgentFolders {
	readonly #folder: string;
	readonly #made = new Map<string, string>();

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
	 * Makes the folder and notes what does not change with each run. Not on the daemon's own thread: file systems may need
	 * a millisecond for each new file, and hundreds of agents may start at once.
	 */
	async prepare(name: string, about: About): Promise<void> {
		const text = JSON.stringify(about);
		if (this.#made.get(name) === text) return;
		const path = this.pathOf(name);
		await mkdir(path, { recursive: true, mode: 0o700 });
		makePrivateFolder(path);
		const sockets = dirname(this.socketOf(name));
		if (sockets !== path) makePrivateFolder(sockets);
		if (readText(join(path, ABOUT)) !== text) {
			await writeFile(join(path, ABOUT), text, { mode: 0o600 });
		}
		this.#made.set(name, text);
	}

	/** A directory that was removed in the meantime is created again. */
	forget(name: string): void {
		this.#made.delete(name);
	}

	readAbout(name: string): About | null {
		try {
			return JSON.parse(readText(join(this.pathOf(name), ABOUT)) ?? "") as About;
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

function readText(path: string): string | null {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return null;
	}
}
