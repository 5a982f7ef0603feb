/**
 * The settings of this home as they hold now. They are read when the daemon starts and when it is told to
 * read them again. A file that cannot be used never replaces settings that could (A7): it is told as a
 * problem, and what held goes on.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Home } from "../client/home.js";
import {
	type DaemonSettings,
	NO_SETTINGS,
	parseDaemonSettings,
} from "../config/daemon-settings.js";

export class Settings {
	readonly #path: string;
	#current = NO_SETTINGS;
	#problem: string | null = null;
	#change = new AbortController();
	/** Of everything that counts, the files that are named included. */
	#digest = "";

	private constructor(path: string) {
		this.#path = path;
	}

	static async read({ settings }: Pick<Home, "settings">): Promise<Settings> {
		const read = new Settings(settings);
		await read.reload();
		return read;
	}

	get current(): DaemonSettings {
		return this.#current;
	}

	/** Why the file is not what holds; null when it is. */
	get problem(): string | null {
		return this.#problem;
	}

	/** Aborts when other settings hold. */
	get untilChange(): AbortSignal {
		return this.#change.signal;
	}

	/** Reads the file again. Gives whether anything is different now. */
	async reload(): Promise<{ readonly changed: boolean; readonly problem: string | null }> {
		const { settings, problem } = await readSettings(this.#path);
		this.#problem = problem;
		if (settings === null) return { changed: false, problem };
		const digest = await digestOf(settings);
		if (digest === this.#digest) return { changed: false, problem };
		this.#digest = digest;
		this.#current = settings;
		const over = this.#change;
		this.#change = new AbortController();
		over.abort();
		return { changed: true, problem };
	}
}

async function readSettings(
	path: string,
): Promise<{ readonly settings: DaemonSettings | null; readonly problem: string | null }> {
	try {
		const parsed = parseDaemonSettings(JSON.parse(await readFile(path, "utf8")));
		if (parsed.ok) return { settings: parsed.settings, problem: null };
		return { settings: null, problem: `${path}: ${parsed.problem}` };
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		if (code === "ENOENT") return { settings: NO_SETTINGS, problem: null };
		return { settings: null, problem: `${path}: ${message}` };
	}
}

/** A certificate that was renewed, or a secret, is a change although its path is the same. */
async function digestOf(settings: DaemonSettings): Promise<string> {
	const { tls, notify } = settings;
	const files = [
		...(tls === null ? [] : [tls.cert, tls.key]),
		...notify.flatMap((each) => ("secret_file" in each ? [each.secret_file ?? ""] : [])),
	];
	const hash = createHash("sha256").update(JSON.stringify(settings));
	for (const file of files) hash.update(await readFile(file).catch(() => "")).update("\0");
	return hash.digest("hex");
}
