/**
 * What an agent's screen shows, by the patterns of its adapter. A dialog is answered by the label of
 * its choice: the mark is moved there and looked at again before Enter, so that nothing is ever
 * confirmed that happened to be selected.
 */

import type { DialogProfile, ScreenProfile } from "./adapter.js";
import { compilePattern } from "./pattern.js";
import type { Activity } from "./states.js";

export type Key = "up" | "down" | "enter" | "esc" | "ctrl_c";

/** What a terminal sends for a key. */
export const KEY_BYTES: Readonly<Record<Key, string>> = {
	up: "\u001b[A",
	down: "\u001b[B",
	enter: "\r",
	esc: "\u001b",
	ctrl_c: "\u0003",
};

export interface ScreenReading {
	readonly activity: Activity;
	/** The same apart from the words of a limit, which may be old, and stand above everything else. */
	readonly besidesLimit: Activity;
	readonly inTool: boolean;
	/** The line by which it reports that it retries a request; null when there is none. */
	readonly retrying: string | null;
	/** Whether there is something else in the place of its input, where that can be told. */
	readonly hidesInput: boolean;
	/** The question that is asked, where it is one that can be answered. */
	readonly dialog: DialogProfile | null;
}

/** Nothing is typed into a question, so it comes first; and work is shown beside the prompt: hence the order. */
export function readScreen(profile: ScreenProfile, text: string): ScreenReading {
	const input = lowestLine(profile.ready, text);
	const above = profile.questionsReplaceInput ? input : -1;
	const hidesInput = profile.questionsReplaceInput === true && input < 0 && text.trim() !== "";
	const inTool = (profile.inTool ?? []).some((each) => matches(each, text));
	const retrying = findRetry(profile.retrying ?? [], text);
	const shown = { inTool, retrying, hidesInput };
	const dialog = profile.dialogs.find(({ when }) => matches(when, text)) ?? null;
	const choices = dialog === null ? null : findChoices(text, dialog);
	const isLimited = profile.rateLimited.some((each) => matches(each, text));
	if (choices !== null && Math.max(choices.selected, choices.wanted) >= above) {
		// The menu of a limit is no question for a person: the account decides when the agent continues.
		const isLimit = dialog?.at === "limit" || (dialog?.at === "failure" && isLimited);
		const asks = isLimit ? "rate_limited" : "waiting_input";
		return { activity: asks, besidesLimit: asks, ...shown, dialog };
	}
	const besidesLimit = readBesidesLimit(profile, text, above);
	const activity = isLimited ? "rate_limited" : besidesLimit;
	return { activity, besidesLimit, ...shown, dialog: null };
}

/** Whether a CLI that resumes a conversation has not shown it yet. */
export function isLoading({ resumed }: ScreenProfile, text: string): boolean {
	return resumed !== undefined && !resumed.some((each) => matches(each, text));
}

/** Questions that stand above this line are somebody's text. */
function readBesidesLimit(profile: ScreenProfile, text: string, above: number): Activity {
	const { waitingInput, busy, ready } = profile;
	const shows = (patterns: readonly string[]) => patterns.some((each) => matches(each, text));
	const question = lowestLine(waitingInput, text);
	if (question >= 0 && question >= above) return "waiting_input";
	if (shows(busy)) return "busy";
	return shows(ready) ? "ready" : "unknown";
}

/** The lowest line on which one of the patterns ends; -1 when there is none. */
function lowestLine(patterns: readonly string[], text: string): number {
	const ends = patterns.flatMap((pattern) => compilePattern(pattern, ON_SCREEN).ends(text));
	return ends.length === 0 ? -1 : text.slice(0, Math.max(...ends)).split("\n").length - 1;
}

/** The line that tells of a usage limit, the lowest first; null when there is none. */
export function findLimit({ rateLimited }: ScreenProfile, text: string): string | null {
	return findLine(rateLimited, text);
}

function findLine(patterns: readonly string[], text: string): string | null {
	if (patterns.length === 0) return null;
	const shows = (line: string) => patterns.some((each) => matches(each, line));
	return text.split("\n").findLast(shows) ?? null;
}

/** The line by which a CLI shows that it retries, with the line below it that belongs to it. */
function findRetry(patterns: readonly string[], text: string): string | null {
	if (patterns.length === 0) return null;
	const lines = text.split("\n");
	const at = lines.findLastIndex((line) => patterns.some((each) => matches(each, line)));
	const line = lines[at];
	if (line === undefined) return null;
	const below = lines[at + 1] ?? "";
	return /^\s*└ /u.test(below) ? `${line} ${below}` : line;
}

const ON_SCREEN = { ignoreCase: true, multiline: true } as const;

function matches(pattern: string, text: string): boolean {
	return compilePattern(pattern, ON_SCREEN).test(text);
}

const MARK = /^[\s│┃|]*([❯›▶●>*])\s+/u;
const FRAME = /^[\s│┃|]*/u;
const NUMBER = /^\d+[.)]\s+/u;

interface Choices {
	/** The line of the choice that is wanted, and of the one that is selected. */
	readonly wanted: number;
	readonly selected: number;
}

/** The lines of the choices; null when the wanted one is not there, or none is marked. */
function findChoices(text: string, { choose }: DialogProfile): Choices | null {
	const pattern = compilePattern(choose, { ignoreCase: true });
	const lines = text.split("\n");
	const labels = lines.map((line) =>
		line
			.replace(MARK, "")
			.replace(FRAME, "")
			.replace(NUMBER, "")
			.replace(/(?<![\s│┃|])[\s│┃|]+$/u, ""),
	);
	const wanted = labels.findLastIndex((label) => label !== "" && pattern.test(label));
	if (wanted < 0) return null;
	// The mark next to the wanted line: others may stand elsewhere on the screen.
	const marked = lines.flatMap((line, index) => (MARK.test(line) ? [index] : []));
	const [selected] = marked.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted));
	return selected === undefined || Math.abs(selected - wanted) > CHOICES_MAX
		? null
		: { wanted, selected };
}

const CHOICES_MAX = 12;

/** The next key towards the wanted choice, Enter only when that very choice is selected, and where the mark is now. */
export function nextKey(
	text: string,
	dialog: DialogProfile,
): { readonly key: Key; readonly seen: string } | null {
	const choices = findChoices(text, dialog);
	if (choices === null) return null;
	const { selected, wanted } = choices;
	const seen = `${dialog.name} ${selected - wanted}`;
	if (selected === wanted) return { key: "enter", seen };
	return { key: selected < wanted ? "down" : "up", seen };
}

const COUNTER = /(?<!\d)\d[\d.,:]*\s?\p{L}{0,3}\b/gu;

/** The screen without what moves by itself: clocks, counters, spinners. Every CLI has marks of its own, so words are left. */
export function stillText(text: string): string {
	return text.replaceAll(COUNTER, " ").replaceAll(/\P{L}+/gu, " ");
}

/**
 * The conversation as far as the screen shows it: what is above the line by which a CLI shows that it works. That
 * line and everything below it (phrases, tips, the input, a footer) change without any progress. Null without such a line.
 */
export function conversationText(
	{ busy }: Pick<ScreenProfile, "busy">,
	text: string,
): string | null {
	const status = lowestLine(busy, text);
	return status < 0 ? null : stillText(text.split("\n").slice(0, status).join("\n"));
}
