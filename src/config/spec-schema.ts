/**
 * The resolved fleet as it crosses a boundary: sent by a client, stored by the daemon. Keys are in snake_case, like every
 * key that users and programs see; inside, a fleet is a `FleetSpec`. Specs that earlier versions stored in camelCase
 * are still read.
 */

import { z } from "zod";
import {
	CONVERSATION_IDS,
	DIALOG_TIMES,
	DRAIN_STEPS,
	KNOWN_CAUSES,
	TEXT_CAUSES,
	TURN_CAUSES,
	TURN_ENDS,
} from "../core/adapter.js";
import { FAILURE_CHOICES, HALT_CHOICES } from "../core/crash-state.js";
import { HEALTH_ACTIONS } from "../core/health.js";
import { toCamelKeys, toSnakeKeys } from "../core/key-case.js";
import { ON_LOST_CHOICES } from "../core/lease.js";
import { CATCH_UP_CHOICES, OVERLAP_CHOICES } from "../core/schedule.js";
import { STALL_STEPS } from "../core/stall.js";
import {
	ACTIVITIES,
	BACKENDS,
	CLEAN_EXIT_CHOICES,
	DEPENDENCY_CONDITIONS,
	EXTRA_OUTPUT_CHOICES,
	TMPDIR_CHOICES,
} from "../core/states.js";
import type { AgentSpec, FleetSpec, ScheduleSpec } from "./spec.js";

const texts = z.array(z.string()).readonly();
const count = z.number().min(0);
const environment = z.record(z.string(), z.string().nullable()).readonly();

export const crashPolicySchema = z
	.object({
		window_ms: count,
		flap_threshold: count,
		halt_threshold: count,
		history: count,
		transient_delay_ms: count,
		flapping_delay_ms: count,
		// The defaults are for specs that earlier versions stored.
		delay: z
			.object({ initial_ms: count, factor: count, max_ms: count })
			.readonly()
			.nullable()
			.default(null),
		jitter: count,
		budget: z.object({ exits: count, within_ms: count }).readonly(),
		permanent_exit_codes: z.array(z.number()).readonly(),
		halt: z.enum(HALT_CHOICES).default("crash_loop"),
		on_failure: z.enum(FAILURE_CHOICES).default("restart"),
	})
	.readonly();

const signRule = z.object({
	where: z.object({ path: z.string(), match: z.string() }).readonly().exactOptional(),
	activity: z.enum(ACTIVITIES).exactOptional(),
	prompt: z.string().exactOptional(),
	conversation: z.string().exactOptional(),
	in_tool: z.boolean().exactOptional(),
	turn: z.enum(TURN_ENDS).exactOptional(),
	request: z.enum(TURN_ENDS).exactOptional(),
	status: z.string().exactOptional(),
	cause: z.enum(TURN_CAUSES).exactOptional(),
	detail: z.string().exactOptional(),
	resets_at: z.string().exactOptional(),
});

const screen = z.object({
	ready: texts,
	busy: texts,
	waiting_input: texts,
	rate_limited: texts,
	retrying: texts.exactOptional(),
	in_tool: texts.exactOptional(),
	dialogs: z
		.array(
			z.object({
				name: z.string(),
				at: z.enum(DIALOG_TIMES).exactOptional(),
				when: z.string(),
				choose: z.string(),
			}),
		)
		.readonly(),
	questions_replace_input: z.boolean().exactOptional(),
	resumed: texts.exactOptional(),
});

const profile = z.object({
	command: texts.nullable(),
	args: texts,
	seed_args: texts.exactOptional(),
	env: environment,
	own_tmpdir: z.boolean(),
	conversation: z.object({
		id: z.enum(CONVERSATION_IDS),
		fresh: texts,
		resume: texts,
		gone: texts,
		transcript: texts,
		held_open: z.boolean().exactOptional(),
	}),
	files: z.array(z.object({ name: z.string(), text: z.string() })).readonly(),
	seeds: z
		.array(
			z.object({
				file: texts,
				set: z
					.array(
						z.union([
							z.strictObject({ path: texts, value: z.unknown() }),
							z.strictObject({ path: texts, add: z.unknown() }),
						]),
					)
					.readonly(),
			}),
		)
		.readonly(),
	event_rules: z.array(signRule.extend({ event: z.string() })).readonly(),
	line_rules: z.array(signRule).readonly(),
	log: z
		.object({
			files: texts,
			env: z.record(z.string(), z.string()).readonly(),
			unless: z.array(z.object({ file: texts, path: texts })).readonly(),
			rules: z.array(signRule).readonly(),
		})
		.nullable()
		.exactOptional(),
	confirms_prompts: z.boolean(),
	paste: z.boolean(),
	tells_turn_ends: z.boolean(),
	screen: screen.nullable(),
	drain: z.array(z.enum(DRAIN_STEPS)).readonly(),
	exits: z
		.object({
			codes: z.array(z.object({ code: z.number(), cause: z.enum(KNOWN_CAUSES) })).readonly(),
			texts: z
				.array(
					z.object({
						match: z.string(),
						cause: z.enum(TEXT_CAUSES),
						fix: z.string().nullable(),
					}),
				)
				.readonly(),
		})
		.nullable(),
});

const common = {
	id: z.string().min(1).describe("`project:name`"),
	project: z.string(),
	name: z.string(),
	adapter: z.string(),
	profile: profile.nullable().describe("the adapter of the fleet file; null for a built-in one"),
	command: texts.nullable(),
	args: texts,
	cwd: z.string().describe("absolute"),
	env_file: z.string().nullable(),
	pass_env: texts.exactOptional(),
	env: environment.describe("null removes an inherited variable"),
	limits: z
		.object({
			memory_bytes: count.nullable(),
			cpu_percent: count.nullable(),
			pids: count.nullable(),
		})
		.readonly(),
};

const lasting = {
	drain: z.object({ timeout_ms: count }).readonly(),
	depends_on: z
		.array(
			z.union([
				z.string(),
				z.object({ agent: z.string(), condition: z.enum(DEPENDENCY_CONDITIONS) }).readonly(),
			]),
		)
		.readonly()
		.describe("an id means that the agent must be ready"),
	ready: z
		.object({
			log: z.string().nullable(),
			port: count.nullable(),
			http: z.string().optional(),
			command: texts.nullable(),
			delay_ms: count.nullable(),
		})
		.readonly()
		.nullable(),
	health: z
		.object({
			http: z.string().nullable(),
			port: count.nullable(),
			command: texts.nullable(),
			every_ms: count,
			timeout_ms: count,
			failures: count,
			start_period_ms: count,
			action: z.enum(HEALTH_ACTIONS),
			interrupt_turn: z.boolean(),
		})
		.readonly()
		.optional(),
	watch: z.array(z.string()).readonly().optional().describe("absolute paths"),
	crash_policy: crashPolicySchema,
};

const answering = {
	timeout_ms: count,
	retry: z
		.object({
			max_attempts: count,
			initial_backoff_ms: count,
			max_backoff_ms: count,
			jitter: count,
		})
		.readonly(),
	circuit_breaker: z.object({ failure_threshold: count, cooldown_ms: count }).readonly(),
	concurrency: count,
	idempotent: z.boolean(),
	unsafe_actions: texts,
	extra_output: z.enum(EXTRA_OUTPUT_CHOICES),
};

const limited = {
	budget: z
		.object({ usd_per_day: count.nullable(), tokens_per_day: count.nullable() })
		.readonly()
		.exactOptional(),
	shared_budgets: z
		.array(
			z
				.object({
					of: z.enum(["project", "account"]),
					name: z.string(),
					usd_per_day: count.nullable(),
					tokens_per_day: count.nullable(),
				})
				.readonly(),
		)
		.readonly()
		.exactOptional(),
	account: z.string().nullable(),
	usage_limit: z
		.object({
			auto_resume: z.boolean(),
			quiet_hours: z.object({ from_minute: count, to_minute: count }).readonly().nullable(),
			max_wait_ms: count,
		})
		.readonly(),
};

const agent = z
	.discriminatedUnion("kind", [
		z.object({
			kind: z.literal("session"),
			...common,
			...lasting,
			...limited,
			backend: z.enum(BACKENDS),
			terminal: z.boolean(),
			tmpdir: z.enum(TMPDIR_CHOICES).nullable(),
			seed: z.boolean(),
			stall: z
				.object({
					after_ms: count,
					steps: z.array(z.enum(STALL_STEPS)).readonly(),
					nudge: z.string(),
				})
				.readonly(),
			start_timeout_ms: count.nullable().optional(),
			turn_retry: z
				.object({
					max_attempts: count,
					initial_backoff_ms: count,
					max_backoff_ms: count,
					prompt: z.string(),
				})
				.readonly()
				.optional(),
			hibernate: z.object({ after_ms: count }).readonly().optional(),
			on_clean_exit: z.enum(CLEAN_EXIT_CHOICES),
			placement: z
				.object({
					labels: z.record(z.string(), z.string()).readonly(),
					on_lost: z.enum(ON_LOST_CHOICES),
					lease_ms: count,
				})
				.readonly()
				.optional(),
		}),
		z.object({
			kind: z.literal("worker"),
			...common,
			...lasting,
			...answering,
			workers: z.object({ min: count, max: count, idle_ms: count }).readonly(),
		}),
		z.object({
			kind: z.literal("call"),
			...common,
			...answering,
			...limited,
			placement: z
				.object({ labels: z.record(z.string(), z.string()).readonly() })
				.readonly()
				.optional(),
		}),
	])
	.meta({ id: "AgentSpec" });

const scheduleAction = z.discriminatedUnion("type", [
	z.object({ type: z.literal("send"), agent: z.string(), message: z.string() }).readonly(),
	z
		.object({
			type: z.literal("call"),
			agent: z.string(),
			action: z.string(),
			payload: z.string().nullable().describe("as JSON; null for none"),
		})
		.readonly(),
	z
		.object({
			type: z.literal("plan"),
			file: z.string().describe("absolute path of the plan file"),
		})
		.readonly(),
	z.object({ type: z.literal("restart"), agent: z.string() }).readonly(),
]);

/** The keys of a schedule, as the API shows them too. */
export const scheduleShape = {
	id: z.string().min(1).describe("`project:name`"),
	cron: z.string().nullable().describe("null if `every_ms` is set"),
	every_ms: count.nullable(),
	timezone: z.string().nullable().describe("null for the time zone of the daemon"),
	action: scheduleAction,
	overlap: z.enum(OVERLAP_CHOICES),
	jitter_ms: count,
	catch_up: z.enum(CATCH_UP_CHOICES),
};

const schedule = z
	.object({ ...scheduleShape, project: z.string(), name: z.string() })
	.readonly()
	.meta({ id: "ScheduleSpec" });

export const fleetSchema = z
	.object({
		file: z.string().min(1).describe("absolute path of the fleet file"),
		agents: z.array(agent).readonly(),
		schedules: z.array(schedule).readonly().exactOptional(),
	})
	.readonly()
	.meta({ id: "FleetSpec" })
	.describe("the resolved fleet, including the values of environment variables");
export type FleetJson = z.output<typeof fleetSchema>;

export function fleetToJson(fleet: FleetSpec): FleetJson {
	return toSnakeKeys(fleet);
}

export function fleetFromJson(fleet: FleetJson): FleetSpec {
	return toCamelKeys(fleet);
}

/** A spec for the store, and back. Where it cannot be validated, the stored data is returned with the problem. */
export function renderStoredSpec(spec: AgentSpec): unknown {
	return toSnakeKeys(spec);
}

export function readStoredSpec(stored: unknown): {
	readonly spec: AgentSpec;
	readonly problem: string | null;
} {
	const parsed = agent.safeParse(toSnakeKeys(stored));
	if (parsed.success) return { spec: toCamelKeys(parsed.data), problem: null };
	return { spec: toCamelKeys(stored) as AgentSpec, problem: z.prettifyError(parsed.error) };
}

/** A schedule for the store, and back; null with the problem if it cannot be read. */
export function renderStoredSchedule(spec: ScheduleSpec): unknown {
	return toSnakeKeys(spec);
}

export function readStoredSchedule(
	stored: unknown,
):
	| { readonly spec: ScheduleSpec; readonly problem: null }
	| { readonly spec: null; readonly problem: string } {
	const parsed = schedule.safeParse(stored);
	if (parsed.success) return { spec: toCamelKeys(parsed.data), problem: null };
	return { spec: null, problem: z.prettifyError(parsed.error) };
}
