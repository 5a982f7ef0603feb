/** The streaming routes: events, logs, terminals. */

import { z } from "zod";
import { logPosition } from "./logs.js";
import { defineRoutes } from "./route.js";
import { agentParams } from "./shapes.js";

const flag = z.enum(["0", "1"]).optional();
const text = z.string().max(500).optional();
const count = z.coerce.number().int().nonnegative();

export const streamRoutes = defineRoutes({
	"GET /api/v1/events": {
		summary: "Streams events, oldest first. With `follow`, continues with new events.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({
			after: count.default(0).describe("only events after this sequence number"),
			agent: text.describe("only events of this agent"),
			task: text.describe("only events of this task"),
			plan: text.describe("only events of this plan"),
			type: text.describe(
				"only these types, such as `agent.exited,task.`; a trailing dot selects a group",
			),
			since: z.iso
				.datetime({ offset: true })
				.optional()
				.describe("only events at or after this time"),
			follow: flag.describe("`1` continues with new events"),
			live: z
				.enum(["resources"])
				.optional()
				.describe(
					"with `follow`: also measures the resources of the agents about every 5 seconds, and sends them as events `resources` without a number",
				),
		}),
		headers: z.object({
			"last-event-id": text.describe(
				"the last event that was received; takes precedence over `after`",
			),
		}),
		reply: {
			stream: "events",
			contentType: "text/event-stream",
			meaning:
				"Server-sent events: the id is the event's number, the data the event as JSON. While there are no events, a comment is sent every 15 seconds. A client that reads nothing for a minute is disconnected and can continue with `Last-Event-ID`.",
		},
		errors: ["events_pruned"],
	},
	"GET /api/v1/agents/:id/logs": {
		summary: "Streams an agent's raw output, across restarts.",
		access: "read",
		stores: "never",
		limited: "path",
		agents: "itself",
		params: agentParams,
		query: z.object({
			lines: count.default(200).describe("number of last lines"),
			follow: flag.describe("`1` continues with new output"),
			from: logPosition
				.optional()
				.describe(
					"continues at this position instead: the `X-Log-Position` of an earlier answer, with the number of bytes that were read since added to the number after the colon",
				),
		}),
		reply: {
			stream: "bytes",
			contentType: "application/octet-stream",
			meaning:
				"The raw bytes. The header `X-Log-Position` is the position of the first byte. With `from` it is the same as `from`, unless output after that position has been discarded: then it is the position of the oldest byte that follows it.",
		},
		errors: ["agent_not_found"],
	},
	"GET /api/v1/agents/:id/terminal": {
		summary: "Opens an agent's terminal over a WebSocket.",
		access: "read",
		stores: "never",
		limited: "path",
		params: agentParams,
		query: z.object({
			columns: z.coerce.number().optional(),
			rows: z.coerce.number().optional(),
			ro: flag.describe("`1` is read only; tokens that can only read are always read only"),
		}),
		reply: {
			stream: "websocket",
			contentType: "application/octet-stream",
			meaning:
				"Binary frames are terminal input and output; text frames are JSON messages: `snapshot`, `writer` and `closed` from the daemon, `resize` and `take_over` to it.",
		},
		errors: ["agent_not_found", "not_running", "no_terminal"],
	},
});

/** The data of an event `resources`: memory in bytes and CPU in percent of one CPU by agent. */
export interface LiveResources {
	readonly agents: Readonly<
		Record<string, readonly [memoryBytes: number, cpuPercent: number | null]>
	>;
}

/** Text frames of a terminal, in both directions. Binary frames are terminal input and output. */
export type TerminalMessage =
	/** From the daemon: the next binary frame draws the whole screen of this size. */
	| { readonly type: "snapshot"; readonly columns: number; readonly rows: number }
	/** From the daemon: whether your input is accepted. */
	| { readonly type: "writer"; readonly you: boolean }
	| { readonly type: "closed"; readonly reason: string }
	/** To the daemon. */
	| { readonly type: "resize"; readonly columns: number; readonly rows: number }
	/** To the daemon: take over the input. */
	| { readonly type: "take_over" };
