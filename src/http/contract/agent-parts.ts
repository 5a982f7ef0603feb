/** The parts of an agent, as the API describes them: its exits, usage, resources, health and environment. */

import { z } from "zod";
import { ENV_SOURCES } from "../../core/environment.js";
import { EXIT_CAUSES } from "../../core/exit.js";
import { HEALTH_ACTIONS } from "../../core/health.js";
import { ON_LOST_CHOICES, PLACEMENT_STATES } from "../../core/lease.js";
import { POLICY_STATES } from "../../core/states.js";
import { listOf, time } from "./shapes.js";

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

export const usage = z
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

export const resources = z
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

export const healthCheck = z
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

export const fileWatch = z
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

export const hibernation = z
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

export const environment = z
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

export const crashState = z
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

export const keyboard = z
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

export const placement = z
	.object({
		state: z
			.enum(PLACEMENT_STATES)
			.describe(
				"`held`: it may run on this host; `elsewhere`: another host has its lease; `lost`: that host does not renew it; `down`: an operator took it down on some host; `waiting`: no host has it yet; `unavailable`: unknown, without the database",
			),
		host: z.string().nullable().describe("the host that has its lease"),
		epoch: z.number().nullable().describe("changes with every holder of the lease"),
		on_lost: z.enum(ON_LOST_CHOICES),
		reason: z.string().describe("why it is on its host, or does not run on this one"),
	})
	.readonly()
	.meta({ id: "Placement" });
/** Which host of a cluster runs an agent with `placement`. */
export type PlacementJson = z.output<typeof placement>;
