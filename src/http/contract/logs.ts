/** The routes of an agent's log as text: pages of lines, and search. The raw bytes are a stream. */

import { z } from "zod";
import { defineRoutes } from "./route.js";
import { agentParams, listOf, orNull, shape, time } from "./shapes.js";

/** `FILE:OFFSET`, as in the header `X-Log-Position`. */
export const logPosition = z.string().regex(/^[\w.]{1,60}:\d{1,15}$/);

const logLine = shape("LogLine", {
	position: z.string().describe("of its first byte: `FILE:OFFSET`"),
	text: z.string().describe("without control sequences and known secrets"),
	cut: z.literal(true).optional().describe("the line is longer than the text"),
});
/** A line of an agent's log. */
export type LogLineJson = z.output<typeof logLine>;

const searchMatch = shape("SearchMatch", {
	agent: z.string(),
	kind: z.enum(["log", "transcript"]),
	text: z
		.string()
		.describe("the line, or a part of it, without control sequences and known secrets"),
	cut: z.literal(true).optional().describe("the line is longer than the text"),
	before: listOf(z.string()).describe("lines before it, oldest first"),
	after: listOf(z.string()),
	at: orNull(time, "when it arrived; null if unknown"),
	until: orNull(time, "the latest possible time, if `at` is not exact"),
	position: orNull(
		z.string(),
		"of a line of a log: the `after` of `agents/:id/logs/lines`; null for transcripts",
	),
	file: orNull(z.string(), "the path of a transcript"),
	offset: orNull(z.number(), "of the record in the transcript, in bytes"),
});
/** A match in a log or a transcript. */
export type SearchMatchJson = z.output<typeof searchMatch>;

export const logRoutes = defineRoutes({
	"GET /api/v1/search": {
		summary: "Searches the logs and transcripts of all agents, ignoring case.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({
			text: z.string().min(1).max(200),
			agents: z
				.string()
				.max(12_000)
				.optional()
				.describe("agents as `project:agent` or projects, separated by commas; default: all"),
			kind: z.enum(["log", "transcript"]).optional().describe("only these files; default: both"),
			limit: z.coerce.number().int().min(1).max(500).default(50),
			context: z.coerce
				.number()
				.int()
				.min(0)
				.max(10)
				.default(0)
				.describe("lines before and after each match, at most; fewer at the edge of a block"),
		}),
		reply: z.object({
			matches: listOf(searchMatch).describe("newest first; those without a time last"),
			incomplete: listOf(z.string()).describe(
				"agents with files that were not searched completely, because of the limit or the time",
			),
			bytes: z.number().describe("the size of all files"),
			read_bytes: z
				.number()
				.describe("the size of the parts that were read: the index excludes the rest"),
			took_ms: z.number(),
		}),
		errors: ["agent_not_found"],
	},
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
			older: orNull(z.string(), "the `before` of the previous page; null at the start"),
			newer: orNull(z.string(), "the `after` of the next page; null without a log"),
		}),
		errors: ["agent_not_found"],
	},
	"GET /api/v1/agents/:id/logs/search": {
		summary: "Searches an agent's log, ignoring case, from the newest line back.",
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
			next: orNull(
				z.string(),
				"the `before` of the next page; null if the whole log was searched. A page may be empty although there are more matches: each request searches a limited amount.",
			),
			searched_bytes: z.number(),
		}),
		errors: ["agent_not_found"],
	},
});
