/** Tokens on the disk: hashes in one file, the owner's own token in another, both for the owner alone. */

import { readFile, rename } from "node:fs/promises";
import type { Home } from "../client/home.js";
import { writeDurably } from "../host/durable-file.js";
import type { StoredToken, TokenStore } from "../ports/token-store.js";

export function createTokenFiles({ tokens, token }: Pick<Home, "tokens" | "token">): TokenStore {
	return {
		async read() {
			const text = await readIfThere(tokens);
			if (text === null) return [];
			try {
				return JSON.parse(text) as StoredToken[];
			} catch {
				// All tokens are void then, which is safe; agents must be kept all the same.
				await rename(tokens, `${tokens}.broken`);
				return [];
			}
		},
		write: (all) => writeDurably(tokens, `${JSON.stringify(all, null, "\t")}\n`),
		readDefault: async () => (await readIfThere(token))?.trim() ?? null,
		writeDefault: (text) => writeDurably(token, `${text}\n`),
	};
}

async function readIfThere(path: string): Promise<string | null> {
	try {
		return await readFile(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw error;
	}
}
