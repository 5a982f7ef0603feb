/** Shapes shared by many routes. Keys may be added to responses, but are never renamed. */

import { z } from "zod";
import type { DrainOutcome } from "../../core/events.js";

/** A read-only list. */
export const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).readonly();

/** An object with a name of its own in the description of the API. */
export const shape = <Fields extends z.ZodRawShape>(id: string, fields: Fields) =>
	z.object(fields).readonly().meta({ id });

export const orNull = <Type extends z.ZodType>(type: Type, meaning: string) =>
	type.nullable().describe(meaning);

export const time = z.string().describe("ISO 8601");

/** Long enough for any id, and short enough for a message. */
const NAME_LENGTH_MAX = 200;

/** The engine resolves ids: an invalid one is simply not found. */
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

export const endedProcess = z.object({ pid: z.number(), name: z.string() });

export const stopped = shape("Stopped", {
	id: z.string(),
	outcome: drainOutcome,
	duration_ms: z.number(),
	reason: z.string().nullable(),
	killed: listOf(endedProcess).describe("processes that were still alive after the timeout"),
});
/** How an agent was stopped. */
export type StoppedJson = z.output<typeof stopped>;

export const START_OUTCOMES = [
	"started",
	"already_running",
	"failed",
	"halted",
	"stopped",
	"over_budget",
	"hibernated",
	"not_gone",
	"waiting",
	"old_settings",
] as const;

export const timeoutMs = z
	.number()
	.nonnegative()
	.optional()
	.describe("how long an agent may take to exit before it is killed; default: its `drain.timeout`");

export const errorReply = shape("Error", {
	error: z.object({
		code: z.string().describe("an error code from the errors page"),
		message: z.string().describe("what happened"),
		hint: z.string().describe("how to fix it"),
		details: z.unknown().describe("additional data, depending on the code; null if there is none"),
		correlation_id: z.string().describe("also in the daemon's log and in events"),
	}),
});
/** The body of every failed request. */
export type ErrorJson = z.output<typeof errorReply>;
