/** Handlers of tokens and browser logins. */

import { parseTokenScope, renderTokenScope, type TokenScope } from "../../core/access.js";
import { ReeveError } from "../../core/errors.js";
import type { Caller } from "../auth/gate.js";
import type { TokenInfo } from "../auth/tokens.js";
import type { TokenJson, tokenRoutes } from "../contract/tokens.js";
import type { Handlers, HttpParts } from "../handler.js";

/** How long a browser session lasts. */
const SESSION_MS = 7 * 86_400_000;

export function createTokenHandlers(parts: HttpParts): Handlers<keyof typeof tokenRoutes> {
	const { tokens, links, clock } = parts;
	const nowMs = () => clock.now().wallMs;
	return {
		"GET /api/v1/tokens": () => ({ tokens: tokens.list().map(renderToken) }),
		"POST /api/v1/tokens": async ({ body }) => {
			const expiresAtMs = body.expires_in_ms === undefined ? null : nowMs() + body.expires_in_ms;
			const scope = scopeOf(body.scope);
			const { token, info } = await tokens.create({
				kind: "token",
				scope,
				expiresAtMs,
				name: body.name,
			});
			return { token, info: renderToken(info) };
		},
		"GET /api/v1/caller": ({ caller }) => {
			if (!("token" in caller)) {
				return { kind: "owner", id: null, scope: "operate", expires_at: null };
			}
			const { id, scope, expires_at } = renderToken(caller.token);
			return { kind: caller.type, id, scope, expires_at };
		},
		"GET /api/v1/tokens/default": async () => ({ token: await tokens.showDefault() }),
		"POST /api/v1/tokens/rotate": async () => ({ token: await tokens.rotateDefault() }),
		"POST /api/v1/tokens/:id/revoke": async ({ params }) => {
			await tokens.revoke(params.id);
			return { revoked: params.id };
		},
		"POST /api/v1/login-links": ({ body, caller }) => {
			const creator = "token" in caller ? caller.token.id : null;
			const login = { scope: scopeOf(body.scope), creator, createdBy: rootOf(caller) };
			const { code, expiresAtMs } = links.create(login);
			const [path, { url }] = [`/login?code=${code}`, parts.status()];
			return {
				path,
				url: url === null ? null : `${url}${path}`,
				expires_at: new Date(expiresAtMs).toISOString(),
			};
		},
		"GET /login": async ({ query, via, refuseLogin }, response) => {
			if (via.type !== "network") throw new ReeveError("no_route", "the socket needs no login");
			const login = links.redeem(query.code);
			// Otherwise a leaked token could still be exchanged for a session after it was revoked (A8).
			if (login === null || (login.creator !== null && !tokens.isValid(login.creator))) {
				return refuseLogin("this login link was already used or has expired");
			}
			const { scope, createdBy } = login;
			const expiresAtMs = nowMs() + SESSION_MS;
			const { token } = await tokens.create({ kind: "session", scope, createdBy, expiresAtMs });
			const cookie = [
				`${via.cookie}=${token}`,
				...["Path=/", "HttpOnly", "SameSite=Strict", `Max-Age=${SESSION_MS / 1_000}`],
				...(via.secure ? ["Secure"] : []),
			];
			response.writeHead(303, { location: "/", "set-cookie": cookie.join("; ") });
			response.end();
		},
		"POST /api/v1/logout": async ({ caller }) => {
			if (caller.type !== "session") return { logged_out: false };
			await tokens.revoke(caller.token.id);
			return { logged_out: true };
		},
	};
}

/** The token that the caller's access comes from; null for the owner. A browser is logged in by a link, too. */
function rootOf(caller: Caller): string | null {
	if (!("token" in caller)) return null;
	return caller.type === "token" ? caller.token.id : caller.token.createdBy;
}

/** The contract has validated it. */
function scopeOf(text: string): TokenScope {
	return parseTokenScope(text) as TokenScope;
}

function renderToken(info: TokenInfo): TokenJson {
	const { id, name, kind, scope, createdAtMs, expiresAtMs, isDefault, lastUsedAtMs } = info;
	const timeOrNull = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
	return {
		id,
		name,
		kind,
		scope: renderTokenScope(scope),
		created_at: new Date(createdAtMs).toISOString(),
		expires_at: timeOrNull(expiresAtMs),
		is_default: isDefault,
		last_used_at: timeOrNull(lastUsedAtMs),
	};
}
