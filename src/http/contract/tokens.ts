/** The routes of tokens and browser logins. */

import { z } from "zod";
import { parseTokenScope } from "../../core/access.js";
import { defineRoutes } from "./route.js";
import { listOf, orNull, shape, time } from "./shapes.js";

const scope = z
	.string()
	.refine(
		(text) => parseTokenScope(text) !== null,
		"must be `read` or `operate`, optionally with `:PROJECT` or `:PROJECT:AGENT`, or `agent:PROJECT:AGENT`",
	)
	.describe(
		"`read` or `operate`; with `:PROJECT` or `:PROJECT:AGENT`, limited to that project or agent; or `agent:PROJECT:AGENT` for requests of an agent about itself",
	);

const name = z
	.string()
	.regex(/^[\w][\w .@:/-]{0,59}$/)
	.describe("a label; letters, digits, spaces and `_.@:/-`, at most 60");

const token = shape("Token", {
	id: z.string().describe("the token's id; not secret"),
	name: orNull(z.string(), "its label"),
	kind: z.enum(["token", "session"]).describe("`session`: a browser session"),
	scope: z.string(),
	created_at: time,
	expires_at: time.nullable(),
	is_default: z.boolean().describe("whether it is the owner's default token (`reeve token show`)"),
	last_used_at: orNull(time, "null if not since the daemon started"),
});
export type TokenJson = z.output<typeof token>;

export const tokenRoutes = defineRoutes({
	"GET /api/v1/tokens": {
		summary: "Lists all valid tokens, without their secrets.",
		access: "operate",
		stores: "never",
		reply: z.object({ tokens: listOf(token) }),
		errors: [],
	},
	"POST /api/v1/tokens": {
		summary: "Creates a token. Its secret is only returned once.",
		access: "owner",
		stores: "never",
		status: 201,
		body: z.object({
			scope,
			name: name.optional(),
			expires_in_ms: z
				.number()
				.int()
				.positive()
				.max(10 * 365 * 86_400_000)
				.optional(),
		}),
		reply: z.object({ token: z.string(), info: token }),
		errors: ["too_many_tokens"],
	},
	"GET /api/v1/caller": {
		summary: "Returns the identity and the access of the caller.",
		access: "read",
		stores: "never",
		early: true,
		limited: "free",
		reply: z.object({
			kind: z.enum(["owner", "token", "session"]).describe("`owner`: over the daemon's socket"),
			id: orNull(z.string(), "the id of the token or session; null for the owner"),
			scope: z.string(),
			expires_at: time.nullable(),
		}),
		errors: [],
	},
	"GET /api/v1/tokens/default": {
		summary: "Returns the owner's default token.",
		access: "owner",
		stores: "never",
		reply: z.object({ token: z.string() }),
		errors: [],
	},
	"POST /api/v1/tokens/rotate": {
		summary: "Replaces the owner's default token. The old token is revoked immediately.",
		access: "owner",
		stores: "never",
		reply: z.object({ token: z.string() }),
		errors: [],
	},
	"POST /api/v1/tokens/:id/revoke": {
		summary: "Revokes a token immediately.",
		access: "operate",
		stores: "never",
		params: z.object({ id: z.string().min(1).max(100).describe("the token's id") }),
		reply: z.object({ revoked: z.string() }),
		errors: ["token_not_found"],
	},
	"POST /api/v1/login-links": {
		summary: "Creates a one-time login link for a browser, valid for five minutes.",
		access: "operate",
		stores: "never",
		status: 201,
		body: z.object({ scope: scope.default("operate") }),
		reply: z.object({ path: z.string(), url: z.string().nullable(), expires_at: time }),
		errors: [],
	},
	"GET /login": {
		summary: "Logs a browser in with a one-time link: sets a cookie and redirects to the page.",
		access: "public",
		stores: "never",
		opened: true,
		query: z.object({ code: z.string().min(1).max(200) }),
		reply: {
			stream: "text",
			contentType: "text/plain",
			meaning: "A redirect to `/` with the session cookie.",
		},
		errors: ["unauthorized", "rate_limited"],
	},
	"POST /api/v1/logout": {
		summary: "Logs out: revokes the session cookie of this request.",
		access: "read",
		stores: "never",
		limited: "free",
		reply: z.object({ logged_out: z.boolean() }),
		errors: [],
	},
});
