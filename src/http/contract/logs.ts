/** The routes of an agent's log as text: pages of lines, and search. The raw bytes are a stream. */

import { z } from "zod";
import { defineRoutes } from "./route.js";
import { agentParams, listOf } from "./shapes.js";

/** `FILE:OFFSET`, as in the header `X-Log-Position`. */
export const logPosition = z.string().regex(/^[\w.]{1,60}:\d{1,15}$/);

const logLine = z
	.object({
		position: z.string().describe("of its first byte: `FILE:OFFSET`"),
		text: z.string().describe("without control sequences and known secrets"),
		cut: z.literal(true).optional().describe("the line is longer than the text"),
	})
	.readonly()
	.meta({ id: "LogLine" });
/** A line of an agent's log. */
export type LogLineJson = z.output<typeof logLine>;

export const logRoutes = defineRoutes({
	"GET /api/v1/agents/:id/logs/lines": {
		summary: "Returns a page of an agent's log as text, oldest line first.",
		access: "read",
		stores: "never",
		limited: "path",
		agents: "itself",
		params: agentParams,
		query: z.object({
			before: logPosition
				.optional()
				.describe("the lines before this position; default: the end of the log"),
			after: logPosition.optional().describe("the lines from this position on, instead"),
			limit: z.coerce.number().int().min(1).max(1_000).default(200),
		}),
		reply: z.object({
			lines: listOf(logLine),
			older: z.string().nullable().describe("the `before` of the previous page; null at the start"),
			newer: z.string().nullable().describe("the `after` of the next page; null without a log"),
		}),
		errors: ["agent_not_found"],
	},
	"GET /api/v1/agents/:id/logs/search": {
		summary: "Searches an agent's log for a text, ignoring case, from the newest line on.",
		access: "read",
		stores: "never",
		limited: "path",
		params: agentParams,
		query: z.object({
			text: z.string().min(1).max(200),
			before: logPosition.optional().describe("the `next` of the previous page"),
			limit: z.coerce.number().int().min(1).max(500).default(100),
		}),
		reply: z.object({
			matches: listOf(logLine).describe("newest first"),
			next: z
				.string()
				.nullable()
				.describe(
					"the `before` of the next page; null if the whole log was searched. A page may be empty although there are more matches: each request searches a limited amount.",
				),
			searched_bytes: z.number(),
		}),
		errors: ["agent_not_found"],
	},
});
