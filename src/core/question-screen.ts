/**
 * Reads the question that a CLI shows on its screen: what it asks, its choices, and which one is
 * selected. Only what is complete on the screen is read: a list of choices that is cut off, or without
 * a visible selection, is no question that Reeve can answer.
 */

import type { ScreenProfile } from "./adapter.js";
import { compilePattern } from "./pattern.js";
import type { QuestionChoice } from "./question.js";
import type { Key } from "./screen.js";

export interface ShownQuestion {
	readonly kind: "permission" | "choice";
	readonly title: string;
	readonly text: string;
	readonly detail: string | null;
	readonly choices: readonly QuestionChoice[];
	/** Index of the selected choice. */
	readonly selected: number;
	/** Whether the choices are beside each other. */
	readonly inRow: boolean;
	/** Its text and labels: equal for the same question, whatever is selected. */
	readonly key: string;
}

/** Text that is shown with highlighting, for CLIs that mark the selection by colour only. */
export interface Highlight {
	/** From 0. */
	readonly row: number;
	readonly text: string;
}

const FRAME_START = /^[\s│┃|]*/u;
const FRAME_END = /(?<![\s│┃|])[\s│┃|]+$/u;
const CHOICE = /^([\s│┃|]*?)([❯›▶●>*])?(\s*)(\d{1,2})[.)]\s+(\S.*)$/u;
/** A line that separates the question from what is above it. */
const BORDER = /^[\s│┃|]*[─━═╭╰┌└]{8}/u;
const DASHES = /^[\s│┃|]*[╌┄┈╍-]{8}/u;
const LINES_ABOVE_MAX = 24;
const CHOICES_MAX = 12;
const DETAIL_LENGTH_MAX = 2_000;
const LASTING =
	/\b(always|don.?t ask( me)? again|session|auto mode|auto-accept|auto.?approve|from now on|every time|all edits)\b/iu;

/** The question on the screen; null if there is none that can be read. */
export function readQuestion(
	profile: ScreenProfile,
	text: string,
	highlights: readonly Highlight[] = [],
): ShownQuestion | null {
	const lines = text.split("\n");
	const list = readRow(profile, lines, highlights) ?? readList(lines);
	if (list === null) return null;
	const above = blockAbove(profile, lines, list.top);
	const { permission = [], subject = [] } = profile.questions ?? {};
	const block = above.join("\n");
	const asks = above.findLast((line) => permission.some((each) => matches(each, line)));
	const title = plain(
		asks ?? above.findLast((line) => /\?\s*[│┃|]?\s*$/u.test(line)) ?? above.at(-1) ?? "",
	);
	const about = subject.map((each) => compilePattern(each, ON_SCREEN).capture(block));
	const shown = above
		.filter((line) => !DASHES.test(line))
		.map(plain)
		.filter((line) => line !== "" && line !== title);
	const detail = shown.join("\n").slice(0, DETAIL_LENGTH_MAX);
	const choices = list.labels.map((label, index) => ({
		number: index + 1,
		label,
		lasting: isLasting(label, title),
	}));
	return {
		kind: asks === undefined ? "choice" : "permission",
		title,
		text: plain(about.find((each) => each !== null) ?? "") || title || list.labels.join(" / "),
		detail: detail === "" ? null : detail,
		choices,
		selected: list.selected,
		inRow: list.inRow,
		key: [title, ...shown, ...list.labels].join("\n"),
	};
}

/** Whether a choice also allows later requests. Refusals grant nothing. */
function isLasting(label: string, title: string): boolean {
	if (/^(no|reject|deny|cancel)\b/iu.test(label)) return false;
	return LASTING.test(label) || /\balways allow\b/iu.test(title);
}

/** The next key towards a choice: Enter only when exactly that one is selected. */
export function keyTowards({ selected, inRow }: ShownQuestion, wanted: number): Key {
	if (selected === wanted) return "enter";
	if (inRow) return selected < wanted ? "right" : "left";
	return selected < wanted ? "down" : "up";
}

interface ChoiceList {
	/** The line of the first choice. */
	readonly top: number;
	readonly labels: readonly string[];
	readonly selected: number;
	readonly inRow: boolean;
}

/** The lowest complete list of numbered choices with exactly one mark. */
function readList(lines: readonly string[]): ChoiceList | null {
	for (let top = lines.length - 1; top >= 0; top--) {
		if (CHOICE.exec(lines[top] ?? "")?.[4] === "1") return listFrom(lines, top);
	}
	return null;
}

function listFrom(lines: readonly string[], top: number): ChoiceList | null {
	const labels: string[] = [];
	const marked: number[] = [];
	let column = 0;
	for (const line of lines.slice(top)) {
		const [, frame = "", mark, gap = "", number, label = ""] = CHOICE.exec(line) ?? [];
		if (number !== undefined && Number(number) === labels.length + 1) {
			if (mark !== undefined) marked.push(labels.length);
			column = frame.length + (mark?.length ?? 0) + gap.length;
			labels.push(plain(label));
			continue;
		}
		// A long label continues below itself, indented; a rule may separate the last choices.
		const indent = FRAME_START.exec(line)?.[0].length ?? 0;
		const words = plain(line);
		if (words === "" || BORDER.test(line)) {
			if (isListOver(lines, top, labels.length)) break;
			continue;
		}
		if (indent <= column) break;
		labels[labels.length - 1] = `${labels.at(-1)} ${words}`.trim();
	}
	const [selected] = marked;
	const isComplete = labels.length >= 2 && labels.length <= CHOICES_MAX && marked.length === 1;
	return isComplete && selected !== undefined ? { top, labels, selected, inRow: false } : null;
}

/** Whether no choice with the next number follows. */
function isListOver(lines: readonly string[], top: number, count: number): boolean {
	return !lines.slice(top).some((line) => Number(CHOICE.exec(line)?.[4]) === count + 1);
}

/** Choices beside each other, of which one is highlighted. */
function readRow(
	{ questions }: ScreenProfile,
	lines: readonly string[],
	highlights: readonly Highlight[],
): ChoiceList | null {
	if (questions?.row === undefined) return null;
	const pattern = compilePattern(questions.row, ON_SCREEN);
	const top = lines.findLastIndex((line) => pattern.test(line));
	const row = pattern.capture(lines[top] ?? "");
	if (row === null) return null;
	const labels = row.trim().split(/\s{2,}/u);
	const shown = highlights.filter((each) => each.row === top).map((each) => each.text.trim());
	const marked = labels.flatMap((label, index) => (shown.includes(label) ? [index] : []));
	const [selected] = marked;
	if (selected === undefined || marked.length > 1) return null;
	return { top, labels, selected, inRow: true };
}

/** The lines that belong to the question, above its choices. */
function blockAbove({ questions }: ScreenProfile, lines: readonly string[], top: number): string[] {
	const from = Math.max(0, top - LINES_ABOVE_MAX);
	const above = lines.slice(from, top);
	const first = questions?.first ?? [];
	const start = above.findLastIndex((line) => first.some((each) => matches(each, line)));
	if (start >= 0) return above.slice(start);
	const border = above.findLastIndex((line) => BORDER.test(line));
	return above.slice(border + 1);
}

const ON_SCREEN = { ignoreCase: true, multiline: true } as const;

function matches(pattern: string, text: string): boolean {
	return compilePattern(pattern, ON_SCREEN).test(text);
}

function plain(line: string): string {
	return line.replace(FRAME_START, "").replace(FRAME_END, "").replaceAll(/\s+/gu, " ").trim();
}
