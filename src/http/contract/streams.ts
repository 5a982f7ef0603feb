/** What comes bit by bit: events, logs, terminals. */

import { z } from "zod";
import { defineRoutes } from "./route.js";
import { agentParams } from "./shapes.js";

const flag = z.enum(["0", "1"]).optional();
const text = z.string().max(500).optional();
const count = z.coerce.number().int().nonnegative();

export const streamRoutes = defineRoutes({
	"GET /api/v1/events": {
		summary: "What has happened, oldest first, and with `follow` what happens.",
		access: "read",
		query: z.object({
			after: count.default(0).describe("only events after the one of this number"),
			agent: text.describe("only events of this agent"),
			task: text.describe("only events of this task"),
			plan: text.describe("only events of this plan"),
			type: text.describe(
				"only these types, as `agent.exited,task.`: with a dot at its end, a group",
			),
			since: z.iso
				.datetime({ offset: true })
				.optional()
				.describe("only events at or after this time"),
			follow: flag.describe("`1` goes on with events to come"),
		}),
		headers: z.object({
			"last-event-id": text.describe("the last event that was seen; goes before `after`"),
		}),
		reply: {
			stream: "events",
			contentType: "text/event-stream",
			meaning:
				"Server-sent events: the id is the event's number, the data the event as JSON. While nothing happens there is a comment every 15 seconds. A reader that reads nothing for a minute is cut off, and goes on with `Last-Event-ID`.",
		},
		errors: ["events_pruned"],
	},
	"GET /api/v1/agents/:id/logs": {
		summary: "An agent's raw output, across restarts.",
		access: "read",
		agents: "itself",
		params: agentParams,
		query: z.object({
			lines: count.default(200).describe("how many of its last lines"),
			follow: flag.describe("`1` goes on with what it writes"),
		}),
		reply: {
			stream: "bytes",
			contentType: "application/octet-stream",
			meaning: "The bytes as they were written.",
		},
		errors: ["agent_not_found"],
	},
	"GET /api/v1/agents/:id/terminal": {
		summary: "An agent's terminal, over a WebSocket.",
		access: "read",
		params: agentParams,
		query: z.object({
			columns: z.coerce.number().optional(),
			rows: z.coerce.number().optional(),
			ro: flag.describe("`1` only watches; so does whoever may read but not act"),
		}),
		reply: {
			stream: "websocket",
			contentType: "application/octet-stream",
			meaning:
				"Binary frames are bytes, to the terminal and from it; text frames are messages as JSON: `snapshot`, `writer` and `closed` from the daemon, `resize` and `take_over` to it.",
		},
		errors: ["agent_not_found", "not_running"],
	},
});

/** Text frames on a terminal, both ways. Binary frames are input to it and output from it. */
export type TerminalMessage =
	/** From the daemon: the next binary frame draws the whole screen of this size. */
	| { readonly type: "snapshot"; readonly columns: number; readonly rows: number }
	/** From the daemon: whether what you type is taken. */
	| { readonly type: "writer"; readonly you: boolean }
	| { readonly type: "closed"; readonly reason: string }
	/** To the daemon. */
	| { readonly type: "resize"; readonly columns: number; readonly rows: number }
	/** To the daemon: let me type from now on. */
	| { readonly type: "take_over" };
