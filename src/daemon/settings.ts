/**
 * The current settings of this home. They are read at startup and on a reload. An invalid file never
 * replaces valid settings (A7): it is reported as a problem, and the previous settings stay in effect.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { loadSettings } from "../config/load-settings.js";
import { changedSettings, type DaemonSettings, NO_SETTINGS } from "../config/no-settings.js";
import { renderProblemLine } from "../config/problem.js";
import type { Home } from "../home/paths.js";

export interface ReloadedSettings {
	readonly changed: boolean;
	/** The changed settings, never their values. */
	readonly keys: readonly string[];
	readonly problem: string | null;
}

export class Settings {
	readonly #path: string;
	#current = NO_SETTINGS;
	#problem: string | null = null;
	#change = new AbortController();
	/** Of the files named in the settings. */
	#files: Readonly<Record<string, string>> = {};

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

	/** Why the file is invalid; null if it is valid. */
	get problem(): string | null {
		return this.#problem;
	}

	/** Aborts when the settings change. */
	get untilChange(): AbortSignal {
		return this.#change.signal;
	}

	/** Reads the file again. Every setting is applied immediately, without a restart. */
	async reload(): Promise<ReloadedSettings> {
		const loaded = await loadSettings(this.#path, homedir());
		if (!loaded.ok) {
			this.#problem = loaded.problems.map(renderProblemLine).join("\n");
			return { changed: false, keys: [], problem: this.#problem };
		}
		this.#problem = null;
		const { settings } = loaded;
		const files = await digestsOf(settings);
		// A renewed certificate or secret is a change although its path is the same.
		const renewed = Object.keys(files).filter((key) => files[key] !== this.#files[key]);
		const keys = [...new Set([...changedSettings(this.#current, settings), ...renewed])];
		this.#files = files;
		if (keys.length === 0) return { changed: false, keys, problem: null };
		this.#current = settings;
		const over = this.#change;
		this.#change = new AbortController();
		over.abort();
		return { changed: true, keys, problem: null };
	}
}

/** A digest of the files of each setting. */
async function digestsOf({ tls, notify }: DaemonSettings): Promise<Record<string, string>> {
	const digests: Record<string, string> = {};
	const add = async (key: string, files: readonly string[]) => {
		const hash = createHash("sha256");
		for (const file of files) hash.update(await readFile(file).catch(() => "")).update("\0");
		digests[key] = hash.digest("hex");
	};
	if (tls !== null) await add("tls", [tls.cert, tls.key]);
	for (const { name, secret_file: file } of notify) {
		if (file !== undefined) await add(`notify.${name}`, [file]);
	}
	return digests;
}
