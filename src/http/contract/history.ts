/** The routes of history: runs, activity, usage and events of a time window. All answers are bounded. */

import { z } from "zod";
import { EXIT_CAUSES } from "../../core/exit.js";
import { WAIT_KINDS } from "../../core/history.js";
import { exit } from "./agent-parts.js";
import { defineRoutes } from "./route.js";
import { agentParams, listOf, orNull, shape, time } from "./shapes.js";

const seconds = z.number().describe("seconds since 1970");
const text = z.string().max(500).optional();

const agentHistory = shape("AgentHistory", {
	id: z.string(),
	runs: listOf(
		z
			.tuple([
				seconds,
				seconds.nullable(),
				z.enum(EXIT_CAUSES).nullable(),
				z.enum(["clean", "transient", "flapping"]).nullable(),
			])
			.readonly(),
	).describe("start, end (null while it runs), cause and class of the exit"),
	work: listOf(z.tuple([seconds, seconds]).readonly()).describe("when it was busy: start, end"),
	waits: listOf(z.tuple([seconds, seconds, z.enum(WAIT_KINDS)]).readonly()).describe(
		"when it waited for a person, a usage limit or its restart: start, end, kind",
	),
	restarts: z.number().describe("within the time window"),
});
/** The runs, work and waits of an agent in a time window. */
export type AgentHistoryJson = z.output<typeof agentHistory>;

const run = shape("Run", {
	number: orNull(z.number(), "increases with each exit on this host; null while it runs"),
	run_id: z.string(),
	started_at: orNull(time, "null until the start is confirmed"),
	ended_at: orNull(time, "null while it runs"),
	uptime_ms: z.number().nullable(),
	exit: exit.nullable(),
	decision: z
		.object({
			action: z
				.string()
				.describe(
					"`restart`, `park`, `halt`, `stop`, `complete`, `ask_operator`, or `none` for a requested stop",
				),
			delay_ms: orNull(z.number(), "of a restart, or of a parked agent"),
			reason: z.string(),
		})
		.readonly()
		.nullable()
		.describe("null while it runs, and if the event is no longer stored"),
});
/** One run of an agent, how it ended, and what Reeve did then. */
export type RunJson = z.output<typeof run>;

const usageNumbers = z.object({
	input: z.number(),
	output: z.number(),
	cache_read: z.number(),
	cache_write: z.number(),
	usd: orNull(z.number(), "null if the CLI does not report a cost"),
});

const usageRow = usageNumbers
	.extend({
		day: z.string().describe("local date of the host: `2031-04-05`"),
		agent: z.string(),
		account: z.string().describe("the agent's id if it has no `account`"),
	})
	.readonly()
	.meta({ id: "UsageRow" });
/** The usage of an agent on one day. */
export type UsageRowJson = z.output<typeof usageRow>;

const account = shape("Account", {
	account: z.string(),
	agents: listOf(z.string()),
	limited: z.boolean(),
	reason: z.string().nullable(),
	until: orNull(time, "when the limit should lift; null if not limited or unknown"),
});
/** An account, its agents and its usage limit. */
export type AccountJson = z.output<typeof account>;

const budget = shape("Budget", {
	of: z.enum(["agent", "project", "account"]),
	name: z.string().describe("the agent's id, or the name of the project or account"),
	tokens_per_day: z.number().nullable(),
	usd_per_day: z.number().nullable(),
	tokens_today: z.number().describe("of all its agents together"),
	usd_today: orNull(z.number(), "null if no CLI of its agents reports a cost"),
});
/** A daily budget, and how much of it is used. */
export type BudgetJson = z.output<typeof budget>;

const event = shape("Event", {
	seq: z.number(),
	at: time,
	type: z.string(),
	agent: z.string().optional(),
	task: z.string().optional(),
	plan: z.string().optional(),
	run_id: z.string().optional(),
	correlation_id: z.string().optional(),
	data: z.record(z.string(), z.unknown()).describe("depends on the type: see the events page"),
});

export const historyRoutes = defineRoutes({
	"GET /api/v1/history": {
		summary: "Returns the runs, work and waits of all agents in the last hours, as compact series.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({
			hours: z.coerce.number().int().min(1).max(168).default(24),
			project: text.describe("only agents of this project"),
			agent: text.describe("only this agent"),
		}),
		reply: z.object({
			from: seconds,
			to: seconds,
			complete: z
				.boolean()
				.describe("false if older events are no longer stored or were left out: see `from`"),
			agents: listOf(agentHistory),
		}),
		errors: [],
	},
	"GET /api/v1/agents/:id/runs": {
		summary: "Lists the runs of an agent, newest first, with their exits and Reeve's decisions.",
		access: "read",
		stores: "never",
		limited: "path",
		params: agentParams,
		query: z.object({
			limit: z.coerce.number().int().min(1).max(200).default(50),
			before: z.coerce.number().int().optional().describe("the `next` of the previous page"),
		}),
		reply: z.object({ runs: listOf(run), next: z.number().nullable() }),
		errors: ["agent_not_found"],
	},
	"GET /api/v1/usage": {
		summary: "Returns tokens and cost by day, agent and account, and the state of each account.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({ days: z.coerce.number().int().min(1).max(31).default(7) }),
		reply: z.object({
			today: z.string(),
			days: listOf(usageRow).describe("only days with usage; newest first"),
			accounts: listOf(account),
			budgets: listOf(budget)
				.optional()
				.describe("those that the fleet files set; older daemons do not send it"),
		}),
		errors: [],
	},
	"GET /api/v1/events/list": {
		summary: "Lists events of a time window, newest first.",
		access: "read",
		stores: "never",
		limited: "filtered",
		query: z.object({
			since: z.iso.datetime({ offset: true }).optional().describe("at or after this time"),
			until: z.iso.datetime({ offset: true }).optional().describe("before this time"),
			before: z.coerce.number().int().min(1).optional().describe("the `next` of the previous page"),
			type: text.describe(
				"only these types, such as `agent.exited,task.`; a trailing dot selects a group",
			),
			agent: text.describe("only events of this agent"),
			task: text.describe("only events of this task"),
			plan: text.describe("only events of this plan"),
			limit: z.coerce.number().int().min(1).max(500).default(100),
		}),
		reply: z.object({
			events: listOf(event),
			next: orNull(
				z.number(),
				"the `before` of the next page; null at the end. A page may be short although there are more events: each request checks a limited number.",
			),
		}),
		errors: [],
	},
});
