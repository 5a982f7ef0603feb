/**
 * One watched file, or folder with everything below it that is not ignored.
 *
 * On Linux each folder is watched separately, since the kernel has no other way; on macOS the system watches the whole
 * folder. The path itself may be replaced, be removed and come back: it is compared with the watched one at regular
 * intervals. A file is watched through its folder, because editors replace files.
 */

import { type FSWatcher, type Stats, watch } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { messageOf } from "../core/message-of.js";
import { IgnoredFiles } from "./ignored-files.js";

/** Per watched path. The kernel's limit for all programs of a user is often 8192 or more. */
const WATCHED_FOLDERS_MAX = 10_000;
/** More changes than this are not looked at one by one. */
const EVENTS_MAX = 10_000;
/** After this many events the kernel may have dropped others: new folders are looked for. */
const EVENTS_TO_RESCAN = 500;

const LOOKS_TO_TRY_AGAIN = 30;

const IS_RECURSIVE = process.platform === "darwin";

interface Folder {
	readonly watcher: FSWatcher;
	/** The folder itself; another one may have its name later. */
	readonly identity: string;
}

export class WatchedPath {
	readonly #path: string;
	readonly #onChange: (path: string) => void;
	readonly #ignored: IgnoredFiles;
	readonly #watched = new Map<string, Folder>();
	/** The current identity and kind of the path. Null before the first check. */
	#state: string | null = null;
	/** The path is a file, or does not exist: only this name in its folder counts. */
	#onlyName: string | null = null;
	/** Names with an event that are not looked at yet, and whether they may be new or gone. */
	#events = new Map<string, boolean>();
	#seenEvents = 0;
	#mustRescan = false;
	#looks = 0;
	#isWorking = false;
	#isClosed = false;
	#problem: string | null = null;
	#missing: string | null = null;

	constructor(path: string, home: string, onChange: (path: string) => void) {
		this.#path = path;
		this.#onChange = onChange;
		this.#ignored = new IgnoredFiles(path, home);
	}

	get folders(): number {
		return this.#watched.size;
	}

	/** Why some changes are not noticed, as text; null if all are. */
	get problem(): string | null {
		return this.#missing ?? this.#problem;
	}

	/** Finds out whether the path has been replaced. */
	look(): void {
		this.#looks += 1;
		if (this.#isWorking) return;
		// The cause may be gone: a limit was raised, a permission was given.
		if (this.#problem !== null && this.#looks % LOOKS_TO_TRY_AGAIN === 0) this.#mustRescan = true;
		void this.#work();
	}

	close(): void {
		this.#isClosed = true;
		this.#closeAll();
	}

	async #work(): Promise<void> {
		this.#isWorking = true;
		try {
			await this.#lookAtPath();
			while (!this.#isClosed && (this.#events.size > 0 || this.#mustRescan))
				await this.#nextEvents();
		} catch (error) {
			this.#problem = `${this.#path} is not watched: ${messageOf(error)}`;
		} finally {
			this.#isWorking = false;
		}
	}

	async #lookAtPath(): Promise<void> {
		const found = await stat(this.#path).catch(() => null);
		const isFolder = found?.isDirectory() ?? false;
		const top = isFolder ? this.#path : dirname(this.#path);
		const folder = isFolder ? found : await stat(top).catch(() => null);
		const state = `${isFolder} ${folder === null ? "none" : identityOf(folder)}`;
		this.#missing = found === null ? `${this.#path} does not exist` : null;
		if (this.#isClosed || state === this.#state) return;
		const isFirst = this.#state === null;
		this.#state = state;
		this.#closeAll();
		this.#ignored.forget();
		this.#onlyName = isFolder ? null : basename(this.#path);
		if (folder !== null) await this.#watchTree(top, false);
		if (!isFirst) this.#onChange(this.#path);
	}

	async #nextEvents(): Promise<void> {
		const events = this.#events;
		const mustRescan = this.#mustRescan || this.#seenEvents > EVENTS_TO_RESCAN;
		this.#events = new Map();
		this.#mustRescan = false;
		if (mustRescan) this.#ignored.forget();
		for (const [path, mayBeNew] of events) {
			if (this.#isClosed) return;
			await this.#lookAtEvent(path, mayBeNew && !mustRescan);
		}
		if (!mustRescan || this.#onlyName !== null) return;
		this.#seenEvents = 0;
		await this.#watchTree(this.#path, true);
	}

	/** `mayBeNew`: a new or removed folder changes what is watched. */
	async #lookAtEvent(path: string, mayBeNew: boolean): Promise<void> {
		const found = await lstat(path).catch(() => null);
		if (found === null) {
			if (await this.#isAboutFolder(path, mayBeNew)) return;
			const isFolder = this.#watched.has(path);
			this.#closeBelow(path);
			// Its former kind is unknown.
			const ignored =
				(await this.#ignored.isIgnored(path, false)) || (await this.#ignored.isIgnored(path, true));
			if (isFolder || !ignored) this.#onChange(path);
			return;
		}
		if (!found.isDirectory()) {
			if (!(await this.#ignored.isIgnored(path, false))) this.#onChange(path);
		} else if (mayBeNew && !IS_RECURSIVE && !(await this.#ignored.isIgnored(path, true))) {
			await this.#watchTree(path, true);
		}
	}

	/**
	 * The system reports events of a watched folder itself under its own name, like those of a file in it. Its removal is
	 * reported by the folder above.
	 */
	async #isAboutFolder(path: string, mayBeNew: boolean): Promise<boolean> {
		const folder = dirname(path);
		if (basename(path) !== basename(folder) || !this.#watched.has(folder)) return false;
		return !mayBeNew || (await lstat(folder).catch(() => null)) === null;
	}

	/** Watches a folder with all folders below it. `reports`: files in folders that were not watched are news. */
	async #watchTree(top: string, reports: boolean): Promise<void> {
		const left = [top];
		const seen = new Set<string>();
		if (top === this.#path) this.#problem = null;
		for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
			if (this.#isClosed) return;
			const added = await this.#watchFolder(folder);
			if (added === "full") return;
			if (added === "gone") continue;
			seen.add(folder);
			if (IS_RECURSIVE || this.#onlyName !== null) continue;
			for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
				const path = join(folder, entry.name);
				if (entry.isDirectory()) {
					if (!(await this.#ignored.isIgnored(path, true))) left.push(path);
				} else if (reports && added === "new" && !(await this.#ignored.isIgnored(path, false))) {
					this.#onChange(path);
				}
			}
		}
		for (const path of [...this.#watched.keys()]) {
			if ((path === top || path.startsWith(`${top}/`)) && !seen.has(path)) this.#closeOne(path);
		}
	}

	async #watchFolder(folder: string): Promise<"new" | "known" | "gone" | "full"> {
		const found = await lstat(folder).catch(() => null);
		// The path itself may be a symbolic link.
		const isTop = folder === this.#path || this.#onlyName !== null;
		if (found === null || !(isTop || found.isDirectory())) return "gone";
		const identity = identityOf(found);
		if (this.#watched.get(folder)?.identity === identity) return "known";
		this.#closeOne(folder);
		if (this.#isClosed) return "gone";
		if (this.#watched.size >= WATCHED_FOLDERS_MAX) {
			this.#problem = `only ${WATCHED_FOLDERS_MAX} folders of ${this.#path} are watched: list the folders that matter, or ignore the others in .gitignore`;
			return "full";
		}
		try {
			const options = { persistent: false, recursive: IS_RECURSIVE && this.#onlyName === null };
			const watcher = watch(folder, options, (type, name) => this.#event(folder, type, name));
			watcher.on("error", () => this.#closeOne(folder));
			this.#watched.set(folder, { watcher, identity });
			return "new";
		} catch (error) {
			const code = (error as NodeJS.ErrnoException).code ?? "";
			if (code === "ENOENT") return "gone";
			this.#problem = `${folder} is not watched: ${EXPLAINED[code] ?? messageOf(error)}`;
			return code === "EACCES" ? "gone" : "full";
		}
	}

	#event(folder: string, type: string, name: string | null): void {
		if (this.#isClosed) return;
		if (this.#onlyName !== null && name !== null && name !== this.#onlyName) return;
		this.#seenEvents += 1;
		if (name === null || this.#events.size >= EVENTS_MAX) {
			this.#onChange(folder);
			this.#mustRescan = true;
		} else {
			const path = join(folder, name);
			this.#events.set(path, type === "rename" || (this.#events.get(path) ?? false));
			if (basename(name) === ".gitignore") this.#mustRescan = true;
		}
		if (!this.#isWorking) void this.#work();
	}

	#closeAll(): void {
		for (const path of [...this.#watched.keys()]) this.#closeOne(path);
	}

	#closeBelow(top: string): void {
		if (!this.#watched.has(top)) return;
		for (const path of [...this.#watched.keys()]) {
			if (path === top || path.startsWith(`${top}/`)) this.#closeOne(path);
		}
	}

	#closeOne(path: string): void {
		const folder = this.#watched.get(path);
		this.#watched.delete(path);
		folder?.watcher.close();
	}
}

/** With the time of its creation: the system gives the number of a removed folder to the next one. */
function identityOf({ dev, ino, birthtimeMs }: Stats): string {
	return `${dev}:${ino}:${birthtimeMs}`;
}

const EXPLAINED: Readonly<Record<string, string>> = {
	ENOSPC:
		"the system's limit of watched folders is reached (fs.inotify.max_user_watches); raise it, or list fewer folders",
	EMFILE:
		"the system's limit of watchers is reached (fs.inotify.max_user_instances, or open files); raise it",
	EACCES: "no permission to read it",
};
