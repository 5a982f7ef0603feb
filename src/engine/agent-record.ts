/**
 * What is written down about an agent: which rows and events belong together in one commit. Nothing
 * here decides or does anything.
 */

import { settle } from "../core/crash-policy.js";
import type { CrashDecision, CrashState } from "../core/crash-state.js";
import { type ExitReport, exitReport } from "../core/exit.js";
import type { RunExit, RunHandle } from "../ports/backend.js";
import type { NewEvent, StoredExit, StoredRun, StoreTransaction } from "../ports/store.js";
import { type Agent, type LiveRun, withoutSecrets } from "./agent-state.js";

/** The key of the planned start of an agent among the pending effects. */
export function startEffectKey(agentId: string): string {
	return `start:${agentId}`;
}

/** A start that has been decided on: when, and how long that was off when it was decided. */
export interface PlannedStart {
	readonly dueAtMs: number;
	readonly afterMs: number;
}

/** A planned start as a pending effect, so that it outlives the daemon. */
export function startEffect(agentId: string, { dueAtMs, afterMs }: PlannedStart) {
	const payload = { agent: agentId, afterMs };
	return { key: startEffectKey(agentId), type: "start", dueAtMs, payload };
}

export function putAgent(transaction: StoreTransaction, agent: Agent): void {
	transaction.putAgent({ ...agent, spec: withoutSecrets(agent.spec) });
}

export function toStoredRun(agentId: string, live: LiveRun, state: StoredRun["state"]): StoredRun {
	const { runId, handle, intendedAtMs, askedBy, withContinue, conversation, ready } = live;
	return {
		runId,
		agentId,
		backend: live.backend.name,
		state,
		handle,
		intendedAtMs,
		askedBy,
		withContinue,
		conversation,
		ready,
	};
}

/** The facts of an exit, with what only this side knows: who asked, and for how long it ran. */
export function reportOf(
	live: LiveRun,
	exit: Omit<RunExit, "runId">,
	nowSteadyMs: number,
): ExitReport {
	const wallMs = exit.atMs - (live.handle?.startedAtMs ?? live.intendedAtMs);
	// The steady clock where this daemon saw the start: the wall clock may have been set since.
	const uptimeMs = live.startedSteadyMs === null ? wallMs : nowSteadyMs - live.startedSteadyMs;
	return exitReport({
		code: exit.code,
		signal: exit.signal,
		cause: exit.outOfMemory ? "out_of_memory" : "unknown",
		askedBy: live.askedBy,
		uptimeMs: Math.max(0, uptimeMs),
	});
}

/** An exit with all that follows from it. */
export interface ExitRecord {
	readonly changes: Partial<Agent>;
	readonly exit: StoredExit;
	readonly planned: PlannedStart | null;
	readonly events: readonly NewEvent[];
}

export function recordExit(
	agent: Agent,
	runId: string,
	report: ExitReport,
	decision: CrashDecision,
	{ atMs, nowMs }: { atMs: number; nowMs: number },
): ExitRecord {
	const { action, reason, kind, state: crash, class: exitClass } = decision;
	const { code, signal, cause, askedBy, uptimeMs } = report;
	const afterMs = "afterMs" in action ? action.afterMs : null;
	const about = { agent: agent.id, run_id: runId };
	const exited: NewEvent = {
		...about,
		type: "agent.exited",
		data: { code, signal, cause, kind, class: exitClass, uptime_ms: uptimeMs },
	};
	const decided: NewEvent = {
		...about,
		type: "agent.decided",
		data: { policy: crash.policy, action: action.type, after_ms: afterMs, reason },
	};
	const waiting: NewEvent = { ...about, type: "agent.waiting", data: { reason } };
	return {
		changes: {
			crash,
			reason,
			waiting: action.type === "ask_operator",
			desired: action.type === "stop" ? "down" : agent.desired,
			// One that is parked may never start again; it counts when it does.
			restarts: agent.restarts + (action.type === "restart" ? 1 : 0),
		},
		exit: {
			...{ runId, agentId: agent.id, code, signal, cause, askedBy, kind },
			...{ class: exitClass, uptimeMs, atMs, reason },
		},
		planned: afterMs === null ? null : { afterMs, dueAtMs: nowMs + afterMs },
		events: [
			exited,
			decided,
			...policyChange(agent.id, agent.crash, crash, reason),
			...(action.type === "ask_operator" ? [waiting] : []),
		],
	};
}

/** The event of a change of policy state, if it changed. */
export function policyChange(
	agentId: string,
	before: CrashState,
	after: CrashState,
	reason: string,
): readonly NewEvent[] {
	if (before.policy === after.policy) return [];
	const data = { from: before.policy, to: after.policy, reason };
	return [{ type: "agent.policy_changed", agent: agentId, data }];
}

/** What a run of a whole window does to an agent; null when that is nothing. */
export function settledAgent(
	agent: Agent,
): { readonly crash: CrashState; readonly events: readonly NewEvent[] } | null {
	const { spec, crash: before } = agent;
	if (spec.kind === "call") return null;
	const crash = settle(before, spec.crashPolicy.windowMs, spec.crashPolicy);
	const events = policyChange(agent.id, before, crash, "ran for a whole window");
	return events.length > 0 ? { crash, events } : null;
}

/** News of limits that are not enforced: once, not at every restart. */
export function createLimitsNews() {
	let told = "";
	return {
		of(handle: RunHandle, about: { agent: string; run_id: string }): readonly NewEvent[] {
			const missing = String(handle.data["missingLimits"] ?? "");
			const isNews = missing !== told && missing !== "";
			told = missing;
			return isNews ? [{ ...about, type: "agent.limits_missing", data: { missing } }] : [];
		},
	};
}
