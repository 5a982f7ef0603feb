/** The routes of agents. */

import { z } from "zod";
import { crashPolicySchema } from "../../config/spec-schema.js";
import { TURN_CAUSES } from "../../core/adapter.js";
import { SIGN_SOURCES } from "../../core/sign.js";
import {
	ACTIVITIES,
	AGENT_KINDS,
	CIRCUIT_STATES,
	CLEAN_EXIT_CHOICES,
	HEALTH_STATES,
	HOLDS,
	POLICY_STATES,
	PROCESS_STATES,
} from "../../core/states.js";
import {
	crashState,
	environment,
	exit,
	fileWatch,
	healthCheck,
	hibernation,
	keyboard,
	placement,
	resources,
	usage,
} from "./agent-parts.js";
import { agentQuestion, finished, status } from "./attention.js";
import { defineRoutes } from "./route.js";
import {
	agentParams,
	listOf,
	orNull,
	START_OUTCOMES,
	scopeParams,
	shape,
	stopped,
	time,
	timeoutMs,
} from "./shapes.js";

const agentShape = z.object({
	id: z.string(),
	agent_id: z.string().describe("same as `id`"),
	project: z.string(),
	agent: z.string(),
	kind: z.enum(AGENT_KINDS),
	backend: z.string(),
	adapter: z.string().describe("built in, or defined in the fleet file"),
	desired: z.enum(["up", "down"]),
	process: z.enum(PROCESS_STATES),
	policy: z.enum(POLICY_STATES),
	activity: z.enum(ACTIVITIES),
	activity_source: orNull(z.enum(SIGN_SOURCES), "how the activity was detected"),
	activity_at: orNull(time, "when the activity was detected"),
	activity_detail: orNull(z.string(), "text from its CLI"),
	turn_failure: orNull(
		z.enum(TURN_CAUSES),
		"why its last turn failed, until the next turn starts; null if there is no known failure",
	),
	circuit: z.enum(CIRCUIT_STATES),
	health: z
		.enum(HEALTH_STATES)
		.describe(
			"the worst of its policy state (degraded, or halted: `unhealthy`), its recent calls and its health check",
		),
	hibernation: hibernation
		.nullable()
		.optional()
		.describe("null for an agent that never hibernates; older daemons do not send it"),
	health_check: healthCheck
		.nullable()
		.optional()
		.describe(
			"null without `health`, and while the agent does not run; older daemons do not send it",
		),
	file_watch: fileWatch
		.nullable()
		.optional()
		.describe("null without `watch`, and while the agent is stopped; older daemons do not send it"),
	placement: placement
		.nullable()
		.optional()
		.describe("null without `placement`; older daemons do not send it"),
	pid: z.number().nullable(),
	run_id: z.string().nullable(),
	started_at: time.nullable(),
	uptime_ms: z.number().nullable(),
	restarts: z.number(),
	consecutive_failures: z
		.number()
		.describe("consecutive failed calls, or flapping exits for a session"),
	last_failure_at: orNull(time, "of a run or a call, whichever is later"),
	last_success_at: orNull(time, "of a call"),
	circuit_open_until: time.nullable(),
	processes: z.number().describe("number of running worker processes"),
	last_exit: exit.nullable(),
	next_restart_at: time.nullable(),
	waiting: z.boolean().describe("it exited cleanly and waits for the operator's decision"),
	ready: z.boolean(),
	blocked: orNull(
		z.string(),
		"why an agent that it waits for cannot become ready or complete without an operator; null if each of them can",
	),
	conversation: orNull(z.string(), "the conversation that its next start resumes"),
	usage: orNull(usage, "null if the agent does not report it"),
	resources: resources
		.nullable()
		.describe("null if it does not run, or while no client follows events with `live=resources`"),
	reason: z.string().describe("the reason for its state, as text"),
	status: status.describe("the one state to show, computed from everything else"),
	question: agentQuestion.nullable().describe("its open question; null if there is none"),
	finished: finished
		.nullable()
		.describe("its last completed turn, until the next one starts; null if there is none"),
	host: z.string(),
	fleet_file: z.string(),
});

/** One agent, as `reeve ps --json` shows it. */
const agent = agentShape.readonly().meta({ id: "Agent" });
/** An agent as `reeve ps --json` and `GET /api/v1/agents` show it. */
export type AgentJson = z.output<typeof agent>;

const agentDetail = agentShape
	.extend({
		keyboard: keyboard
			.nullable()
			.describe("the client that types into its terminal at the moment; null if no client does"),
		exits: listOf(exit).describe("newest first"),
		crash: z
			.object({
				state: crashState,
				settings: crashPolicySchema.nullable().describe("null for call agents"),
				on_clean_exit: z.enum(CLEAN_EXIT_CHOICES),
			})
			.readonly()
			.describe("the state and settings of the crash policy"),
		log_dir: z.string(),
		last_output: listOf(z.string()).describe(
			"the last output lines of a stopped agent, with secrets removed; empty while it runs",
		),
		depends_on: listOf(z.string()).describe("`ID`, or `ID (completed)` if it must have completed"),
		environment: environment.describe("the environment of its next start"),
	})
	.readonly()
	.meta({ id: "AgentDetail" });
/** One agent with its recent exits. */
export type AgentDetailJson = z.output<typeof agentDetail>;

export const started = shape("Started", {
	id: z.string(),
	outcome: z
		.enum(START_OUTCOMES)
		.describe(
			"`old_settings`: it keeps running with its old settings until a reload; `not_gone`: processes of its last run cannot be proven gone, so it is not started",
		),
	reason: z.string(),
	pid: orNull(z.number(), "of the running process"),
});
/** The effect of `up` on an agent. */
export type StartedJson = z.output<typeof started>;

export const restarted = stopped
	.unwrap()
	.extend({
		start: started.nullable().describe("the outcome of the start; null if none was attempted"),
	})
	.readonly()
	.meta({ id: "Restarted" });
export type RestartedJson = z.output<typeof restarted>;

const stoppedAgents = z.object({ agents: listOf(stopped) });

const setting = shape("Setting", {
	key: z.string().describe("as in the fleet file: `crash_policy.window`"),
	value: orNull(
		z.string(),
		"as written in the fleet file; null for no value. Secret values are `***`",
	),
	source: z
		.enum(["agent", "project", "account", "defaults", "default", "applied"])
		.describe(
			"where the fleet file sets it; `default` is Reeve's default, `applied` a value that the file has changed since",
		),
	at: orNull(z.string(), "`FILE:LINE`; null if no line of the file sets it"),
});
/** One setting of an agent, and its source. */
export type SettingJson = z.output<typeof setting>;

const agentConfig = shape("AgentConfig", {
	id: z.string(),
	fleet_file: z.string(),
	settings: listOf(setting),
	problem: orNull(
		z.string(),
		"why sources are missing: the file cannot be read, or has changed since",
	),
});
/** The effective settings of an agent. */
export type AgentConfigJson = z.output<typeof agentConfig>;

export const agentRoutes = defineRoutes({
	"GET /api/v1/agents": {
		summary: "Lists every configured agent with its state.",
		access: "read",
		stores: "never",
		limited: "filtered",
		agents: "any",
		query: z.object({
			project: z.string().optional().describe("only agents of this project"),
			kind: z.enum(AGENT_KINDS).optional(),
			process: z.enum(PROCESS_STATES).optional(),
			policy: z.enum(POLICY_STATES).optional(),
			ids: z
				.string()
				.max(10_000)
				.optional()
				.describe("only these agents, as `project:agent`, separated by commas"),
			limit: z.coerce.number().int().min(1).max(1_000).optional().describe("default: all"),
			after: z.string().max(200).optional().describe("the `next` of the previous page"),
		}),
		headers: z.object({
			"if-none-match": z
				.string()
				.optional()
				.describe("the `etag` of an earlier response: 304 if nothing has changed since"),
		}),
		reply: z.object({
			agents: listOf(agent),
			seq: z
				.number()
				.optional()
				.describe(
					"the number of the last event before the list, to continue with the events after it; older daemons do not send it",
				),
			next: z.string().nullable().optional().describe("the `after` of the next page, with `limit`"),
		}),
		errors: [],
	},
	"GET /api/v1/agents/:id": {
		summary: "Returns one agent with its recent exits and the state of its crash policy.",
		access: "read",
		stores: "never",
		limited: "path",
		agents: "itself",
		params: agentParams,
		reply: agentDetail,
		errors: ["agent_not_found"],
	},
	"GET /api/v1/agents/:id/config": {
		summary: "Returns the effective settings of an agent with their sources, without secrets.",
		access: "read",
		stores: "never",
		limited: "path",
		params: agentParams,
		reply: agentConfig,
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:scope/up": {
		summary: "Starts agents that the daemon already knows. Use `fleet/up` to apply a fleet file.",
		access: "operate",
		stores: "always",
		limited: "path",
		params: scopeParams,
		reply: z.object({ agents: listOf(started) }),
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:scope/down": {
		summary: "Stops agents. They stay down until they are started again.",
		access: "operate",
		stores: "always",
		limited: "path",
		params: scopeParams,
		body: z.object({ timeout_ms: timeoutMs }),
		reply: stoppedAgents,
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:scope/restart": {
		summary: "Restarts agents.",
		access: "operate",
		stores: "always",
		limited: "path",
		params: scopeParams,
		body: z.object({
			fresh: z.boolean().default(false).describe("start a new conversation"),
			timeout_ms: timeoutMs,
		}),
		reply: z.object({ agents: listOf(restarted) }),
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:id/resume": {
		summary:
			"Resumes a halted agent, clears its exit history and closes its circuit. A healthy agent that waits for its account or budget continues, and keeps its history.",
		access: "operate",
		stores: "always",
		limited: "path",
		params: agentParams,
		reply: z.object({
			from: z.enum(POLICY_STATES).describe("its previous state"),
			outcome: z
				.enum(START_OUTCOMES)
				.nullable()
				.optional()
				.describe("the outcome of its start; null for a call agent"),
			circuit_from: z.enum(CIRCUIT_STATES).describe("the previous state of its circuit"),
			released: listOf(z.enum(HOLDS)).describe(
				"the holds that were released: a turn that failed without a login, the usage limit of its account, its daily budget",
			),
		}),
		errors: ["agent_not_found"],
	},
	"POST /api/v1/agents/:id/answer": {
		summary: "Decides what happens to an agent that exited cleanly.",
		access: "operate",
		stores: "always",
		limited: "path",
		params: agentParams,
		body: z.object({ answer: z.enum(["fresh", "continue", "stop"]) }),
		reply: z.object({ outcome: z.enum(START_OUTCOMES) }),
		errors: ["agent_not_found", "not_waiting"],
	},
});
