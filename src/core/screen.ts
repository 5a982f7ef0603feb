/**
 * Interprets an agent's screen with the patterns of its adapter. A dialog is answered by the label of a choice: the
 * selection is moved there and checked before Enter is pressed, so nothing is confirmed only because it was selected.
 */

import type { DialogProfile, ScreenProfile } from "./adapter.js";
import { compilePattern } from "./pattern.js";
import type { Activity } from "./states.js";

export type Key = "up" | "down" | "left" | "right" | "enter" | "esc" | "ctrl_c";

/** The bytes that a terminal sends for a key. */
export const KEY_BYTES: Readonly<Record<Key, string>> = {
	up: "\u001b[A",
	down: "\u001b[B",
	right: "\u001b[C",
	left: "\u001b[D",
	enter: "\r",
	esc: "\u001b",
	ctrl_c: "\u0003",
};

/**
 * Between two keys. Together, a busy program may take them as one; a program that needs a key twice forgets the first
 * one after a second.
 */
export const KEY_GAP_MS = 300;

export interface ScreenReading {
	readonly activity: Activity;
	/** The activity without the text of a limit, which may be old and is displayed above everything else. */
	readonly besidesLimit: Activity;
	readonly inTool: boolean;
	/** The line that reports a retry of a request; null if there is none. */
	readonly retrying: string | null;
	/** Whether something else replaces its input, if that can be detected. */
	readonly hidesInput: boolean;
	/** The question on the screen, if Reeve can answer it. */
	readonly dialog: DialogProfile | null;
}

/** Questions come first, because nothing may be typed into one; work is shown next to the prompt, hence the order. */
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
		// The menu of a limit is not a question for a person: the account decides when the agent continues.
		const isLimit = dialog?.at === "limit" || (dialog?.at === "failure" && isLimited);
		const asks = isLimit ? "rate_limited" : "waiting_input";
		return { activity: asks, besidesLimit: asks, ...shown, dialog };
	}
	const besidesLimit = readBesidesLimit(profile, text, above);
	const activity = isLimited ? "rate_limited" : besidesLimit;
	return { activity, besidesLimit, ...shown, dialog: null };
}

/** Whether a CLI that resumes a conversation has not displayed it yet. */
export function isLoading({ resumed }: ScreenProfile, text: string): boolean {
	return resumed !== undefined && !resumed.some((each) => matches(each, text));
}

/** Questions above this line are ordinary text. */
function readBesidesLimit(profile: ScreenProfile, text: string, above: number): Activity {
	const { waitingInput, busy, ready } = profile;
	const shows = (patterns: readonly string[]) => patterns.some((each) => matches(each, text));
	const question = lowestLine(waitingInput, text);
	if (question >= 0 && question >= above) return "waiting_input";
	if (shows(busy)) return "busy";
	return shows(ready) ? "ready" : "unknown";
}

/** The lowest line on which one of the patterns ends; -1 if there is none. */
function lowestLine(patterns: readonly string[], text: string): number {
	const ends = patterns.flatMap((pattern) => compilePattern(pattern, ON_SCREEN).ends(text));
	return ends.length === 0 ? -1 : text.slice(0, Math.max(...ends)).split("\n").length - 1;
}

/** The lowest line that reports a usage limit; null if there is none. */
export function findLimit({ rateLimited }: ScreenProfile, text: string): string | null {
	return findLine(rateLimited, text);
}

function findLine(patterns: readonly string[], text: string): string | null {
	if (patterns.length === 0) return null;
	const shows = (line: string) => patterns.some((each) => matches(each, line));
	return text.split("\n").findLast(shows) ?? null;
}

/** The line that shows a retry, with the continuation line below it. */
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
	/** The line of the wanted choice, and of the selected one. */
	readonly wanted: number;
	readonly selected: number;
}

/** The lines of the choices; null if the wanted one is missing, or none is selected. */
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
	// The marker closest to the wanted line: there may be others on the screen.
	const marked = lines.flatMap((line, index) => (MARK.test(line) ? [index] : []));
	const [selected] = marked.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted));
	return selected === undefined || Math.abs(selected - wanted) > CHOICES_MAX
		? null
		: { wanted, selected };
}

const CHOICES_MAX = 12;

/**
 * The next key towards the wanted choice (Enter only if exactly that choice is selected), and the current selection.
 */
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

/**
 * The screen without parts that change by themselves: clocks, counters, spinners. Every CLI has its own
 * symbols, so only words are kept.
 */
export function stillText(text: string): string {
	return text.replaceAll(COUNTER, " ").replaceAll(/\P{L}+/gu, " ");
}

/**
 * The visible part of the conversation: everything above the line with which a CLI shows that it works. That line and
 * everything below it (phrases, tips, the input, a footer) change without any progress. Null without such a line.
 */
export function conversationText(
	{ busy }: Pick<ScreenProfile, "busy">,
	text: string,
): string | null {
	const status = lowestLine(busy, text);
	return status < 0 ? null : stillText(text.split("\n").slice(0, status).join("\n"));
}
