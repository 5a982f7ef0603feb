/** The streaming routes: events, logs, terminals. */

import { z } from "zod";
import type { KeyboardJson } from "./agent-parts.js";
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
					"with `follow`: also measures the resources of the agents about every 5 seconds, and sends them as events `resources` without a number, together with the problems of the daemon",
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
	"GET /api/v1/logs": {
		summary:
			"Streams the output of several agents as lines of text with their times, merged by time.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({
			agents: z
				.string()
				.max(12_000)
				.optional()
				.describe("agents as `project:agent` or projects, separated by commas; default: all"),
			lines: count
				.default(200)
				.describe("number of last lines of each agent that match; not used with `since` or `from`"),
			since: z.iso
				.datetime({ offset: true })
				.optional()
				.describe("all lines that arrived at or after this time"),
			until: z.iso
				.datetime({ offset: true })
				.optional()
				.describe("only lines that arrived before this time"),
			grep: text.describe("only lines that match this pattern, in the syntax of RE2"),
			ignore_case: flag.describe("`1` ignores the case of letters in `grep`"),
			follow: flag.describe("`1` continues with new output"),
			from: z
				.string()
				.max(12_000)
				.optional()
				.describe(
					"continues at these positions instead: the last `next` of each of the `agents`, in their order, separated by commas",
				),
		}),
		reply: {
			stream: "json",
			contentType: "application/x-ndjson",
			meaning:
				"One JSON document per line. `agent`, `text`, `at` and `next` are a line of an agent, without control sequences and known secrets; `until` is there if the line arrived at an unknown moment between `at` and `until`. Documents with `next` and without `text` name the position where an agent starts; `removed` reports that older output was removed before it could be sent. The lines of one agent are never reordered. A long line is sent in pieces. With `follow`, an empty line is sent every 15 seconds without output.",
		},
		errors: ["agent_not_found", "usage"],
	},
	"GET /api/v1/agents/:id/terminal": {
		summary:
			"Opens an agent's terminal over a WebSocket. One client types, any number watch. A new client may type if no other does, or after `take_over`.",
		access: "read",
		stores: "never",
		limited: "path",
		params: agentParams,
		query: z.object({
			columns: z.coerce
				.number()
				.optional()
				.describe(
					"the size that the terminal gets while this client types; watching changes nothing",
				),
			rows: z.coerce.number().optional(),
			ro: flag.describe("`1` is read only; tokens that can only read are always read only"),
			answers: flag.describe(
				"`0` if your client does not answer terminal queries of the program, such as the position of the cursor; the daemon then answers them",
			),
		}),
		reply: {
			stream: "websocket",
			contentType: "application/octet-stream",
			meaning:
				"Binary frames are terminal input and output; text frames are JSON messages: `snapshot`, `writer` and `closed` from the daemon, `resize` and `take_over` to it.",
		},
		errors: ["agent_not_found", "not_running", "not_on_this_host", "no_terminal"],
	},
});

/** A document of the stream of merged logs. */
export interface MergedLogJson {
	readonly agent: string;
	/** The position of the agent's next line. */
	readonly next: string;
	/** Missing where only a position is reported. */
	readonly text?: string;
	readonly at?: string;
	/** The latest time at which it can have arrived; missing if `at` is exact. */
	readonly until?: string;
	/** Older output was removed before it could be sent. */
	readonly removed?: true;
}

/**
 * The data of an event `resources`: memory in bytes and CPU in percent of one CPU by agent, and the problems of the
 * daemon. A full disk cannot be an event: nothing can be stored then.
 */
export interface LiveResources {
	readonly agents: Readonly<
		Record<string, readonly [memoryBytes: number, cpuPercent: number | null]>
	>;
	/** The current problems of the daemon itself; only for callers that may see all agents. */
	readonly problems?: readonly string[];
}

/** Text frames of a terminal, in both directions. Binary frames are terminal input and output. */
export type TerminalMessage =
	/** From the daemon: the next binary frame draws the whole screen of this size. */
	| { readonly type: "snapshot"; readonly columns: number; readonly rows: number }
	/** From the daemon, after every change: whether your input is accepted, and whose is; null if no client types. */
	| { readonly type: "writer"; readonly you: boolean; readonly holder: KeyboardJson | null }
	| { readonly type: "closed"; readonly reason: string }
	/** To the daemon: the size of your window, for while you type. */
	| { readonly type: "resize"; readonly columns: number; readonly rows: number }
	/** To the daemon: take over the input from the client that has it. It returns there when you leave. */
	| { readonly type: "take_over" };
