/** Converts an agent of the engine to the format of the contract. */

import { needsFix } from "../core/attention.js";
import { renderExit } from "../core/exit.js";
import { renderUnhealthy } from "../core/health.js";
import { type Activity, type Health, overallHealth } from "../core/states.js";
import { restartingAt } from "../core/units.js";
import { tokensOf } from "../core/usage.js";
import type { AgentView } from "../engine/agent-view.js";
import type { CallsView, Circuit } from "../engine/tasks/tasks.js";
import type { StoredExit } from "../ports/store.js";
import type {
	ExitJson,
	FileWatchJson,
	HealthCheckJson,
	HibernationJson,
	PlacementJson,
	ResourcesJson,
	UsageJson,
} from "./contract/agent-parts.js";
import type { AgentJson } from "./contract/agents.js";
import { isAway, renderPeople } from "./people-json.js";

export interface AgentContext {
	readonly host: string;
	readonly nowMs: number;
	/** As last measured; null if they are not. */
	readonly resources?: ResourcesJson | null;
}

export function renderAgent(
	view: AgentView,
	circuit: CallsView,
	{ host, nowMs, resources = null }: AgentContext,
): AgentJson {
	const { agent, run, lastExit, nextStartAtMs } = view;
	const { spec, crash } = agent;
	const alive = view.gone === null ? (run?.handle ?? null) : null;
	const startedAtMs = alive?.startedAtMs ?? null;
	const activity = activityOf(view);
	const reason = renderReason(view, circuit);
	const people = renderPeople(view, circuit, { activity, reason });
	return {
		id: agent.id,
		agent_id: agent.id,
		project: spec.project,
		agent: spec.name,
		kind: spec.kind,
		backend: run?.handle?.backend ?? (spec.kind === "session" ? spec.backend : "auto"),
		adapter: spec.adapter,
		desired: agent.desired,
		process: view.process,
		policy: crash.policy,
		activity,
		activity_source: view.process === "running" ? (view.known?.source ?? null) : null,
		activity_at: view.known?.source ? isoTime(view.known.atMs) : null,
		activity_detail: view.known?.detail ?? null,
		turn_failure: view.process === "running" ? (view.known?.failure ?? null) : null,
		circuit: circuit.circuit,
		health: healthOf(view, circuit),
		hibernation: renderHibernating(view),
		health_check: renderHealthCheck(view.health),
		file_watch: renderFileWatch(view.fileWatch),
		placement: renderPlacement(view.placement),
		pid: alive?.process.pid ?? null,
		run_id: run?.runId ?? null,
		started_at: startedAtMs === null ? null : isoTime(startedAtMs),
		uptime_ms: startedAtMs === null ? null : Math.max(0, nowMs - startedAtMs),
		restarts: agent.restarts,
		consecutive_failures: spec.kind === "session" ? crash.flaps : circuit.consecutiveFailures,
		last_failure_at: timeOrNull(laterOf(agent.lastFailureAtMs ?? null, circuit.lastFailureAtMs)),
		last_success_at: timeOrNull(circuit.lastSuccessAtMs),
		circuit_open_until: timeOrNull(circuit.openUntilMs),
		processes: view.processes,
		last_exit: lastExit === null ? null : renderStoredExit(lastExit),
		next_restart_at: timeOrNull(nextStartAtMs),
		waiting: agent.waiting,
		ready: view.ready,
		blocked: view.blocked,
		conversation: agent.conversation ?? null,
		usage: renderUsage(view.usage),
		resources,
		reason,
		status: people.status,
		question: people.question,
		finished: people.finished,
		host,
		fleet_file: agent.fleetFile,
	};
}

/** The health of an agent, over its runs and the calls to it. */
export function healthOf({ agent, health }: AgentView, circuit: Circuit): Health {
	const isUnhealthy = health !== null && health.unhealthySinceMs !== null;
	return overallHealth(agent.crash.policy, circuit.health, isUnhealthy);
}

/** Null for an agent that never hibernates. */
function renderHibernating({ agent, run, hibernation: watch }: AgentView): HibernationJson | null {
	const { spec, hibernation = null } = agent;
	if (spec.kind !== "session" || (spec.hibernate === undefined && hibernation === null))
		return null;
	const isDone = hibernation !== null && run === null;
	return {
		state: isDone ? "hibernated" : hibernation === null ? "awake" : "stopping",
		after_ms: spec.hibernate?.afterMs ?? null,
		since: timeOrNull(hibernation?.sinceMs ?? null),
		idle_ms: hibernation?.idleMs ?? watch?.idleMs ?? null,
		freed_bytes: hibernation?.freedBytes ?? null,
		why_awake: hibernation === null ? (watch?.reason ?? null) : null,
	};
}

function renderHealthCheck(view: AgentView["health"]): HealthCheckJson | null {
	if (view === null) return null;
	const { spec, last, failures, unhealthySinceMs, waits } = view;
	return {
		state: healthCheckState(view),
		at: timeOrNull(last?.atMs ?? null),
		error: last?.error ?? null,
		consecutive_failures: failures,
		failures: spec.failures,
		unhealthy_since: timeOrNull(unhealthySinceMs),
		action: spec.action,
		waits,
	};
}

function renderPlacement(view: AgentView["placement"]): PlacementJson | null {
	if (view === null) return null;
	const { state, host, epoch, onLost, reason } = view;
	return { state, host, epoch, on_lost: onLost, reason };
}

function renderFileWatch(view: AgentView["fileWatch"]): FileWatchJson | null {
	if (view === null) return null;
	const { folders, problem, restartedAtMs, files, tooMany } = view;
	return { folders, problem, restarted_at: timeOrNull(restartedAtMs), files, too_many: tooMany };
}

function healthCheckState({
	last,
	unhealthySinceMs,
}: NonNullable<AgentView["health"]>): HealthCheckJson["state"] {
	if (last === null) return "pending";
	if (last.error === null) return "passing";
	return unhealthySinceMs === null ? "failing" : "unhealthy";
}

function laterOf(a: number | null, b: number | null): number | null {
	return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

/** Its activity, if known: an unknown activity is never shown as a good one. */
function activityOf({ process, known, ready, hold }: AgentView): Activity {
	if (process === "starting") return "starting";
	if (process === "stopping") return "draining";
	if (process === "running") {
		return known?.activity === "unknown" && !ready ? "starting" : (known?.activity ?? "unknown");
	}
	return process === "stopped" && hold !== null ? "rate_limited" : "unknown";
}

/** The reason for its state; for an agent that only runs when called, that of its circuit. */
function renderReason(view: AgentView, circuit: Circuit): string {
	const { agent, missing, hold, usage, known, gone } = view;
	if (gone !== null)
		return `${renderExit(gone)}: the process is gone, its exit is not recorded yet`;
	if (isAway(view) && view.placement !== null) return view.placement.reason;
	if (hold !== null && agent.desired === "up") return hold.reason;
	if (missing.length > 0) {
		const why = view.blocked === null ? "" : `; ${view.blocked}`;
		return `waits for ${missing.join(", ")}${why}`;
	}
	const held = usage?.held ?? null;
	if (held !== null && agent.desired === "up") {
		return `${held.reason}; continues at ${isoTime(held.untilMs)}, or with \`reeve resume ${agent.id}\``;
	}
	if (view.process === "running" && known !== null && known.failure !== null) {
		const words = known.detail === null ? "" : `: ${known.detail}`;
		const next = needsFix(known.failure)
			? `; fix the cause, then run \`reeve resume ${agent.id}\``
			: "";
		return `the last turn failed (${known.failure}${words})${next}`;
	}
	if (view.process === "running" && view.health !== null && view.health.unhealthySinceMs !== null) {
		const { waits } = view.health;
		return `${renderUnhealthy(view.health)}${waits === null ? "" : `; ${waits}`}`;
	}
	if (view.process === "stopped" && view.nextStartAtMs !== null) {
		return `${restartingAt(isoTime(view.nextStartAtMs))}${agent.reason}`;
	}
	if (agent.spec.kind === "session" || agent.crash.policy === "halted") return agent.reason;
	const failures = circuit.consecutiveFailures;
	const failed = `the last ${failures === 1 ? "call" : `${failures} calls`} failed`;
	if (circuit.circuit === "closed") {
		const own = agent.spec.kind === "call" ? "runs when it is called" : agent.reason;
		return failures === 0 ? own : `${failed}; ${own}`;
	}
	if (circuit.openUntilMs === null) return `${failed}; the next call is a probe`;
	return `${failed}; calls are refused until ${isoTime(circuit.openUntilMs)}`;
}

function renderUsage(usage: AgentView["usage"]): UsageJson | null {
	if (usage === null) return null;
	const { today, budget, held } = usage;
	return {
		tokens_today: tokensOf(today),
		usd_today: today.costUsd,
		tokens_per_day: budget?.tokensPerDay ?? null,
		usd_per_day: budget?.usdPerDay ?? null,
		held_until: timeOrNull(held?.untilMs ?? null),
	};
}

export function renderStoredExit(exit: StoredExit): ExitJson {
	return {
		code: exit.code,
		signal: exit.signal,
		class: exit.class,
		cause: exit.cause,
		at: isoTime(exit.atMs),
		uptime_ms: exit.uptimeMs,
		reason: exit.reason,
	};
}

export function timeOrNull(ms: number | null): string | null {
	return ms === null ? null : isoTime(ms);
}

export function isoTime(ms: number): string {
	return new Date(ms).toISOString();
}
