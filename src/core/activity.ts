/**
 * Derives an agent's activity, and its source, from all evidence. Reports of the CLI come first. The screen is used
 * where there is no report, and for states that no hook reports: a question, or an interrupted turn.
 */

import type { TurnCause } from "./adapter.js";
import type { ScreenReading } from "./screen.js";
import { type AgentSign, failedAttempts, type SignSource, shorten } from "./sign.js";
import type { Activity } from "./states.js";
import { causeOfText } from "./turn-failure.js";

/** An activity with its source. */
export interface KnownActivity {
	readonly activity: Activity;
	/** Null while nothing is known. */
	readonly source: SignSource | null;
	/** When it was detected, in wall time. */
	readonly atMs: number;
	/** Why its last turn failed, until the next one starts; null if it succeeded or the outcome is unknown. */
	readonly failure: TurnCause | null;
	readonly failedTurn: FailedTurnTimes | null;
	readonly detail: string | null;
	/** The requests that its CLI is retrying while busy; null if there are none or the CLI does not report them. */
	readonly retrying?: Retrying | null;
	/** Since when it has been busy without progress, in wall time; null if it is not stalled. */
	readonly stalledSinceMs?: number | null;
}

/** When a turn that failed was submitted and failed, in wall time. */
export interface FailedTurnTimes {
	/** As far as known yet: the hook and the transcript may report the same prompt at different times. */
	readonly askedAtMs: number;
	readonly failedAtMs: number;
}

/** Consecutive failed requests of one turn. */
export interface Retrying {
	/** Of the last request. */
	readonly cause: TurnCause;
	/** When the first and the last request failed, in wall time. */
	readonly sinceMs: number;
	readonly lastMs: number;
	readonly count: number;
}

export interface ActivityFacts {
	readonly signs: readonly AgentSign[];
	/** The activity on the screen; null if unknown. */
	readonly screen:
		| (Pick<ScreenReading, "activity" | "besidesLimit" | "hidesInput"> &
				Partial<Pick<ScreenReading, "retrying">>)
		| null;
	/** Whether the screen is unknown because output was lost. */
	readonly lacksOutput?: boolean;
	/** Whether the CLI reports its prompts, and so its failed turns, by hooks or a transcript. */
	readonly hasRecords: boolean;
	/** Whether the CLI reports every end of a turn, so that a screen that looks ready proves nothing. */
	readonly tellsTurnEnds: boolean;
	readonly nowMs: number;
}

/** A limit without a known end is assumed to last this long after the turn that hit it. */
const LIMIT_MS = 300_000;

/** The usage limit that the last turn hit, while it lasts; null if there is none. */
function lastLimit(signs: readonly AgentSign[], nowMs: number): Shown | null {
	const last = signs.findLast(({ failure }) => failure !== undefined);
	if (last?.failure?.cause !== "usage_limit") return null;
	const untilMs = last.failure.resetAtMs ?? last.atMs + LIMIT_MS;
	if (nowMs >= untilMs) return null;
	const { source, atMs, detail = null } = last;
	return { activity: "rate_limited", source, atMs, detail };
}

/** An activity before the failure of the last turn is added. */
type Shown = Omit<KnownActivity, "failure" | "failedTurn" | "retrying">;

/** The outcome of the last turn, if it was reported and no other turn has started since. */
function lastOutcome(signs: readonly AgentSign[]): AgentSign | null {
	const at = signs.findLastIndex(({ failure }) => failure !== undefined);
	const isOld = signs.slice(at + 1).some(({ activity }) => activity === "busy");
	return at < 0 || isOld ? null : (signs[at] ?? null);
}

/** Screen states that CLIs also show between reports, if they report every end of a turn. */
const REPORTED_INSTEAD: Partial<Record<Activity, Activity>> = {
	busy: "ready",
	rate_limited: "busy",
};

/** The cause that the CLI's records report last, of a turn or of a request that it retries. */
function recordedCause(signs: readonly AgentSign[], outcome: AgentSign | null): TurnCause | null {
	return failedAttempts(signs).at(-1)?.attempt?.cause ?? outcome?.failure?.cause ?? null;
}

/**
 * The screen without a limit that only its text shows: the conversation may contain the same text, or the
 * output of a tool. A menu of a limit that no record confirms is a question for a person. Programs without
 * any records have nothing but their screen.
 */
function withoutUnconfirmed(
	{ screen, hasRecords }: ActivityFacts,
	outcome: AgentSign | null,
	recorded: TurnCause | null,
): Activity | null {
	if (screen?.activity !== "rate_limited" || !hasRecords) return screen?.activity ?? null;
	const { besidesLimit } = screen;
	// The report of a turn takes precedence: text on the screen stays long after the limit.
	if (recorded === "usage_limit") return outcome === null ? "rate_limited" : besidesLimit;
	return besidesLimit === "rate_limited" ? "waiting_input" : besidesLimit;
}

const LACKS_OUTPUT =
	"output was lost while the disk was full, and the program has not drawn its screen again";

/** Some CLIs record the end of a turn, and then that it failed. */
const OUTCOME_LAG_MS = 2_000;

/** Whether a turn that has ended may still be reported as failed: its last request failed. */
function mayHaveFailed(signs: readonly AgentSign[], index: number, nowMs: number): boolean {
	const sign = signs[index];
	if (sign?.activity !== "ready" || sign.failure !== undefined) return false;
	return nowMs - sign.atMs < OUTCOME_LAG_MS && failedAttempts(signs.slice(0, index)).length > 0;
}

/** Hooks run shortly after the screen shows the same change. */
const SCREEN_LAG_MS = 5_000;

export function decideActivity(before: KnownActivity, facts: ActivityFacts): KnownActivity {
	const outcome = lastOutcome(facts.signs);
	const recorded = recordedCause(facts.signs, outcome);
	const shown = decideShown(before, facts, withoutUnconfirmed(facts, outcome, recorded));
	const isRecorded = shown.source !== "screen" || recorded === "usage_limit";
	const limited = shown.activity === "rate_limited" && isRecorded ? "usage_limit" : null;
	const { retrying, words: why } = decideRetrying(shown, facts, outcome);
	// A turn that the CLI is retrying has not failed yet.
	const failed = retrying === null ? outcome?.failure : undefined;
	const failure = failed?.cause ?? limited;
	const words = failed ? (outcome?.detail ?? null) : null;
	const failedAtMs = failed && outcome !== null ? outcome.atMs : shown.atMs;
	const askedAtMs = askedAt(facts.signs, failedAtMs);
	const failedTurn = failure === null ? null : { askedAtMs, failedAtMs };
	const detail = why ?? shown.detail ?? words;
	return { ...shown, failure, failedTurn, detail, retrying };
}

/** The retries of the CLI, from its records; the text on its screen provides the cause if they do not. */
function decideRetrying(
	{ activity }: Shown,
	{ signs, screen }: ActivityFacts,
	outcome: AgentSign | null,
): { readonly retrying: Retrying | null; readonly words: string | null } {
	if (activity !== "busy") return { retrying: null, words: null };
	const isTriedAgain = outcome?.failure != null && screen?.retrying != null;
	const attempts: readonly AgentSign[] = isTriedAgain
		? [{ ...outcome, attempt: outcome.failure }]
		: failedAttempts(signs);
	const [first] = attempts;
	const last = attempts.at(-1);
	const line = shorten(screen?.retrying ?? "");
	const shownCause = line === "" ? "unknown" : causeOfText(line);
	if (first === undefined || last?.attempt == null) {
		const words = line === "" ? null : shorten(`retried (${shownCause}): ${line}`);
		return { retrying: null, words };
	}
	const { sinceMs = first.atMs, count = attempts.length, ...reported } = last.attempt;
	const cause = reported.cause === "unknown" ? shownCause : reported.cause;
	const times = count === 1 ? "a failed request" : `${count} failed requests`;
	const said = last.detail ?? (line === "" ? "no text" : line);
	return {
		retrying: { cause, sinceMs, lastMs: last.atMs, count },
		words: shorten(`retried after ${times} (${cause}): ${said}`),
	};
}

/** When the turn that failed at this time was submitted; the time of its failure if that is unknown. */
function askedAt(signs: readonly AgentSign[], failedAtMs: number): number {
	const asked = signs.findLast(({ prompt, atMs }) => prompt !== undefined && atMs <= failedAtMs);
	return asked?.atMs ?? failedAtMs;
}

function decideShown(before: KnownActivity, facts: ActivityFacts, screen: Activity | null): Shown {
	const { signs, tellsTurnEnds, nowMs } = facts;
	const index = signs.findLastIndex(({ activity }) => activity !== undefined);
	const sign = signs[index] ?? null;
	// Later reports concern the same failure: an attempt that failed and is retried.
	const latest = signs
		.slice(index)
		.findLast((each) => each.detail !== undefined && each.attempt === undefined);
	const detail = latest?.detail ?? null;
	const shown = (activity: Activity): Shown => {
		const isSame = before.source === "screen" && before.activity === activity;
		return { activity, source: "screen", atMs: isSame ? before.atMs : nowMs, detail: null };
	};
	if (sign?.activity === undefined || sign.activity === "unknown") {
		if (screen !== null && screen !== "unknown") return shown(screen);
		// A redraw may hide a state that was visible a moment ago.
		return sign === null && before.source === "screen" && nowMs - before.atMs < SCREEN_LAG_MS
			? before
			: {
					activity: "unknown",
					source: sign?.source ?? null,
					atMs: sign?.atMs ?? nowMs,
					detail: facts.lacksOutput === true ? LACKS_OUTPUT : detail,
				};
	}
	if (screen === "waiting_input" || screen === "rate_limited") return shown(screen);
	// It waits for something other than a prompt: an unknown question.
	const isHidden = facts.screen?.hidesInput === true && nowMs - sign.atMs >= SCREEN_LAG_MS;
	if (isHidden && sign.activity === "ready" && screen === "unknown") return shown("waiting_input");
	if (mayHaveFailed(signs, index, nowMs)) {
		return { activity: "busy", source: sign.source, atMs: sign.atMs, detail };
	}
	const limit = lastLimit(signs, nowMs);
	if (limit !== null && sign.activity === "ready" && screen !== "busy") return limit;
	const agrees = screen === null || screen === "unknown" || screen === sign.activity;
	const isReplaced = tellsTurnEnds && REPORTED_INSTEAD[sign.activity] === screen;
	// Some CLIs retry after a failed turn and only show it on their screen.
	if (sign.activity === "ready" && sign.failure && screen === "busy") {
		return { ...shown("busy"), detail };
	}
	if (agrees || isReplaced || nowMs - sign.atMs < SCREEN_LAG_MS) {
		const { activity, source, atMs } = sign;
		return { activity, source, atMs, detail };
	}
	// The end of a turn that hit a limit may be visible on the screen only.
	return limit !== null && screen === "ready" ? limit : shown(screen);
}
