/** The routes of screens: the text of a terminal, with its styles, once or as a stream. Watching never resizes it. */

import { z } from "zod";
import type { KeyboardJson } from "./agent-parts.js";
import { defineRoutes } from "./route.js";
import { agentParams, listOf, shape } from "./shapes.js";

const color = z
	.union([z.number(), z.string()])
	.optional()
	.describe("0 to 255 of the palette, or `#rrggbb`; the terminal's default if omitted");
const on = z.literal(true).optional();

const textRun = shape("TextRun", {
	text: z.string().describe("without control characters"),
	fg: color,
	bg: color,
	bold: on,
	dim: on,
	italic: on,
	underline: on,
	inverse: on,
	strikethrough: on,
});
/** Consecutive cells with the same style. */
export type TextRunJson = z.output<typeof textRun>;

const screenRow = listOf(textRun).describe("without trailing blanks");

const cursor = z
	.object({ x: z.number(), y: z.number(), visible: z.boolean() })
	.readonly()
	.describe("from 0, at the top left");

const screenState = z.object({
	cursor,
	title: z.string().describe("the title that the program has set; empty if none"),
	complete: z
		.boolean()
		.describe(
			"false if parts of the screen may be missing or wrong: output was skipped or is no longer stored",
		),
});

const styledScreen = screenState
	.extend({ columns: z.number(), rows: z.number(), lines: listOf(screenRow) })
	.readonly()
	.meta({ id: "StyledScreen" });
/** A whole screen with its styles. */
export type StyledScreenJson = z.output<typeof styledScreen>;

const changedRows = screenState
	.extend({ lines: z.record(z.string(), screenRow).describe("the changed rows, by number from 0") })
	.readonly()
	.meta({ id: "ChangedRows" });
/** The rows of a screen that have changed since the previous message of the stream. */
export type ChangedRowsJson = z.output<typeof changedRows>;

/** The messages of a screen stream, by the name of the event. */
export interface ScreenMessages {
	readonly screen: StyledScreenJson;
	readonly rows: ChangedRowsJson;
	readonly keyboard: { readonly holder: KeyboardJson | null };
	readonly closed: { readonly reason: string };
}

export const screenRoutes = defineRoutes({
	"GET /api/v1/agents/:id/screen": {
		summary: "Returns the text on an agent's screen, on request with its styles.",
		access: "read",
		stores: "never",
		limited: "path",
		params: agentParams,
		query: z.object({
			format: z.enum(["text", "styled"]).default("text").describe("`styled` adds `styled`"),
		}),
		reply: z.object({
			text: z.string(),
			incomplete: z
				.boolean()
				.describe(
					"whether output was lost on a full disk and the program has not drawn its screen again since",
				),
			styled: styledScreen.optional(),
		}),
		errors: ["agent_not_found", "not_running", "not_on_this_host", "no_terminal"],
	},
	"GET /api/v1/agents/:id/screen/stream": {
		summary:
			"Streams an agent's screen with its styles: first the whole screen, then changed rows.",
		access: "read",
		stores: "never",
		limited: "path",
		params: agentParams,
		reply: {
			stream: "events",
			contentType: "text/event-stream",
			meaning:
				"Server-sent events: `screen` with a `StyledScreen` at the start and after a resize, `rows` with `ChangedRows` at most ten times a second, `keyboard` with the `holder` of the keyboard (a `Keyboard` or null) at the start and after each change, and `closed` with a `reason` before the stream ends. A slow reader gets fewer, larger messages.",
		},
		errors: ["agent_not_found", "not_running", "not_on_this_host", "no_terminal"],
	},
});
