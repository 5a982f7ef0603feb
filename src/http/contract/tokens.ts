/** Tokens, and how a browser is let in. */

import { z } from "zod";
import { parseTokenScope } from "../../core/access.js";
import { defineRoutes } from "./route.js";
import { listOf, time } from "./shapes.js";

const scope = z
	.string()
	.refine((text) => parseTokenScope(text) !== null, "is `read`, `operate` or `agent:PROJECT:NAME`")
	.describe("`read`, `operate`, or `agent:PROJECT:NAME` for what an agent may ask about itself");

const token = z
	.object({
		id: z.string().describe("names it; no secret"),
		kind: z.enum(["token", "session"]).describe("`session`: of a browser that was let in"),
		scope: z.string(),
		created_at: time,
		expires_at: time.nullable(),
		is_default: z.boolean().describe("the owner's own, which `reeve token show` shows"),
	})
	.readonly()
	.meta({ id: "Token" });
export type TokenJson = z.output<typeof token>;

export const tokenRoutes = defineRoutes({
	"GET /api/v1/tokens": {
		summary: "All tokens that are valid; never the tokens themselves.",
		access: "owner",
		reply: z.object({ tokens: listOf(token) }),
		errors: [],
	},
	"POST /api/v1/tokens": {
		summary: "Makes a token, and shows it this once.",
		access: "owner",
		status: 201,
		body: z.object({
			scope,
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
	"GET /api/v1/tokens/default": {
		summary: "The owner's own token.",
		access: "owner",
		reply: z.object({ token: z.string() }),
		errors: [],
	},
	"POST /api/v1/tokens/rotate": {
		summary: "Puts a new token in the place of the owner's own; the old one is void at once.",
		access: "owner",
		reply: z.object({ token: z.string() }),
		errors: [],
	},
	"POST /api/v1/tokens/:id/revoke": {
		summary: "Makes a token void at once.",
		access: "owner",
		params: z.object({ id: z.string().min(1).max(100).describe("the token's id") }),
		reply: z.object({ revoked: z.string() }),
		errors: ["token_not_found"],
	},
	"POST /api/v1/login-links": {
		summary: "Makes a link that lets one browser in, once, within five minutes.",
		access: "owner",
		status: 201,
		body: z.object({ scope: scope.default("operate") }),
		reply: z.object({ path: z.string(), url: z.string().nullable(), expires_at: time }),
		errors: [],
	},
	"GET /login": {
		summary: "Lets a browser in by its one-time link, with a cookie, and sends it to the page.",
		access: "public",
		query: z.object({ code: z.string().min(1).max(200) }),
		reply: {
			stream: "text",
			contentType: "text/plain",
			meaning: "A redirect to `/`, with a cookie that only this daemon gets back.",
		},
		errors: ["unauthorized", "rate_limited"],
	},
	"POST /api/v1/logout": {
		summary: "Makes the cookie that came with this request void.",
		access: "read",
		reply: z.object({ logged_out: z.boolean() }),
		errors: [],
	},
});
