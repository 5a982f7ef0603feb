/**
 * Counters and gauges. Counters are derived from committed events and start with the daemon; states are
 * read from the engine on request. The series of an agent are removed with it.
 */

import type { ReeveEvent } from "../../core/events.js";
import { CIRCUIT_STATES, HEALTH_STATES, POLICY_STATES } from "../../core/states.js";
import { isEnded } from "../../core/task.js";
import { TOKEN_KINDS, type TokenKind } from "../../core/usage.js";
import type { AgentView } from "../../engine/agent-view.js";
import { hasCompleted } from "../../engine/runs/agent-state.js";
import { healthOf } from "../agent-json.js";
import type { HttpParts } from "../handler.js";
import { createCounter, createHistogram, type Labels, renderGauge } from "./registry.js";

const DURATION_BUCKETS_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];
/** Tasks whose start time is remembered; for others the duration is unknown (A6). */
const OPEN_TASKS_MAX = 20_000;

/** Every metric, also for the reference page. */
export const METRICS = {
	exits: {
		name: "reeve_agent_exits_total",
		help: "Finished runs of agents, by cause and class.",
	},
	restarts: { name: "reeve_agent_restarts_total", help: "Total restarts of an agent." },
	policy: { name: "reeve_agent_policy_state", help: "1 for the current policy state." },
	health: { name: "reeve_agent_health", help: "1 for the current health." },
	hibernated: { name: "reeve_agent_hibernated", help: "1 while the agent hibernates." },
	healthFailures: {
		name: "reeve_agent_health_check_failures",
		help: "Failed health checks in a row, for a running agent with `health`.",
	},
	running: { name: "reeve_agent_running", help: "1 while the agent runs." },
	completed: {
		name: "reeve_agent_completed",
		help: "1 while the agent is down because it has finished its work.",
	},
	waiting: { name: "reeve_agent_waiting", help: "1 while the agent waits for its operator." },
	tokens: {
		name: "reeve_agent_tokens_total",
		help: "Total tokens used by an agent CLI, by kind.",
	},
	cost: {
		name: "reeve_agent_cost_usd_total",
		help: "Total cost reported by an agent CLI, in US dollars.",
	},
	taskStarted: { name: "reeve_task_started_total", help: "Started attempts of tasks." },
	taskFinished: { name: "reeve_task_finished_total", help: "Finished tasks, by status." },
	taskDuration: {
		name: "reeve_task_duration_seconds",
		help: "Time from accepting a task to its end.",
	},
	attemptFailures: {
		name: "reeve_attempt_failures_total",
		help: "Failed attempts, by cause.",
	},
	circuit: { name: "reeve_circuit_state", help: "1 for the current circuit state." },
	planStarted: {
		name: "reeve_plan_started_total",
		help: "Accepted plans of several tasks.",
	},
	planSucceeded: {
		name: "reeve_plan_succeeded_total",
		help: "Succeeded plans of several tasks.",
	},
	planFailed: { name: "reeve_plan_failed_total", help: "Failed plans of several tasks." },
	planCancelled: {
		name: "reeve_plan_cancelled_total",
		help: "Cancelled plans of several tasks.",
	},
	slots: {
		name: "reeve_schedule_slots_total",
		help: "Slots of schedules that have ended or were skipped, by status.",
	},
	serviceRestarts: {
		name: "reeve_service_restarts_total",
		help: "Restarts of a service of the daemon.",
	},
	sequence: { name: "reeve_events_sequence", help: "Sequence number of the newest event." },
	build: { name: "reeve_build_info", help: "1, with the version of the daemon." },
	memory: { name: "process_resident_memory_bytes", help: "Resident memory of the daemon." },
	started: { name: "process_start_time_seconds", help: "When the daemon started, as Unix time." },
} as const;

export interface Metrics {
	render(): string;
}

type Parts = Pick<HttpParts, "engine" | "store" | "status" | "version">;

export function createMetrics(parts: Parts): Metrics {
	const counts = createCounts();
	parts.store.onCommit((events) => {
		for (const event of events) counts.note(event);
	});
	return { render: () => `${[...counts.render(), ...renderPresent(parts)].join("\n")}\n` };
}

function createCounts() {
	const exits = createCounter(METRICS.exits);
	const started = createCounter(METRICS.taskStarted);
	const finished = createCounter(METRICS.taskFinished);
	const failures = createCounter(METRICS.attemptFailures);
	const durations = createHistogram(METRICS.taskDuration, DURATION_BUCKETS_S);
	const slots = createCounter(METRICS.slots);
	const plans = {
		started: createCounter(METRICS.planStarted),
		succeeded: createCounter(METRICS.planSucceeded),
		failed: createCounter(METRICS.planFailed),
		cancelled: createCounter(METRICS.planCancelled),
	};
	// A counter without labels starts at 0; a missing one would look like one that is not collected.
	for (const counter of Object.values(plans)) counter.add({}, 0);
	const perAgent = [exits, started, finished, failures, durations];
	/** When unfinished tasks were accepted. */
	const since = new Map<string, number>();

	function noteTask(event: Extract<ReeveEvent, { type: "task.changed" }>): void {
		const { agent = "", task = "", data } = event;
		if (data.to === "in_progress") started.add({ agent });
		if (data.error !== null) failures.add({ agent, cause: data.error });
		if (!isEnded(data.to)) return;
		finished.add({ agent, status: data.to });
		const atMs = since.get(task);
		since.delete(task);
		if (atMs !== undefined) durations.observe({ agent }, (Date.parse(event.at) - atMs) / 1_000);
	}

	function noteSlot(event: ReeveEvent): void {
		switch (event.type) {
			case "schedule.succeeded":
			case "schedule.failed":
			case "schedule.cancelled":
			case "schedule.skipped": {
				const status = event.type.slice("schedule.".length);
				const count = event.type === "schedule.skipped" ? event.data.count : 1;
				slots.add({ schedule: event.data.schedule, status }, count);
				return;
			}
			case "schedule.removed":
				slots.forget("schedule", event.data.schedule);
		}
	}

	return {
		note(event: ReeveEvent): void {
			const { agent = "" } = event;
			if (event.type === "agent.exited") {
				const { cause, class: exitClass, kind } = event.data;
				exits.add({ agent, cause, class: exitClass ?? kind });
			}
			if (event.type === "agent.removed") for (const each of perAgent) each.forget("agent", agent);
			if (event.type === "task.accepted" && since.size < OPEN_TASKS_MAX) {
				since.set(event.task ?? "", Date.parse(event.at));
			}
			if (event.type === "task.changed") noteTask(event);
			noteSlot(event);
			if (event.type === "plan.accepted") plans.started.add({});
			if (event.type !== "plan.changed") return;
			const { to } = event.data;
			if (to === "succeeded" || to === "failed" || to === "cancelled") plans[to].add({});
		},
		render: () => [...perAgent, slots, ...Object.values(plans)].map((each) => each.render()),
	};
}

function renderPresent({ engine, store, status, version }: Parts): string[] {
	const views = engine.list();
	const { services, started_at: startedAt } = status();
	const each = (read: (view: (typeof views)[number]) => number) =>
		views.map((view) => [{ agent: view.agent.id }, read(view)] as const);
	const states = (all: readonly string[], read: (view: (typeof views)[number]) => string) =>
		views.flatMap((view) =>
			all.map((state): readonly [Labels, number] => [
				{ agent: view.agent.id, state },
				read(view) === state ? 1 : 0,
			]),
		);
	const callable = views.filter(({ agent }) => agent.spec.kind !== "session");
	const circuits = callable.flatMap(({ agent }) => {
		const { circuit } = engine.taskDesk.circuit(agent.id);
		return CIRCUIT_STATES.map((state): readonly [Labels, number] => [
			{ agent: agent.id, state },
			circuit === state ? 1 : 0,
		]);
	});
	const restarts = services.map(
		(service) => [{ service: service.name }, service.restarts] as const,
	);
	return [
		renderGauge(
			METRICS.restarts,
			each(({ agent }) => agent.restarts),
			"counter",
		),
		renderGauge(
			METRICS.policy,
			states(POLICY_STATES, ({ agent }) => agent.crash.policy),
		),
		renderGauge(
			METRICS.health,
			states(HEALTH_STATES, (view) => healthOf(view, engine.taskDesk.circuit(view.agent.id))),
		),
		renderGauge(
			METRICS.hibernated,
			views.flatMap(({ agent, run }) => {
				const isAble = agent.spec.kind === "session" && agent.spec.hibernate !== undefined;
				const isAsleep = agent.hibernation != null && run === null;
				return isAble ? [[{ agent: agent.id }, isAsleep ? 1 : 0] as const] : [];
			}),
		),
		renderGauge(
			METRICS.healthFailures,
			views.flatMap(({ agent, health }) =>
				health === null ? [] : [[{ agent: agent.id }, health.failures] as const],
			),
		),
		renderGauge(
			METRICS.running,
			each(({ process }) => (process === "running" ? 1 : 0)),
		),
		renderGauge(
			METRICS.completed,
			each((view) => (hasCompleted(view) ? 1 : 0)),
		),
		renderGauge(
			METRICS.waiting,
			each(({ agent }) => (agent.waiting ? 1 : 0)),
		),
		...renderUsage(views),
		renderGauge(METRICS.circuit, circuits),
		renderGauge(METRICS.serviceRestarts, restarts, "counter"),
		renderGauge(METRICS.sequence, [[{}, store.lastSeq()]]),
		renderGauge(METRICS.build, [[{ version }, 1]]),
		renderGauge(METRICS.memory, [[{}, process.memoryUsage.rss()]]),
		renderGauge(METRICS.started, [[{}, Date.parse(startedAt) / 1_000]]),
	];
}

const KIND_LABELS: Readonly<Record<TokenKind, string>> = {
	input: "input",
	output: "output",
	cacheRead: "cache_read",
	cacheWrite: "cache_write",
};

/** Stored across daemon restarts, so they never decrease. */
function renderUsage(views: readonly AgentView[]): string[] {
	const reported = views.flatMap(({ agent, usage }) =>
		usage === null ? [] : [{ agent: agent.id, ever: usage.ever }],
	);
	const tokens = reported.flatMap(({ agent, ever }) =>
		TOKEN_KINDS.map((kind) => [{ agent, kind: KIND_LABELS[kind] }, ever[kind]] as const),
	);
	const cost = reported.flatMap(({ agent, ever }) =>
		ever.costUsd === null ? [] : [[{ agent }, ever.costUsd] as const],
	);
	return [
		renderGauge(METRICS.tokens, tokens, "counter"),
		renderGauge(METRICS.cost, cost, "counter"),
	];
}
