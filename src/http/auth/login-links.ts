/** One-time login links for browsers, valid for a few minutes and kept in memory only. */

import { createHash, randomBytes } from "node:crypto";
import type { TokenScope } from "../../core/access.js";

const VALID_MS = 5 * 60_000;
const LINKS_MAX = 20;

/** The access that a link gives. */
export interface Login {
	readonly scope: TokenScope;
	/** The token or session that created the link; null if that was the owner. */
	readonly creator: string | null;
	/** The token that the session ends with. */
	readonly createdBy: string | null;
}

export interface LoginLinks {
	/** A new code with its expiry. */
	create(login: Login): { readonly code: string; readonly expiresAtMs: number };
	/** The login of the code, which is used up by this. Null if it is used, expired or unknown. */
	redeem(code: string): Login | null;
}

export function createLoginLinks(nowMs: () => number): LoginLinks {
	/** By hash, so that comparing leaks no timing information. */
	const links = new Map<string, { readonly login: Login; readonly expiresAtMs: number }>();
	return {
		create(login) {
			const code = randomBytes(32).toString("base64url");
			const expiresAtMs = nowMs() + VALID_MS;
			const [oldest] = links.keys();
			if (links.size >= LINKS_MAX && oldest !== undefined) links.delete(oldest);
			links.set(hashOf(code), { login, expiresAtMs });
			return { code, expiresAtMs };
		},
		redeem(code) {
			const link = links.get(hashOf(code));
			links.delete(hashOf(code));
			return link === undefined || link.expiresAtMs <= nowMs() ? null : link.login;
		},
	};
}

function hashOf(code: string): string {
	return createHash("sha256").update(code).digest("hex");
}
