/** The routes of agents. */

import { z } from "zod";
import { crashPolicySchema } from "../../config/spec-schema.js";
import { TURN_CAUSES } from "../../core/adapter.js";
import { ENV_SOURCES } from "../../core/environment.js";
import { EXIT_CAUSES } from "../../core/exit.js";
import { HEALTH_ACTIONS } from "../../core/health.js";
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
import { agentQuestion, finished, status } from "./attention.js";
import { defineRoutes } from "./route.js";
import {
	agentParams,
	listOf,
	START_OUTCOMES,
	scopeParams,
	stopped,
	time,
	timeoutMs,
} from "./shapes.js";

export const exit = z
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
/** An agent's exit. */
export type ExitJson = z.output<typeof exit>;

const usage = z
	.object({
		tokens_today: z.number().describe("tokens of all kinds today (local time of the host)"),
		usd_today: z
			.number()
			.nullable()
			.describe("as reported by its CLI; null if it does not report a cost"),
		tokens_per_day: z.number().nullable().describe("its budget"),
		usd_per_day: z.number().nullable().describe("its budget"),
		held_until: time.nullable().describe("set while its budget is used up: when it may continue"),
	})
	.readonly()
	.meta({ id: "Usage" });
export type UsageJson = z.output<typeof usage>;

const resources = z
	.object({
		memory_bytes: z.number(),
		memory: z
			.enum(["cgroup", "rss"])
			.describe(
				"`cgroup`: the memory of its control group without unused file cache. `rss`: the resident memory of its processes, which counts shared pages more than once",
			),
		cpu_percent: z
			.number()
			.nullable()
			.describe("100 is one CPU; null until it was measured for a few seconds"),
		processes: z.number(),
		at: time,
	})
	.readonly()
	.meta({ id: "Resources" });
/** CPU and memory of an agent's process tree. */
export type ResourcesJson = z.output<typeof resources>;

const healthCheck = z
	.object({
		state: z
			.enum(["pending", "passing", "failing", "unhealthy"])
			.describe(
				"`pending` before the first check; `failing` until it has failed `failures` times in a row",
			),
		at: time.nullable().describe("when the last check ended"),
		error: z.string().nullable().describe("why the last check failed; null if it succeeded"),
		consecutive_failures: z.number(),
		failures: z.number().describe("how many failures in a row make the agent unhealthy"),
		unhealthy_since: time.nullable(),
		action: z.enum(HEALTH_ACTIONS),
		waits: z.string().nullable().describe("why an unhealthy agent is not restarted yet, as text"),
	})
	.readonly()
	.meta({ id: "HealthCheck" });
/** The checks of an agent's health since its current start. */
export type HealthCheckJson = z.output<typeof healthCheck>;

const fileWatch = z
	.object({
		folders: z.number().describe("how many folders are watched"),
		problem: z
			.string()
			.nullable()
			.describe("why changes of some files are not noticed, as text; null if all are"),
		restarted_at: time.nullable().describe("the last restart because of a change"),
		files: z.array(z.string()).readonly().describe("the files that caused it"),
		too_many: z
			.boolean()
			.describe("the files keep changing: the next restart waits, because there were too many"),
	})
	.readonly()
	.meta({ id: "FileWatch" });
/** The files of an agent with `watch`. */
export type FileWatchJson = z.output<typeof fileWatch>;

const hibernation = z
	.object({
		state: z
			.enum(["awake", "stopping", "hibernated"])
			.describe("`stopping` from the decision until its process is gone"),
		after_ms: z.number().nullable().describe("`hibernate.after`; null if that was removed since"),
		since: time.nullable().describe("the time of the decision to hibernate"),
		idle_ms: z
			.number()
			.nullable()
			.describe("how long it has been idle, or had been idle when it hibernated"),
		freed_bytes: z
			.number()
			.nullable()
			.describe("the memory of its processes before they were stopped; null if unknown"),
		why_awake: z.string().nullable().describe("why it does not hibernate yet, as text"),
	})
	.readonly()
	.meta({ id: "Hibernation" });
/** Whether an agent hibernates, and why not. */
export type HibernationJson = z.output<typeof hibernation>;

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
	activity_source: z.enum(SIGN_SOURCES).nullable().describe("how the activity was detected"),
	activity_at: time.nullable().describe("when the activity was detected"),
	activity_detail: z.string().nullable().describe("text from its CLI"),
	turn_failure: z
		.enum(TURN_CAUSES)
		.nullable()
		.describe(
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
	pid: z.number().nullable(),
	run_id: z.string().nullable(),
	started_at: time.nullable(),
	uptime_ms: z.number().nullable(),
	restarts: z.number(),
	consecutive_failures: z
		.number()
		.describe("consecutive failed calls, or flapping exits for a session"),
	last_failure_at: time.nullable().describe("of a run or a call, whichever is later"),
	last_success_at: time.nullable().describe("of a call"),
	circuit_open_until: time.nullable(),
	processes: z.number().describe("number of running worker processes"),
	last_exit: exit.nullable(),
	next_restart_at: time.nullable(),
	waiting: z.boolean().describe("it exited cleanly and waits for the operator's decision"),
	ready: z.boolean(),
	blocked: z
		.string()
		.nullable()
		.describe(
			"why an agent that it waits for cannot become ready or complete without an operator; null if each of them can",
		),
	conversation: z.string().nullable().describe("the conversation that its next start resumes"),
	usage: usage.nullable().describe("null if the agent does not report it"),
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

const environment = z
	.object({
		variables: listOf(
			z
				.object({
					name: z.string(),
					source: z
						.enum(ENV_SOURCES)
						.describe("the layer that sets it; later layers take precedence"),
					set: z.boolean().describe("false for a variable of `pass_env` without a value"),
				})
				.readonly(),
		).describe("names only, never values"),
		env_file: z.string().nullable(),
		warnings: listOf(z.string()).describe("warnings about lines of the env file"),
	})
	.readonly()
	.meta({ id: "Environment" });
export type EnvironmentJson = z.output<typeof environment>;

const crashState = z
	.object({
		policy: z.enum(POLICY_STATES),
		running_ms: z.number(),
		exits: listOf(
			z
				.object({
					class: z.enum(["clean", "transient", "flapping"]),
					at_running_ms: z.number(),
					counted: z.boolean(),
				})
				.readonly(),
		),
		flaps: z.number(),
		failures: z
			.number()
			.exactOptional()
			.describe("failed exits since the last stable run or clean exit"),
		budget_spent_at: listOf(z.number()),
		out_of_memory_at: listOf(z.number()),
		waits: z.object({ limit: z.number(), trouble: z.number() }).readonly(),
	})
	.readonly()
	.describe("times are the agent's own running time, in milliseconds");

const keyboard = z
	.object({
		by: z.enum(["owner", "token", "session"]).describe("`session` is a browser"),
		who: z.string().describe("`uid 1000` or `token ID`"),
		label: z.string().describe("the same for people: `token laptop`, `a browser`"),
		since: time,
	})
	.readonly()
	.meta({ id: "Keyboard" });
/** The client that types into an agent's terminal. */
export type KeyboardJson = z.output<typeof keyboard>;

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

export const started = z
	.object({
		id: z.string(),
		outcome: z
			.enum(START_OUTCOMES)
			.describe(
				"`old_settings`: it keeps running with its old settings until a reload; `not_gone`: processes of its last run cannot be proven gone, so it is not started",
			),
		reason: z.string(),
		pid: z.number().nullable().describe("of the running process"),
	})
	.readonly()
	.meta({ id: "Started" });
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

const setting = z
	.object({
		key: z.string().describe("as in the fleet file: `crash_policy.window`"),
		value: z
			.string()
			.nullable()
			.describe("as written in the fleet file; null for no value. Secret values are `***`"),
		source: z
			.enum(["agent", "project", "account", "defaults", "default", "applied"])
			.describe(
				"where the fleet file sets it; `default` is Reeve's default, `applied` a value that the file has changed since",
			),
		at: z.string().nullable().describe("`FILE:LINE`; null if no line of the file sets it"),
	})
	.readonly()
	.meta({ id: "Setting" });
/** One setting of an agent, and its source. */
export type SettingJson = z.output<typeof setting>;

const agentConfig = z
	.object({
		id: z.string(),
		fleet_file: z.string(),
		settings: listOf(setting),
		problem: z
			.string()
			.nullable()
			.describe("why sources are missing: the file cannot be read, or has changed since"),
	})
	.readonly()
	.meta({ id: "AgentConfig" });
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
