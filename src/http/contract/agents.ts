/** What can be asked of agents. */

import { z } from "zod";
import { KNOWN_CAUSES } from "../../core/adapter.js";
import { EXIT_CAUSES } from "../../core/exit.js";
import { SIGN_SOURCES } from "../../core/sign.js";
import {
	ACTIVITIES,
	AGENT_KINDS,
	CIRCUIT_STATES,
	HEALTH_STATES,
	HOLDS,
	POLICY_STATES,
	PROCESS_STATES,
} from "../../core/states.js";
import { defineRoutes } from "./route.js";
import { agentParams, listOf, scopeParams, stopped, time, timeoutMs } from "./shapes.js";

const exit = z
	.object({
		code: z.number().nullable(),
		signal: z.string().nullable(),
		class: z.enum(["clean", "transient", "flapping"]).nullable(),
		cause: z.enum(EXIT_CAUSES),
		at: time,
		uptime_ms: z.number(),
		reason: z.string(),
	})
	.readonly()
	.meta({ id: "Exit" });
export type ExitJson = z.output<typeof exit>;

const usage = z
	.object({
		tokens_today: z.number().describe("of all kinds, on this day of the host"),
		usd_today: z.number().nullable().describe("as its CLI tells it; null where it does not"),
		tokens_per_day: z.number().nullable().describe("its budget"),
		usd_per_day: z.number().nullable().describe("its budget"),
		held_until: time.nullable().describe("its budget is spent; it may do nothing until then"),
	})
	.readonly()
	.meta({ id: "Usage" });
export type UsageJson = z.output<typeof usage>;

const agentShape = z.object({
	id: z.string(),
	agent_id: z.string().describe("the same as `id`"),
	project: z.string(),
	agent: z.string(),
	kind: z.enum(AGENT_KINDS),
	backend: z.string(),
	adapter: z.string().describe("built in, or one of the fleet file's own"),
	desired: z.enum(["up", "down"]),
	process: z.enum(PROCESS_STATES),
	policy: z.enum(POLICY_STATES),
	activity: z.enum(ACTIVITIES),
	activity_source: z.enum(SIGN_SOURCES).nullable().describe("how the activity is known"),
	activity_at: time.nullable().describe("since when it is known"),
	activity_detail: z.string().nullable().describe("in the words of its CLI"),
	turn_failure: z
		.enum(KNOWN_CAUSES)
		.nullable()
		.describe("why its last turn failed, until another one begins; null where that is not known"),
	circuit: z.enum(CIRCUIT_STATES),
	health: z.enum(HEALTH_STATES),
	pid: z.number().nullable(),
	run_id: z.string().nullable(),
	started_at: time.nullable(),
	uptime_ms: z.number().nullable(),
	restarts: z.number(),
	consecutive_failures: z
		.number()
		.describe("of calls in a row, or of flapping exits for a session"),
	last_failure_at: time.nullable().describe("of a call"),
	last_success_at: time.nullable().describe("of a call"),
	circuit_open_until: time.nullable(),
	processes: z.number().describe("how many serve it now"),
	last_exit: exit.nullable(),
	next_restart_at: time.nullable(),
	waiting: z.boolean().describe("it ended by itself; somebody is to say what comes next"),
	ready: z.boolean(),
	conversation: z
		.string()
		.nullable()
		.describe("the conversation that it takes up when it is started again"),
	usage: usage.nullable().describe("null for an agent that tells nothing of it"),
	reason: z.string().describe("why it is as it is, in words"),
	host: z.string(),
	fleet_file: z.string(),
});

/** One agent, as `reeve ps --json` shows it. */
const agent = agentShape.readonly().meta({ id: "Agent" });
export type AgentJson = z.output<typeof agent>;

const agentDetail = agentShape
	.extend({
		exits: listOf(exit).describe("newest first"),
		crash: z
			.object({ state: z.unknown(), settings: z.unknown(), on_clean_exit: z.string() })
			.readonly()
			.describe("the crash policy's memory and settings, as the library knows them"),
		log_dir: z.string(),
		depends_on: listOf(z.string()),
	})
	.readonly()
	.meta({ id: "AgentDetail" });
/** One agent with its past. */
export type AgentDetailJson = z.output<typeof agentDetail>;

const START_OUTCOMES = [
	"started",
	"already_running",
	"failed",
	"halted",
	"stopped",
	"over_budget",
	"waiting",
	"changed",
] as const;

export const started = z
	.object({
		id: z.string(),
		outcome: z
			.enum(START_OUTCOMES)
			.describe("`changed`: it runs on with its old settings until a reload"),
		reason: z.string(),
	})
	.readonly()
	.meta({ id: "Started" });
export type StartedJson = z.output<typeof started>;

const stoppedAgents = z.object({ agents: listOf(stopped) });

export const agentRoutes = defineRoutes({
	"GET /api/v1/agents": {
		summary: "Every configured agent, called or not, with its state.",
		access: "read",
		agents: "any",
		query: z.object({
			project: z.string().optional().describe("only of this project"),
			kind: z.enum(AGENT_KINDS).optional(),
			process: z.enum(PROCESS_STATES).optional(),
			policy: z.enum(POLICY_STATES).optional(),
			limit: z.coerce.number().int().min(1).max(1_000).optional().describe("all when left out"),
			after: z.string().max(200).optional().describe("the `next` of the page before"),
		}),
		headers: z.object({
			"if-none-match": z
				.string()
				.optional()
				.describe("the `etag` of an answer before: 304 if nothing has happened since"),
		}),
		reply: z.object({
			agents: listOf(agent),
			next: z.string().nullable().optional().describe("the `after` of the next page, with `limit`"),
		}),
		errors: [],
	},
	"GET /api/v1/agents/:id": {
		summary: "One agent with its recent exits and what the crash policy remembers.",
		access: "read",
		agents: "itself",
		params: agentParams,
		reply: agentDetail,
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:scope/up": {
		summary: "Brings up agents that the daemon knows; a fleet file is taken on with `fleet/up`.",
		access: "operate",
		params: scopeParams,
		reply: z.object({ agents: listOf(started) }),
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:scope/down": {
		summary: "Stops agents and keeps them down until somebody wants them up.",
		access: "operate",
		params: scopeParams,
		body: z.object({ timeout_ms: timeoutMs }),
		reply: stoppedAgents,
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:scope/restart": {
		summary: "Stops agents and starts them again.",
		access: "operate",
		params: scopeParams,
		body: z.object({
			fresh: z.boolean().default(false).describe("begin a new conversation"),
			timeout_ms: timeoutMs,
		}),
		reply: stoppedAgents,
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:id/resume": {
		summary:
			"Lets a halted agent start over, its history of exits forgotten, and closes its circuit. One that is well and waits for its account or its budget goes on, with its history.",
		access: "operate",
		params: agentParams,
		reply: z.object({
			from: z.enum(POLICY_STATES).describe("the state it was in"),
			circuit_from: z.enum(CIRCUIT_STATES).describe("what its circuit was"),
			released: listOf(z.enum(HOLDS)).describe(
				"what kept it and does no more: the usage limit of its account, its budget of the day",
			),
		}),
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:id/answer": {
		summary: "Says what follows for an agent that ended by itself and waits.",
		access: "operate",
		params: agentParams,
		body: z.object({ answer: z.enum(["fresh", "continue", "stop"]) }),
		reply: z.object({ outcome: z.enum(START_OUTCOMES) }),
		errors: ["agent_not_found", "not_waiting"],
	},
	"POST /api/v1/agents/:id/send": {
		summary:
			"Sends a text to an agent. Where its adapter knows when it is ready, the text is accepted and typed then; else it is typed at once, exactly as it is.",
		access: "operate",
		params: agentParams,
		body: z.object({
			text: z.string(),
			submit: z.boolean().default(true).describe("press Enter after it"),
		}),
		reply: z.object({
			bytes: z.number(),
			message: z
				.string()
				.nullable()
				.optional()
				.describe("its id in the inbox; null when it was typed at once"),
			process: z
				.enum(PROCESS_STATES)
				.optional()
				.describe("of the agent: what is accepted for one that is stopped waits until it runs"),
			desired: z.enum(["up", "down"]).optional().describe("whether it is to run"),
		}),
		errors: ["agent_not_found", "not_running", "no_terminal", "inbox_full"],
	},
	"GET /api/v1/agents/:id/screen": {
		summary: "The text on an agent's screen.",
		access: "read",
		params: agentParams,
		reply: z.object({ text: z.string() }),
		errors: ["agent_not_found", "not_running", "no_terminal"],
	},
});
