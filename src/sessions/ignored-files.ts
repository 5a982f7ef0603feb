/**
 * Which files below a watched folder are ignored: those that `.gitignore` files ignore, from the top of the repository
 * down, and a few that no person or agent edits. A file in an ignored folder is ignored, as for git.
 */

import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { decideIgnored, type IgnoreRule, parseGitignore } from "../core/gitignore.js";

const IGNORED_NAMES: ReadonlySet<string> = new Set([".git", ".hg", ".svn", "node_modules"]);
/** Vim, Emacs and others write these beside a file while it is open. */
const EDITOR_FILE = /^(\..*\.sw[a-z]|4913|.*~|\.#.*|#.*#|\.DS_Store)$/;
const GITIGNORE_BYTES_MAX = 1_000_000;
const FOLDERS_REMEMBERED_MAX = 50_000;
const NO_RULES: readonly IgnoreRule[] = [];

export class IgnoredFiles {
	readonly #root: string;
	/** Reeve writes here itself. */
	readonly #home: string;
	/** The folders above the root whose rules apply to it. */
	#above: readonly string[] | null = null;
	readonly #rules = new Map<string, readonly IgnoreRule[]>();
	readonly #folders = new Map<string, boolean>();

	constructor(root: string, home: string) {
		this.#root = root;
		this.#home = home;
	}

	/** Reads all `.gitignore` files again when they are needed. */
	forget(): void {
		this.#above = null;
		this.#rules.clear();
		this.#folders.clear();
	}

	/** `path` is below the root. */
	async isIgnored(path: string, isFolder: boolean): Promise<boolean> {
		if (path === this.#root) return false;
		const known = isFolder ? this.#folders.get(path) : undefined;
		if (known !== undefined) return known;
		const ignored =
			(await this.isIgnored(dirname(path), true)) || (await this.#isIgnoredItself(path, isFolder));
		if (isFolder) {
			if (this.#folders.size >= FOLDERS_REMEMBERED_MAX) this.#folders.clear();
			this.#folders.set(path, ignored);
		}
		return ignored;
	}

	async #isIgnoredItself(path: string, isFolder: boolean): Promise<boolean> {
		const name = path.slice(path.lastIndexOf("/") + 1);
		if (path === this.#home || IGNORED_NAMES.has(name)) return true;
		if (!isFolder && EDITOR_FILE.test(name)) return true;
		this.#above ??= await this.#findAbove();
		for (let folder = dirname(path); ; folder = dirname(folder)) {
			const decided = decideIgnored(await this.#rulesOf(folder), relative(folder, path), isFolder);
			if (decided !== null) return decided;
			if (folder === this.#root) break;
		}
		return (await this.#decideAbove(this.#above, path, isFolder)) ?? false;
	}

	/**
	 * The folders above, from the nearest to the top of the repository. None if their rules ignore the root itself: it is
	 * watched on purpose.
	 */
	async #findAbove(): Promise<readonly string[]> {
		const above: string[] = [];
		let folder = this.#root;
		for (;;) {
			if (await exists(join(folder, ".git"))) break;
			const parent = dirname(folder);
			// Without a repository there is no top.
			if (parent === folder) return [];
			folder = parent;
			above.push(folder);
		}
		for (let path = this.#root; path !== folder; path = dirname(path)) {
			const from = above.slice(above.indexOf(dirname(path)));
			if (await this.#decideAbove(from, path, true)) return [];
		}
		return above;
	}

	async #decideAbove(
		above: readonly string[],
		path: string,
		isFolder: boolean,
	): Promise<boolean | null> {
		for (const folder of above) {
			const decided = decideIgnored(await this.#rulesOf(folder), relative(folder, path), isFolder);
			if (decided !== null) return decided;
		}
		return null;
	}

	async #rulesOf(folder: string): Promise<readonly IgnoreRule[]> {
		const known = this.#rules.get(folder);
		if (known !== undefined) return known;
		const text = await readFile(join(folder, ".gitignore"), "utf8").catch(() => "");
		const rules =
			text === "" || text.length > GITIGNORE_BYTES_MAX ? NO_RULES : parseGitignore(text);
		if (this.#rules.size >= FOLDERS_REMEMBERED_MAX) this.#rules.clear();
		this.#rules.set(folder, rules);
		return rules;
	}
}

async function exists(path: string): Promise<boolean> {
	return stat(path).then(
		() => true,
		() => false,
	);
}
