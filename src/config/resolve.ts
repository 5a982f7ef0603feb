/** Converts validated settings to the frozen specs that all other modules use. */

import type { UsageLimitSettings } from "../core/account.js";
import type { AdapterProfile } from "../core/adapter.js";
import type { BreakerSettings } from "../core/breaker.js";
import type { DailyBudget, SharedBudget } from "../core/budget.js";
import type { CrashPolicySettings } from "../core/crash-state.js";
import { DEFAULT_HEALTH } from "../core/health.js";
import type { PlacementSettings } from "../core/lease.js";
import type { RetrySettings } from "../core/retry.js";
import type { StallSettings } from "../core/stall.js";
import type { AgentKind } from "../core/states.js";
import type { TurnRetrySettings } from "../core/turn-retry.js";
import type { Variables } from "./expand.js";
import { fullId } from "./full-id.js";
import { reportsTokens } from "./known-adapters.js";
import { type Folders, resolvePath } from "./paths.js";
import type { AgentSettings, ScheduleSettings } from "./schema.js";
import type {
	AgentSpec,
	CallSpec,
	DependencySpec,
	FleetSpec,
	HealthSpec,
	LimitsSpec,
	ReadySpec,
	ScheduleAction,
	ScheduleSpec,
	SessionSpec,
	WorkerSpec,
} from "./spec.js";

/** Facts about an agent that are not in its settings. */
export interface ResolveContext {
	readonly project: string;
	readonly name: string;
	/** The project's `cwd`, as written. */
	readonly projectCwd: string | undefined;
	/** The custom adapter with this name; null for a built-in one. */
	readonly profile: AdapterProfile | null;
	/** The budgets of its project and its account. */
	readonly sharedBudgets?: readonly SharedBudget[];
	/** The caller's shell, for `pass_env`. */
	readonly shell?: Variables;
}

/** The spec of one agent, deeply frozen. */
export function resolveAgent(
	place: ResolveContext,
	settings: AgentSettings,
	folders: Folders,
): AgentSpec {
	return deepFreeze(RESOLVE_BY_KIND[settings.kind](place, settings, folders));
}

const RESOLVE_BY_KIND: Readonly<
	Record<AgentKind, (place: ResolveContext, settings: AgentSettings, folders: Folders) => AgentSpec>
> = {
	session: (place, settings, folders): SessionSpec => ({
		...commonOf("session", place, settings, folders),
		backend: settings.backend,
		terminal: settings.terminal,
		tmpdir: settings.tmpdir ?? null,
		seed: settings.seed,
		stall: stallOf(settings.stall),
		startTimeoutMs: settings.start_timeout ?? null,
		turnRetry: turnRetryOf(settings.turn_retry),
		...(settings.hibernate === undefined
			? {}
			: { hibernate: { afterMs: settings.hibernate.after } }),
		...limitedOf(settings),
		onCleanExit: settings.on_clean_exit,
		...(settings.placement === undefined ? {} : { placement: placementOf(settings.placement) }),
		...budgetsOf(place, settings),
		...lastingOf(place, settings, folders),
	}),
	worker: (place, settings, folders): WorkerSpec => ({
		...commonOf("worker", place, settings, folders),
		...lastingOf(place, settings, folders),
		...answeringOf(settings),
		workers: {
			min: settings.workers.min,
			max: settings.workers.max,
			idleMs: settings.workers.idle,
		},
	}),
	call: (place, settings, folders): CallSpec => ({
		...commonOf("call", place, settings, folders),
		...budgetsOf(place, settings),
		...limitedOf(settings),
		...answeringOf(settings),
		...(settings.placement === undefined
			? {}
			: { placement: { labels: settings.placement.labels } }),
	}),
};

function commonOf<K extends AgentKind>(
	kind: K,
	{ project, name, projectCwd, profile, shell = {} }: ResolveContext,
	settings: AgentSettings,
	folders: Folders,
) {
	const envFile = settings.env_file;
	return {
		id: `${project}:${name}`,
		project,
		name,
		kind,
		adapter: settings.adapter,
		profile,
		command: settings.command ?? null,
		args: settings.args,
		cwd: resolvePath(settings.cwd ?? projectCwd ?? ".", folders),
		envFile: envFile === undefined ? null : resolvePath(envFile, folders),
		...environmentOf(settings, shell),
		limits: limitsOf(settings.limits),
	};
}

/**
 * `env` takes precedence, so a variable in both is not passed. This lets an agent exclude a default.
 */
function environmentOf({ env, pass_env: names }: AgentSettings, shell: Variables) {
	const passEnv = [...new Set(names)].filter((name) => !Object.hasOwn(env, name));
	if (passEnv.length === 0) return { env: { ...env } };
	const passed = passEnv.flatMap((name) => {
		const value = Object.hasOwn(shell, name) ? shell[name] : undefined;
		return value === undefined ? [] : [[name, value] as const];
	});
	return { passEnv, env: { ...Object.fromEntries(passed), ...env } };
}

/** The passed variables without a value: the caller's shell did not set them. */
export function unsetPassEnv({ passEnv = [], env }: Pick<AgentSpec, "passEnv" | "env">) {
	return passEnv.filter((name) => !Object.hasOwn(env, name));
}

/**
 * A fleet whose passed variables keep their earlier values if this caller has none: a shell without
 * them, or a program that sends the fleet without a shell.
 */
export function inheritPassEnv(before: FleetSpec, after: FleetSpec): FleetSpec {
	const known = new Map(before.agents.map((spec) => [spec.id, spec]));
	const agents = after.agents.map((spec) => {
		const old = known.get(spec.id);
		const kept = unsetPassEnv(spec).flatMap((name) => {
			const value = old?.passEnv?.includes(name) ? old.env[name] : undefined;
			return typeof value === "string" ? [[name, value] as const] : [];
		});
		return kept.length === 0
			? spec
			: { ...spec, env: { ...spec.env, ...Object.fromEntries(kept) } };
	});
	return { ...after, agents };
}

/** The spec of one schedule, deeply frozen. Its settings name exactly one time and one action. */
export function resolveSchedule(
	{ project, name }: Pick<ResolveContext, "project" | "name">,
	settings: ScheduleSettings,
	folders: Folders,
): ScheduleSpec {
	return deepFreeze({
		id: `${project}:${name}`,
		project,
		name,
		cron: settings.cron ?? null,
		everyMs: settings.every ?? null,
		timezone: settings.timezone ?? null,
		action: scheduleActionOf(project, settings, folders),
		overlap: settings.overlap,
		jitterMs: settings.jitter,
		catchUp: settings.catch_up,
	});
}

function scheduleActionOf(
	project: string,
	{ send, call, plan, restart }: ScheduleSettings,
	folders: Folders,
): ScheduleAction {
	if (send !== undefined) return { ...send, type: "send", agent: fullId(send.agent, project) };
	if (call !== undefined) {
		const payload = call.payload === undefined ? null : JSON.stringify(call.payload);
		return { type: "call", agent: fullId(call.agent, project), action: call.action, payload };
	}
	if (plan !== undefined) return { type: "plan", file: resolvePath(plan, folders) };
	return { type: "restart", agent: fullId(restart ?? "", project) };
}

function lastingOf(
	{ project, projectCwd }: ResolveContext,
	settings: AgentSettings,
	{ baseDir, homeDir }: Folders,
) {
	const cwd = resolvePath(settings.cwd ?? projectCwd ?? ".", { baseDir, homeDir });
	const watch = settings.watch ?? [];
	return {
		drain: { timeoutMs: settings.drain.timeout },
		dependsOn: dependsOnOf(settings.depends_on, project),
		ready: settings.ready === undefined ? null : readyOf(settings.ready),
		...(settings.health === undefined ? {} : { health: healthOf(settings.health) }),
		...(watch.length === 0
			? {}
			: { watch: watch.map((path) => resolvePath(path, { baseDir: cwd, homeDir })) }),
		crashPolicy: crashPolicyOf(settings.crash_policy),
	};
}

function dependsOnOf(
	written: AgentSettings["depends_on"],
	project: string,
): readonly DependencySpec[] {
	if (Array.isArray(written)) {
		return [...new Set(written.map((reference) => fullId(reference, project)))];
	}
	return Object.entries(written).map(([reference, condition]) => {
		const agent = fullId(reference, project);
		return condition === "ready" ? agent : { agent, condition };
	});
}

function answeringOf(settings: AgentSettings) {
	return {
		timeoutMs: settings.timeout,
		retry: retryOf(settings.retry),
		circuitBreaker: breakerOf(settings.circuit_breaker),
		concurrency: settings.concurrency,
		idempotent: settings.idempotent,
		unsafeActions: settings.unsafe_actions,
		extraOutput: settings.extra_output,
	};
}

function limitedOf(settings: AgentSettings) {
	return {
		account: settings.account ?? null,
		usageLimit: usageLimitOf(settings.usage_limit),
	};
}

function stallOf({ after, steps, nudge }: AgentSettings["stall"]): StallSettings {
	return { afterMs: after, steps, nudge };
}

function placementOf({
	labels,
	on_lost: onLost,
	lease: leaseMs,
}: NonNullable<AgentSettings["placement"]>): PlacementSettings {
	return { labels, onLost, leaseMs };
}

function turnRetryOf(retry: AgentSettings["turn_retry"]): TurnRetrySettings {
	return {
		maxAttempts: retry.max_attempts,
		initialBackoffMs: retry.initial_backoff,
		maxBackoffMs: retry.max_backoff,
		prompt: retry.prompt,
	};
}

function readyOf({
	log,
	port,
	http,
	command,
	delay,
}: NonNullable<AgentSettings["ready"]>): ReadySpec {
	return {
		log: log ?? null,
		port: port ?? null,
		// Left out if not set: a spec of an earlier version must not look changed.
		...(http === undefined ? {} : { http }),
		command: command ?? null,
		delayMs: delay ?? null,
	};
}

function healthOf(health: NonNullable<AgentSettings["health"]>): HealthSpec {
	return {
		http: health.http ?? null,
		port: health.port ?? null,
		command: health.command ?? null,
		everyMs: health.every,
		timeoutMs: health.timeout ?? Math.min(DEFAULT_HEALTH.timeoutMs, health.every),
		failures: health.failures,
		startPeriodMs: health.start_period,
		action: health.action,
		interruptTurn: health.interrupt_turn,
	};
}

function usageLimitOf(limit: AgentSettings["usage_limit"]): UsageLimitSettings {
	return {
		autoResume: limit.auto_resume,
		quietHours: limit.quiet_hours ?? null,
		maxWaitMs: limit.max_wait,
	};
}

/** Left out if not set: a spec of an earlier version must not look changed. */
function budgetsOf({ sharedBudgets = [] }: ResolveContext, { budget, adapter }: AgentSettings) {
	const shared = reportsTokens(adapter) && sharedBudgets.length > 0 ? { sharedBudgets } : {};
	return budget === undefined ? shared : { budget: budgetOf(budget), ...shared };
}

export function budgetOf(budget: NonNullable<AgentSettings["budget"]>): DailyBudget {
	return { usdPerDay: budget.usd_per_day ?? null, tokensPerDay: budget.tokens_per_day ?? null };
}

function limitsOf({ memory, cpu, pids }: AgentSettings["limits"]): LimitsSpec {
	return { memoryBytes: memory ?? null, cpuPercent: cpu ?? null, pids: pids ?? null };
}

function crashPolicyOf(policy: AgentSettings["crash_policy"]): CrashPolicySettings {
	return {
		windowMs: policy.window,
		flapThreshold: policy.flap_threshold,
		haltThreshold: policy.halt_threshold,
		history: policy.history,
		transientDelayMs: policy.transient_delay,
		flappingDelayMs: policy.flapping_delay,
		delay:
			policy.delay === undefined
				? null
				: {
						initialMs: policy.delay.initial,
						factor: policy.delay.factor,
						maxMs: policy.delay.max,
					},
		jitter: policy.jitter,
		budget: { exits: policy.budget.exits, withinMs: policy.budget.within },
		permanentExitCodes: policy.permanent_exit_codes,
		halt: policy.halt,
		onFailure: policy.on_failure,
	};
}

function retryOf(retry: AgentSettings["retry"]): RetrySettings {
	return {
		maxAttempts: retry.max_attempts,
		initialBackoffMs: retry.initial_backoff,
		maxBackoffMs: retry.max_backoff,
		jitter: retry.jitter,
	};
}

function breakerOf(breaker: AgentSettings["circuit_breaker"]): BreakerSettings {
	return { failureThreshold: breaker.failure_threshold, cooldownMs: breaker.cooldown };
}

export function deepFreeze<T>(value: T): T {
	if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
		Object.freeze(value);
		for (const each of Object.values(value)) deepFreeze(each);
	}
	return value;
}
