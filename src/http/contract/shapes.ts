/** Shapes that many routes share. Keys may be added to what is answered, none is renamed. */

import { z } from "zod";
import type { DrainOutcome } from "../../core/events.js";

/** A list that nobody changes. */
export const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).readonly();

export const time = z.string().describe("ISO 8601");

/** Long enough for any id, and short enough for a message. */
const NAME_LENGTH_MAX = 200;

/** Who is meant is for the engine to say: what is no id at all is simply not found. */
export const agentParams = z.object({
	id: z.string().min(1).max(NAME_LENGTH_MAX).describe("the agent, as `project:agent`"),
});

export const scopeParams = z.object({
	scope: z
		.string()
		.min(1)
		.max(NAME_LENGTH_MAX)
		.describe("an agent as `project:agent`, a project, or `*`"),
});

const DRAIN_OUTCOMES = [
	"graceful",
	"timed_out_killed",
	"already_stopped",
	"not_proven",
] as const satisfies readonly DrainOutcome[];

export const drainOutcome = z.enum(DRAIN_OUTCOMES);

export const stopped = z
	.object({
		id: z.string(),
		outcome: drainOutcome,
		duration_ms: z.number(),
		reason: z.string().nullable(),
	})
	.readonly()
	.meta({ id: "Stopped" });
export type StoppedJson = z.output<typeof stopped>;

export const timeoutMs = z
	.number()
	.nonnegative()
	.optional()
	.describe(
		"how long an agent may take before it is killed; its own `drain.timeout` when left out",
	);

export const errorReply = z
	.object({
		error: z.object({
			code: z.string().describe("one of the codes of the errors page"),
			message: z.string().describe("what happened here"),
			hint: z.string().describe("what to do about it"),
			details: z.unknown().describe("more, by code; null when there is none"),
			correlation_id: z.string().describe("the same in the daemon's log and in events"),
		}),
	})
	.readonly()
	.meta({ id: "Error" });
export type ErrorJson = z.output<typeof errorReply>;
