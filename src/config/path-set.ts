/** A set of paths in the fleet file that can check whether a path is below one of them. */

import type { Path } from "./outline.js";

export class PathSet {
	readonly #keys = new Set<string>();

	add(path: Path): void {
		this.#keys.add(JSON.stringify(path));
	}

	get isEmpty(): boolean {
		return this.#keys.size === 0;
	}

	/** Whether the path itself, or a path above it, is in the set. */
	covers(path: Path): boolean {
		if (this.isEmpty) return false;
		for (let length = path.length; length >= 0; length--) {
			if (this.#keys.has(JSON.stringify(path.slice(0, length)))) return true;
		}
		return false;
	}
}
