/**
 * The meaning of a CLI's own records, as data: which records, and which field contains what. Adapters
 * of the fleet file use only these rules; built-in adapters use them where they are sufficient.
 */

import type { KeyPath, SignRule, TextCause } from "./adapter.js";
import { answerOf } from "./finish.js";
import { compilePattern } from "./pattern.js";
import { type SignMeaning, shorten } from "./sign.js";
import { failureOf } from "./turn-failure.js";

type JsonRecord = Readonly<Record<string, unknown>>;

export interface RuleReader {
	/** The end of a limit from a text, in wall time. */
	readonly resetAtMs: (text: string) => number | null;
	/** The meaning of the error text of a failed turn. */
	readonly texts: readonly TextCause[];
}

/**
 * The meaning of a record by the first matching rule; null if none matches, or if that rule only skips the record: a
 * sign without a meaning would count as progress of a turn that is stalled.
 */
export function readByRules(
	rules: readonly SignRule[],
	data: JsonRecord,
	reader: RuleReader,
): SignMeaning | null {
	const rule = rules.find(({ where }) => where === undefined || stands(where, data));
	if (rule === undefined) return null;
	const { activity, inTool } = rule;
	const prompt = textAt(data, rule.prompt);
	const conversation = textAt(data, rule.conversation);
	const meaning = {
		...(activity === undefined ? {} : { activity }),
		...(inTool === undefined ? {} : { inTool }),
		// A record of a submission without its text confirms nothing.
		...(prompt === null || prompt === "" ? {} : { prompt }),
		...(conversation === null ? {} : { conversation }),
		...answerOf(textAt(data, rule.answer)),
		...endOf(rule, data, reader),
	};
	return Object.keys(meaning).length === 0 ? null : meaning;
}

function stands({ path, match }: NonNullable<SignRule["where"]>, data: JsonRecord): boolean {
	const text = textAt(data, path);
	return text !== null && compilePattern(match).test(text);
}

function endOf(
	rule: SignRule,
	data: JsonRecord,
	{ resetAtMs: readReset, texts }: RuleReader,
): Pick<SignMeaning, "failure" | "attempt" | "detail"> {
	const words = textAt(data, rule.detail) ?? "";
	const reported = words === "" ? {} : { detail: shorten(words) };
	if (rule.turn === "ok") return { ...reported, failure: null };
	if (rule.request === "ok") return { ...reported, attempt: null };
	const isAttempt = rule.request === "failed";
	if (rule.turn === undefined && rule.cause === undefined && !isAttempt) return reported;
	const status = Number(textAt(data, rule.status) ?? 0) || null;
	const { cause } = failureOf({ text: words, status, cause: rule.cause, texts, readReset }).failure;
	const resetText = textAt(data, rule.resetsAt) ?? words;
	const resetAtMs = cause === "usage_limit" ? timeOf(resetText, readReset) : null;
	const failed = { cause, resetAtMs };
	return { ...reported, ...(isAttempt ? { attempt: failed } : { failure: failed }) };
}

/** A key may itself contain dots, as the names of OpenTelemetry attributes do. The longest key wins. */
function valueAt(data: unknown, path: KeyPath): unknown {
	if (typeof data !== "object" || data === null) return undefined;
	if (Object.hasOwn(data, path)) return (data as JsonRecord)[path];
	for (let end = path.lastIndexOf("."); end > 0; end = path.lastIndexOf(".", end - 1)) {
		const key = path.slice(0, end);
		if (!Object.hasOwn(data, key)) continue;
		const found = valueAt((data as JsonRecord)[key], path.slice(end + 1));
		if (found !== undefined) return found;
	}
	return undefined;
}

/** The text of this field; null if it is missing. CLIs write a text as a string or as a list of parts. */
function textAt(data: JsonRecord, path: KeyPath | undefined): string | null {
	return path === undefined ? null : textOf(valueAt(data, path));
}

function textOf(value: unknown): string | null {
	if (value === undefined || value === null) return null;
	if (typeof value === "string") return value;
	if (typeof value !== "object") return String(value);
	if (!Array.isArray(value)) return JSON.stringify(value);
	return value.map((part) => textOf((Object(part) as JsonRecord)["text"] ?? part) ?? "").join("");
}

/** Later than any time in seconds, earlier than any in milliseconds. */
const SECONDS_MAX = 100_000_000_000;

/** A time as CLIs write it: in seconds, in milliseconds, or as text. */
function timeOf(text: string, readReset: RuleReader["resetAtMs"]): number | null {
	const number = Number(text);
	if (text === "" || Number.isNaN(number)) return readReset(text);
	return number < SECONDS_MAX ? number * 1_000 : number;
}
