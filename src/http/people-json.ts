/** Converts questions, finished turns and the status of an agent to the format of the contract. */

import { decideStatus, type StatusFacts } from "../core/agent-status.js";
import { needsFix } from "../core/attention.js";
import type { OpenQuestion } from "../core/question.js";
import type { SignSource } from "../core/sign.js";
import type { Activity } from "../core/states.js";
import type { AgentView } from "../engine/agent-view.js";
import { hasCompleted } from "../engine/runs/agent-state.js";
import type { CallsView } from "../engine/tasks/tasks.js";
import type { AgentJson } from "./contract/agents.js";
import type { AgentQuestionJson, AgentStatusJson, NeedsYouJson } from "./contract/attention.js";

const isoTime = (ms: number) => new Date(ms).toISOString();
const timeOrNull = (ms: number | null) => (ms === null ? null : isoTime(ms));

function renderQuestion(question: OpenQuestion): AgentQuestionJson {
	const { id, kind, title, text, detail, choices, askedAtMs, source, runId } = question;
	const asked_at = isoTime(askedAtMs);
	return { id, kind, title, text, detail, choices, asked_at, source, run_id: runId };
}

/** The parts of an agent's JSON that are about people. */
export function renderPeople(
	view: AgentView,
	calls: CallsView,
	shown: { readonly activity: Activity; readonly reason: string },
): Pick<AgentJson, "status" | "question" | "finished"> {
	const { question, finished } = view;
	return {
		status: renderStatus(factsOf(view, calls, shown)),
		question: question === null ? null : renderQuestion(question),
		finished:
			finished === null
				? null
				: { at: isoTime(finished.atMs), text: finished.text, seen: finished.seen },
	};
}

function renderStatus(facts: StatusFacts): AgentStatusJson {
	const { state, needsYou, sinceMs, untilMs, why, source } = decideStatus(facts);
	const [since, until] = [timeOrNull(sinceMs), timeOrNull(untilMs)];
	return { state, needs_you: needsYou, since, until, why, source };
}

function factsOf(
	view: AgentView,
	calls: CallsView,
	{ activity, reason }: { readonly activity: Activity; readonly reason: string },
): StatusFacts {
	const { agent, process, known, run, gone } = view;
	const isRunning = process === "running";
	const source = isRunning ? (known?.source ?? null) : null;
	return {
		kind: agent.spec.kind,
		desired: agent.desired,
		process,
		policy: agent.crash.policy,
		activity,
		activitySource: source,
		activityDetail: known?.detail ?? null,
		activityAtMs: source === null ? null : (known?.atMs ?? null),
		isAttended: known !== null,
		turnFailure: isRunning ? (known?.failure ?? null) : null,
		lastExit: view.lastExit,
		hasCompleted: hasCompleted(view),
		waiting: agent.waiting,
		question: factsOfQuestion(view.question),
		budgetUntilMs: view.usage?.held?.untilMs ?? null,
		hold: view.hold,
		nextStartAtMs: view.nextStartAtMs,
		missing: view.missing,
		isAway: isAway(view),
		startedAtMs: gone === null ? (run?.handle?.startedAtMs ?? null) : null,
		stalledSinceMs: known?.stalledSinceMs ?? null,
		hibernatedSinceMs: agent.hibernation?.sinceMs ?? null,
		unhealthySinceMs: view.health?.unhealthySinceMs ?? null,
		circuit: calls.circuit,
		circuitOpenUntilMs: calls.openUntilMs,
		lastFailureAtMs: calls.lastFailureAtMs,
		deadLetters: calls.deadLetters,
		callsRunning: calls.running,
		finished: view.finished,
		undelivered: view.undelivered,
		reason,
	};
}

/** Whether it is wanted up, and another host has its lease or none has it yet. */
export function isAway({ agent, placement, run }: AgentView): boolean {
	return agent.desired === "up" && run === null && placement !== null && placement.state !== "held";
}

function factsOfQuestion(question: OpenQuestion | null): StatusFacts["question"] {
	if (question === null) return null;
	const { kind, text, askedAtMs } = question;
	const source: SignSource | null = question.source === "api" ? null : question.source;
	return { kind, text, askedAtMs, source };
}

/** In the order in which they are shown. */
const KINDS: readonly (readonly NeedsYouJson["kind"][])[] = [
	["question", "ended"],
	["halted", "login_lost", "turn_failed"],
	["circuit_open", "stalled", "over_budget"],
	["dead_letters", "undelivered"],
];

interface Undelivered {
	readonly id: string;
	readonly text: string;
	readonly atMs: number;
}

/** Everything about one agent that waits for a person. */
export function needsOf(
	agent: AgentJson,
	calls: CallsView,
	undelivered: readonly Undelivered[],
): readonly NeedsYouJson[] {
	const { status, question, id } = agent;
	const nothing = { question: null, error: null, message: null, dead_letters: null };
	const about = { agent: id, since: status.since, status, ...nothing };
	const own = kindOf(agent);
	const letters = calls.deadLetters.count;
	return [
		...(own === null
			? []
			: [
					{
						...about,
						kind: own,
						question: own === "question" || own === "ended" ? question : null,
						error: own === "question" ? null : status.why,
						dead_letters: own === "dead_letters" ? letters : null,
					},
				]),
		...undelivered.map(({ id, text, atMs }) => ({
			...about,
			kind: "undelivered" as const,
			since: isoTime(atMs),
			message: { id, text },
		})),
	];
}

function kindOf({ status, turn_failure: failure }: AgentJson): NeedsYouJson["kind"] | null {
	switch (status.state) {
		case "asks_permission":
		case "asks_you":
			return "question";
		case "ended":
		case "login_lost":
		case "halted":
		case "over_budget":
		case "stalled":
		case "circuit_open":
		case "dead_letters":
			return status.state;
		default:
			return needsFix(failure) ? "turn_failed" : null;
	}
}

export function sortNeeds(items: readonly NeedsYouJson[]): readonly NeedsYouJson[] {
	const rank = ({ kind }: NeedsYouJson) => KINDS.findIndex((kinds) => kinds.includes(kind));
	return items.toSorted(
		(a, b) => rank(a) - rank(b) || (a.since ?? "").localeCompare(b.since ?? ""),
	);
}
