/**
 * What an agent does, from all that shows it, and how that is known. What its CLI says on purpose
 * comes first. The screen is asked where nothing is said, and where it shows what no hook tells: a
 * question, or that a turn was broken off.
 */

import type { TurnCause } from "./adapter.js";
import type { ScreenReading } from "./screen.js";
import { type AgentSign, failedAttempts, type SignSource, shorten } from "./sign.js";
import type { Activity } from "./states.js";
import { causeOfText } from "./turn-failure.js";

/** An activity with where it comes from. */
export interface KnownActivity {
	readonly activity: Activity;
	/** Null while nothing is known. */
	readonly source: SignSource | null;
	/** Since when it is known, in wall time. */
	readonly atMs: number;
	/** Why its last turn failed, until another one begins; null for a turn that did not, or may not have. */
	readonly failure: TurnCause | null;
	/** Identifies the turn that failed: when it was asked for, or when it failed where that is unknown. */
	readonly failedTurn: number | null;
	readonly detail: string | null;
	/** The requests that its CLI retries by itself while it is busy; null when it does not, or does not report it. */
	readonly retrying?: Retrying | null;
}

/** Requests of one turn that fail one after the other. */
export interface Retrying {
	/** Of the last one. */
	readonly cause: TurnCause;
	/** When the first and the last one failed, in wall time. */
	readonly sinceMs: number;
	readonly lastMs: number;
	readonly count: number;
}

export interface ActivityFacts {
	readonly signs: readonly AgentSign[];
	/** What the screen shows; null where nothing is known of it. */
	readonly screen:
		| (Pick<ScreenReading, "activity" | "besidesLimit" | "hidesInput"> &
				Partial<Pick<ScreenReading, "retrying">>)
		| null;
	/** Whether it shows how a conversation went in earlier runs, and would tell what it is asked in this one. */
	readonly showsHistory: boolean;
	/** Whether the CLI tells of every end of a turn, so that a screen that looks ready proves nothing. */
	readonly tellsTurnEnds: boolean;
	readonly nowMs: number;
}

/** A limit of which no end is told is believed for this long after the turn that met it. */
const LIMIT_MS = 300_000;

/** The usage limit that the last turn has met, for as long as it lasts; null when there is none. */
function lastLimit(signs: readonly AgentSign[], nowMs: number): Shown | null {
	const last = signs.findLast(({ failure }) => failure !== undefined);
	if (last?.failure?.cause !== "usage_limit") return null;
	const untilMs = last.failure.resetAtMs ?? last.atMs + LIMIT_MS;
	if (nowMs >= untilMs) return null;
	const { source, atMs, detail = null } = last;
	return { activity: "rate_limited", source, atMs, detail };
}

/** An activity before it is said why the last turn failed. */
type Shown = Omit<KnownActivity, "failure" | "failedTurn" | "retrying">;

/** How the last turn went, where that is told and no other has begun since. */
function lastOutcome(signs: readonly AgentSign[]): AgentSign | null {
	const at = signs.findLastIndex(({ failure }) => failure !== undefined);
	const isOld = signs.slice(at + 1).some(({ activity }) => activity === "busy");
	return at < 0 || isOld ? null : (signs[at] ?? null);
}

/** What a screen also shows meanwhile, in CLIs that tell of every end of a turn. */
const TOLD_BETTER: Partial<Record<Activity, Activity>> = { busy: "ready", rate_limited: "busy" };

/**
 * Whether the words of a limit on the screen are of one that is known already: they stay there long
 * after it. A CLI that has told of one limit itself tells of the next one too, and what it shows before
 * it was asked anything is of an earlier run.
 */
function areWordsOld({ signs, showsHistory }: ActivityFacts): boolean {
	const isTold = signs.some(({ failure }) => failure?.cause === "usage_limit");
	return isTold || (showsHistory && !signs.some(({ prompt }) => prompt !== undefined));
}

/** Hooks run a moment after what they tell of is on the screen. */
const SCREEN_LAG_MS = 5_000;

export function decideActivity(before: KnownActivity, facts: ActivityFacts): KnownActivity {
	const outcome = lastOutcome(facts.signs);
	const { screen } = facts;
	// What is told of the last turn counts more than words on a screen.
	const isNews = outcome === null && !areWordsOld(facts);
	const seen = isNews ? screen?.activity : screen?.besidesLimit;
	const shown = decideShown(before, facts, seen ?? null);
	const limited = shown.activity === "rate_limited" ? "usage_limit" : null;
	const { retrying, words: why } = decideRetrying(shown, facts, outcome);
	// A turn that its CLI tries again by itself has not failed yet.
	const failed = retrying === null ? outcome?.failure : undefined;
	const failure = failed?.cause ?? limited;
	const words = failed ? (outcome?.detail ?? null) : null;
	const failedAtMs = failed && outcome !== null ? outcome.atMs : shown.atMs;
	const failedTurn = failure === null ? null : askedAt(facts.signs, failedAtMs);
	const detail = why ?? shown.detail ?? words;
	return { ...shown, failure, failedTurn, detail, retrying };
}

/** The retries of its CLI, as its records report them; the text on its screen names the cause where they do not. */
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
	const { sinceMs = first.atMs, count = attempts.length, ...told } = last.attempt;
	const cause = told.cause === "unknown" ? shownCause : told.cause;
	const times = count === 1 ? "a failed request" : `${count} failed requests`;
	const said = last.detail ?? (line === "" ? "no text" : line);
	return {
		retrying: { cause, sinceMs, lastMs: last.atMs, count },
		words: shorten(`retried after ${times} (${cause}): ${said}`),
	};
}

/** When the turn that failed at this time was asked for. A CLI may report several failed tries of one turn. */
function askedAt(signs: readonly AgentSign[], failedAtMs: number): number {
	const asked = signs.findLast(({ prompt, atMs }) => prompt !== undefined && atMs <= failedAtMs);
	return asked?.atMs ?? failedAtMs;
}

function decideShown(before: KnownActivity, facts: ActivityFacts, screen: Activity | null): Shown {
	const { signs, tellsTurnEnds, nowMs } = facts;
	const index = signs.findLastIndex(({ activity }) => activity !== undefined);
	const sign = signs[index] ?? null;
	// What was said since then is about the same: an attempt that failed, and will be made again.
	const told = signs
		.slice(index)
		.findLast((each) => each.detail !== undefined && each.attempt === undefined);
	const detail = told?.detail ?? null;
	const shown = (activity: Activity): Shown => {
		const isSame = before.source === "screen" && before.activity === activity;
		return { activity, source: "screen", atMs: isSame ? before.atMs : nowMs, detail: null };
	};
	if (sign?.activity === undefined || sign.activity === "unknown") {
		if (screen !== null && screen !== "unknown") return shown(screen);
		// What was seen a moment ago may be hidden by a redraw; what nobody has seen is not known.
		return sign === null && before.source === "screen" && nowMs - before.atMs < SCREEN_LAG_MS
			? before
			: {
					activity: "unknown",
					source: sign?.source ?? null,
					atMs: sign?.atMs ?? nowMs,
					detail: null,
				};
	}
	if (screen === "waiting_input" || screen === "rate_limited") return shown(screen);
	// It waits for something, and not for a prompt: a question that nobody has seen before.
	const isHidden = facts.screen?.hidesInput === true && nowMs - sign.atMs >= SCREEN_LAG_MS;
	if (isHidden && sign.activity === "ready" && screen === "unknown") return shown("waiting_input");
	const limit = lastLimit(signs, nowMs);
	if (limit !== null && sign.activity === "ready" && screen !== "busy") return limit;
	const agrees = screen === null || screen === "unknown" || screen === sign.activity;
	const toldBetter = tellsTurnEnds && TOLD_BETTER[sign.activity] === screen;
	// Some try again after a failed turn, and say so on their screen alone.
	if (sign.activity === "ready" && sign.failure && screen === "busy") {
		return { ...shown("busy"), detail };
	}
	if (agrees || toldBetter || nowMs - sign.atMs < SCREEN_LAG_MS) {
		const { activity, source, atMs } = sign;
		return { activity, source, atMs, detail };
	}
	// The end of a turn that hit a limit may be on the screen alone.
	return limit !== null && screen === "ready" ? limit : shown(screen);
}
