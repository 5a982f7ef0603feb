/** An agent as the engine knows it, in the words of the contract. */

import type { Activity } from "../core/states.js";
import { tokensOf } from "../core/usage.js";
import type { Circuit } from "../engine/calls/calls.js";
import type { AgentView } from "../engine/engine-parts.js";
import type { StoredExit } from "../ports/store.js";
import type { AgentJson, ExitJson, UsageJson } from "./contract/agents.js";

export function renderAgent(
	view: AgentView,
	circuit: Circuit,
	{ host, nowMs }: { host: string; nowMs: number },
): AgentJson {
	const { agent, run, lastExit, nextStartAtMs } = view;
	const { spec, crash } = agent;
	const startedAtMs = run?.handle?.startedAtMs ?? null;
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
		activity: activityOf(view),
		activity_source: view.process === "running" ? (view.known?.source ?? null) : null,
		activity_at: view.known?.source ? isoTime(view.known.atMs) : null,
		activity_detail: view.known?.detail ?? null,
		turn_failure: view.process === "running" ? (view.known?.failure ?? null) : null,
		circuit: circuit.circuit,
		health: circuit.health,
		pid: run?.handle?.process.pid ?? null,
		run_id: run?.runId ?? null,
		started_at: startedAtMs === null ? null : isoTime(startedAtMs),
		uptime_ms: startedAtMs === null ? null : Math.max(0, nowMs - startedAtMs),
		restarts: agent.restarts,
		consecutive_failures: spec.kind === "session" ? crash.flaps : circuit.consecutiveFailures,
		last_failure_at: timeOrNull(circuit.lastFailureAtMs),
		last_success_at: timeOrNull(circuit.lastSuccessAtMs),
		circuit_open_until: timeOrNull(circuit.openUntilMs),
		processes: view.processes,
		last_exit: lastExit === null ? null : renderStoredExit(lastExit),
		next_restart_at: timeOrNull(nextStartAtMs),
		waiting: agent.waiting,
		ready: view.ready,
		conversation: agent.conversation ?? null,
		usage: renderUsage(view.usage),
		reason: renderReason(view, circuit),
		host,
		fleet_file: agent.fleetFile,
	};
}

/** What it does, as far as that is known: what is not known is never shown as well. */
function activityOf({ process, known, ready, hold }: AgentView): Activity {
	if (process === "starting") return "starting";
	if (process === "stopping") return "draining";
	if (process === "running") {
		return known?.activity === "unknown" && !ready ? "starting" : (known?.activity ?? "unknown");
	}
	return process === "stopped" && hold !== null ? "rate_limited" : "unknown";
}

/** Why it is as it is; what runs only when it is called is as its circuit is. */
function renderReason(view: AgentView, circuit: Circuit): string {
	const { agent, missing, hold, usage, known } = view;
	if (hold !== null && agent.desired === "up") return hold.reason;
	if (missing.length > 0) return `waits for ${missing.join(", ")}`;
	const held = usage?.held ?? null;
	if (held !== null && agent.desired === "up") {
		return `${held.reason}; goes on at ${isoTime(held.untilMs)}, or with \`reeve resume ${agent.id}\``;
	}
	if (known?.failure === "auth" || known?.failure === "config") {
		const words = known.detail === null ? "" : `: ${known.detail}`;
		return `its last turn failed (${known.failure}${words}); mend that, then \`reeve resume ${agent.id}\``;
	}
	if (agent.spec.kind === "session" || circuit.circuit === "closed") {
		return agent.spec.kind === "call" ? "runs when it is called" : agent.reason;
	}
	const failures = `${circuit.consecutiveFailures} calls in a row failed`;
	if (circuit.openUntilMs === null) return `${failures}; the next call is a probe`;
	return `${failures}; not called until ${isoTime(circuit.openUntilMs)}`;
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

function timeOrNull(ms: number | null): string | null {
	return ms === null ? null : isoTime(ms);
}

function isoTime(ms: number): string {
	return new Date(ms).toISOString();
}
