/** The parts of an agent, as the API describes them: its exits, usage, resources, health and environment. */

import { z } from "zod";
import { ENV_SOURCES } from "../../core/environment.js";
import { EXIT_CAUSES } from "../../core/exit.js";
import { HEALTH_ACTIONS } from "../../core/health.js";
import { ON_LOST_CHOICES, PLACEMENT_STATES } from "../../core/lease.js";
import { POLICY_STATES } from "../../core/states.js";
import { listOf, orNull, shape, time } from "./shapes.js";

export const exit = shape("Exit", {
	code: z.number().nullable(),
	signal: z.string().nullable(),
	class: z.enum(["clean", "transient", "flapping"]).nullable(),
	cause: z.enum(EXIT_CAUSES),
	at: time,
	uptime_ms: z.number(),
	reason: z.string(),
});
/** An agent's exit. */
export type ExitJson = z.output<typeof exit>;

export const usage = shape("Usage", {
	tokens_today: z.number().describe("tokens of all kinds today (local time of the host)"),
	usd_today: orNull(z.number(), "as reported by its CLI; null if it does not report a cost"),
	tokens_per_day: orNull(z.number(), "its budget"),
	usd_per_day: orNull(z.number(), "its budget"),
	held_until: orNull(time, "set while its budget is used up: when it may continue"),
});
export type UsageJson = z.output<typeof usage>;

export const resources = shape("Resources", {
	memory_bytes: z.number(),
	memory: z
		.enum(["cgroup", "rss"])
		.describe(
			"`cgroup`: the memory of its control group without unused file cache. `rss`: the resident memory of its processes, which counts shared pages more than once",
		),
	cpu_percent: orNull(z.number(), "100 is one CPU; null until it was measured for a few seconds"),
	processes: z.number(),
	at: time,
});
/** CPU and memory of an agent's process tree. */
export type ResourcesJson = z.output<typeof resources>;

export const healthCheck = shape("HealthCheck", {
	state: z
		.enum(["pending", "passing", "failing", "unhealthy"])
		.describe(
			"`pending` before the first check; `failing` until it has failed `failures` times in a row",
		),
	at: orNull(time, "when the last check ended"),
	error: orNull(z.string(), "why the last check failed; null if it succeeded"),
	consecutive_failures: z.number(),
	failures: z.number().describe("how many failures in a row make the agent unhealthy"),
	unhealthy_since: time.nullable(),
	action: z.enum(HEALTH_ACTIONS),
	waits: orNull(z.string(), "why an unhealthy agent is not restarted yet, as text"),
});
/** The checks of an agent's health since its current start. */
export type HealthCheckJson = z.output<typeof healthCheck>;

export const fileWatch = shape("FileWatch", {
	folders: z.number().describe("how many folders are watched"),
	problem: orNull(
		z.string(),
		"why changes of some files are not noticed, as text; null if all are",
	),
	restarted_at: orNull(time, "the last restart because of a change"),
	files: z.array(z.string()).readonly().describe("the files that caused it"),
	too_many: z
		.boolean()
		.describe("the files keep changing: the next restart is delayed, because there were too many"),
});
/** The files of an agent with `watch`. */
export type FileWatchJson = z.output<typeof fileWatch>;

export const hibernation = shape("Hibernation", {
	state: z
		.enum(["awake", "stopping", "hibernated"])
		.describe("`stopping` from the decision until its process is gone"),
	after_ms: orNull(z.number(), "`hibernate.after`; null if that was removed since"),
	since: orNull(time, "the time of the decision to hibernate"),
	idle_ms: orNull(z.number(), "how long it has been idle, or had been idle when it hibernated"),
	freed_bytes: orNull(
		z.number(),
		"the memory of its processes before they were stopped; null if unknown",
	),
	why_awake: orNull(z.string(), "why it does not hibernate yet, as text"),
});
/** Whether an agent hibernates, and why not. */
export type HibernationJson = z.output<typeof hibernation>;

export const environment = shape("Environment", {
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
});
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

export const keyboard = shape("Keyboard", {
	by: z.enum(["owner", "token", "session"]).describe("`session` is a browser"),
	who: z.string().describe("`uid 1000` or `token ID`"),
	label: z.string().describe("the same for people: `token laptop`, `a browser`"),
	since: time,
});
/** The client that types into an agent's terminal. */
export type KeyboardJson = z.output<typeof keyboard>;

export const placement = shape("Placement", {
	state: z
		.enum(PLACEMENT_STATES)
		.describe(
			"`held`: it may run on this host; `elsewhere`: another host has its lease; `lost`: that host does not renew it; `down`: an operator took it down on some host; `waiting`: no host has it yet; `unavailable`: unknown, without the database",
		),
	host: orNull(z.string(), "the host that has its lease"),
	epoch: orNull(z.number(), "changes with every holder of the lease"),
	on_lost: z.enum(ON_LOST_CHOICES),
	reason: z.string().describe("why it is on its host, or does not run on this one"),
});
/** Which host of a cluster runs an agent with `placement`. */
export type PlacementJson = z.output<typeof placement>;
