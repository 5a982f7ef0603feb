/** Tokens on disk: hashes in one file, the owner's default token in another, both private to the owner. */

import { createJsonFile, type FileDamage } from "../home/json-file.js";
import type { Home } from "../home/paths.js";
import { readIfExists, updateFile } from "../home/update-file.js";
import type { StoredToken, TokenStore } from "../ports/token-store.js";

export function createTokenFiles(
	{ tokens, token, locks }: Pick<Home, "tokens" | "token" | "locks">,
	onDamage: (damage: FileDamage) => void,
): TokenStore {
	const hashes = createJsonFile<readonly StoredToken[]>(tokens, {
		locks,
		onDamage,
		parse: parseTokens,
		// The previous version may contain a token that was revoked since.
		restoresPrevious: false,
		consequence:
			"all API tokens and browser sessions are invalid; create new ones with `reeve token create`",
	});
	return {
		read: async () => (await hashes.read()) ?? [],
		write: async (all) => void (await hashes.update(() => all)),
		readDefault: async () => (await readIfExists(token))?.trim() ?? null,
		writeDefault: (text) => updateFile(token, () => `${text}\n`, { locks, mode: 0o600 }),
	};
}

function parseTokens(value: unknown): readonly StoredToken[] {
	const isToken = (each: unknown) =>
		typeof each === "object" && each !== null && "hash" in each && typeof each.hash === "string";
	if (Array.isArray(value) && value.every(isToken)) return value as StoredToken[];
	throw new Error("it is not a list of tokens");
}
