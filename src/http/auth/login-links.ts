/** One-time login links for browsers, valid for a few minutes and kept in memory only. */

import { createHash, randomBytes } from "node:crypto";
import type { TokenScope } from "../../core/access.js";

const VALID_MS = 5 * 60_000;
const LINKS_MAX = 20;

export interface LoginLinks {
	/** A new code with its expiry. */
	create(scope: TokenScope): { readonly code: string; readonly expiresAtMs: number };
	/** The scope of the code, which is used up by this. Null if it is used, expired or unknown. */
	redeem(code: string): TokenScope | null;
}

export function createLoginLinks(nowMs: () => number): LoginLinks {
	/** By hash, so that comparing leaks no timing information. */
	const links = new Map<string, { readonly scope: TokenScope; readonly expiresAtMs: number }>();
	return {
		create(scope) {
			const code = randomBytes(32).toString("base64url");
			const expiresAtMs = nowMs() + VALID_MS;
			const [oldest] = links.keys();
			if (links.size >= LINKS_MAX && oldest !== undefined) links.delete(oldest);
			links.set(hashOf(code), { scope, expiresAtMs });
			return { code, expiresAtMs };
		},
		redeem(code) {
			const link = links.get(hashOf(code));
			links.delete(hashOf(code));
			return link === undefined || link.expiresAtMs <= nowMs() ? null : link.scope;
		},
	};
}

function hashOf(code: string): string {
	return createHash("sha256").update(code).digest("hex");
}
