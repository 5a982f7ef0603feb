/** The records of an agent: which rows and events belong together in one commit. Nothing here decides or acts. */

import type { AgentSpec } from "../../config/spec.js";
import { renderStoredSpec } from "../../config/spec-schema.js";
import { settle } from "../../core/crash-policy.js";
import { type CrashDecision, type CrashState, isFailure } from "../../core/crash-state.js";
import { causeOf, type ExitReport, exitReport } from "../../core/exit.js";
import type { RunExit, RunHandle, RunProcess } from "../../ports/backend.js";
import type {
	EffectOf,
	NewEvent,
	StoredAgent,
	StoredExit,
	StoreTransaction,
} from "../../ports/store.js";
import type { Parked } from "../limits/accounts.js";
import { type Agent, withoutSecrets } from "./agent-state.js";
import type { TreeEnd } from "./end-tree.js";
import type { StopReport } from "./life-world.js";
import type { Run, SessionRun } from "./run.js";

/** The key of the planned start of an agent among the pending effects. */
export function startEffectKey(agentId: string): string {
	return `start:${agentId}`;
}

/** A decided start: when it is due, and the delay at the time of the decision. */
export interface PlannedStart {
	readonly dueAtMs: number;
	readonly afterMs: number;
}

/** The rest of a wait that an earlier daemon started. A wall clock that was set back never extends it. */
export function restOf({ afterMs, dueAtMs }: PlannedStart, nowMs: number): PlannedStart {
	const leftMs = Math.min(afterMs, Math.max(0, dueAtMs - nowMs));
	return { afterMs: leftMs, dueAtMs: nowMs + leftMs };
}

/** A planned start as a pending effect, so that it survives the daemon. */
export function startEffect(
	agentId: string,
	{ dueAtMs, afterMs }: PlannedStart,
): EffectOf<"start"> {
	const payload = { agent: agentId, afterMs };
	return { key: startEffectKey(agentId), type: "start", dueAtMs, payload };
}

/** By spec, which is replaced and never changed: an agent is stored at each of its changes, its spec rarely differs. */
const storedSpecs = new WeakMap<AgentSpec, unknown>();

export function putAgent(transaction: StoreTransaction, agent: Agent): void {
	const spec = storedSpecs.get(agent.spec) ?? renderStoredSpec(withoutSecrets(agent.spec));
	storedSpecs.set(agent.spec, spec);
	transaction.putAgent({ ...agent, spec });
}

/** The facts of an exit, with those that only the engine knows: who requested it, and how long it ran. */
export function reportOf(
	run: SessionRun,
	exit: Omit<RunExit, "runId">,
	nowSteadyMs: number,
): ExitReport {
	const wallMs = exit.atMs - (run.handle?.startedAtMs ?? run.intendedAtMs);
	// The steady clock if this daemon saw the start: the wall clock may have been set since.
	const uptimeMs = run.startedSteadyMs === null ? wallMs : nowSteadyMs - run.startedSteadyMs;
	return exitReport({
		code: exit.code,
		signal: exit.signal,
		cause: exit.outOfMemory ? "out_of_memory" : (run.failing?.cause ?? "unknown"),
		detail: run.failing?.detail ?? exit.replaced ?? run.askedWhy,
		askedBy: run.askedBy ?? (exit.replaced === undefined ? null : "reeve"),
		uptimeMs: Math.max(0, uptimeMs),
	});
}

/** The rows and events of an exit, and the start that the decision plans. */
export function recordExit(
	agent: Agent,
	{ runId, handle }: Pick<Run, "runId" | "handle">,
	report: ExitReport,
	decision: CrashDecision,
	{ atMs, nowMs }: { atMs: number; nowMs: number },
	/** The wait that replaces the policy's own, for an agent whose account decides. */
	parked: Pick<Parked, "afterMs" | "reason"> | null = null,
): {
	readonly changes: Partial<Agent>;
	readonly exit: StoredExit;
	readonly planned: PlannedStart | null;
	readonly events: readonly NewEvent[];
} {
	const { action, kind, state: crash, class: exitClass } = decision;
	const { reason } = parked ?? decision;
	const { code, signal, askedBy, uptimeMs } = report;
	const cause = causeOf(report, kind);
	const decidedMs = "afterMs" in action ? action.afterMs : null;
	const afterMs = parked === null ? decidedMs : parked.afterMs;
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
	const completed: NewEvent = {
		...about,
		type: "agent.completed",
		data: { code, duration_ms: uptimeMs },
	};
	const waiting: NewEvent = { ...about, type: "agent.waiting", data: { reason } };
	return {
		changes: {
			crash,
			reason,
			waiting: action.type === "ask_operator",
			desired: action.type === "stop" || action.type === "complete" ? "down" : agent.desired,
			...(isFailure(kind, exitClass) && { lastFailureAtMs: atMs }),
			// A parked agent may never start again; the restart counts when it happens.
			restarts: agent.restarts + (action.type === "restart" ? 1 : 0),
		},
		exit: {
			...{ runId, agentId: agent.id, code, signal, cause, askedBy, kind },
			...{ class: exitClass, uptimeMs, atMs, reason },
			outputFrom: handle === null ? null : (handle.outputFrom ?? 0),
		},
		planned: parked !== null || afterMs === null ? null : { afterMs, dueAtMs: nowMs + afterMs },
		events: [
			exited,
			decided,
			...policyChange(agent.id, agent.crash, crash, reason),
			...(action.type === "ask_operator" ? [waiting] : []),
			...(action.type === "complete" ? [completed] : []),
		],
	};
}

/** Agents stored by older versions lack the time of their last failure; it is derived from their exits. */
export function withLastFailure(agent: StoredAgent, exits: readonly StoredExit[]): StoredAgent {
	if (agent.lastFailureAtMs !== undefined) return agent;
	const failed = exits.find((exit) => isFailure(exit.kind, exit.class));
	return { ...agent, lastFailureAtMs: failed?.atMs ?? null };
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

/** The effect of a stable run on an agent; null if there is none. */
export function settledAgent(
	agent: Agent,
): { readonly crash: CrashState; readonly events: readonly NewEvent[] } | null {
	const { spec, crash: before } = agent;
	if (spec.kind === "call") return null;
	const crash = settle(before, spec.crashPolicy.windowMs, spec.crashPolicy);
	const events = policyChange(agent.id, before, crash, "stable for a whole window");
	return events.length > 0 ? { crash, events } : null;
}

/** Reports of unenforced limits: once, not at every restart. */
export function createLimitsReporter() {
	let reported = "";
	return {
		of(handle: RunHandle, about: { agent: string; run_id: string }): readonly NewEvent[] {
			const missing = String(handle.data["missingLimits"] ?? "");
			const isNews = missing !== reported && missing !== "";
			reported = missing;
			return isNews ? [{ ...about, type: "agent.limits_missing", data: { missing } }] : [];
		},
	};
}

/** The maximum number of listed processes; a tree may have thousands. */
const NAMED_MAX = 20;

const named = (processes: readonly RunProcess[]) =>
	processes.slice(0, NAMED_MAX).map(({ pid, name }) => ({ pid, name }));

export function drainedEvent(
	agent: string,
	{ outcome, durationMs, killed, reason }: StopReport,
): NewEvent {
	const more = killed.length === 0 ? {} : { killed: named(killed) };
	const why = reason === null ? {} : { reason };
	return {
		...{ type: "agent.drained", agent },
		data: { outcome, duration_ms: durationMs, ...more, ...why },
	};
}

export function leftoversEvent(
	agent: string,
	{ runId }: Run,
	{ found, killed }: Extract<TreeEnd, { gone: true }>,
	durationMs: number,
): NewEvent {
	const data = { processes: named(found), killed: named(killed), duration_ms: durationMs };
	return { type: "agent.leftovers", agent, run_id: runId, data };
}
