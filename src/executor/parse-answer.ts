/**
 * Parses the output of an agent into its response. Other output before it is allowed (only a response
 * with the id of the request counts, T7), unless the settings refuse it.
 */

import { isTooDeep, JSON_DEPTH_MAX } from "../core/json-depth.js";
import type { ActionResponse } from "../core/outcome.js";

export type ParsedAnswer =
	| { readonly ok: true; readonly response: ActionResponse }
	| { readonly ok: false; readonly detail: string };

type Answer = Readonly<Record<string, unknown>> & { readonly request_id: string };

const NO_ANSWER = "the response is not an object with the request_id of the request";

const bad = (detail: string): ParsedAnswer => ({ ok: false, detail });

/** The complete output of a call. */
export function parseAnswer(
	bytes: Buffer,
	requestId: string,
	extraOutput: "tolerate" | "refuse",
): ParsedAnswer {
	const text = decodeStrictly(bytes);
	if (text === null) return bad("the response is not valid UTF-8");
	const whole = asAnswer(text);
	if (whole !== null) return checkResponse(whole, text.length);
	if (parseJson(text.trim()) !== undefined) return bad(`${NO_ANSWER}: ${quote(text)}`);
	if (extraOutput === "refuse")
		return bad(`printed other output besides its response: ${quote(text)}`);
	const found = findAnswer(text, requestId);
	if (found === null) {
		const ended = text.trimEnd();
		const last = ended.slice(ended.lastIndexOf("\n") + 1);
		const isJson = last.startsWith("{") && parseJson(last) !== undefined;
		return bad(
			isJson ? `${NO_ANSWER}: ${quote(last)}` : `printed no JSON response: ${quote(text)}`,
		);
	}
	return checkResponse(found, text.length);
}

/** One line of a worker; null if it is not a response. */
export function parseAnswerLine(
	line: Buffer,
): { readonly requestId: string; readonly parsed: ParsedAnswer } | null {
	const text = decodeStrictly(line);
	// Invalid characters do not hide the request id.
	const answer = asAnswer(text ?? line.toString("utf8"));
	if (answer === null) return null;
	const parsed =
		text === null ? bad("the response is not valid UTF-8") : checkResponse(answer, line.length);
	return { requestId: answer.request_id, parsed };
}

/** Validates a response, such as one from an adapter. */
export function checkResponse(value: unknown, textLength: number): ParsedAnswer {
	if (!isAnswer(value)) return bad(NO_ANSWER);
	if (typeof value["status"] !== "string") return bad("the response has no status");
	if (typeof value["code"] !== "number") return bad("the response has no numeric code");
	if (isTooDeep(value, textLength))
		return bad(`the response is nested deeper than ${JSON_DEPTH_MAX} levels`);
	return { ok: true, response: value as unknown as ActionResponse };
}

/** A short excerpt that is safe to show. */
export function quote(text: string): string {
	const start = text.trim().slice(0, QUOTE_LENGTH);
	return JSON.stringify(start) + (text.trim().length > QUOTE_LENGTH ? "…" : "");
}

const QUOTE_LENGTH = 120;
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function decodeStrictly(bytes: Buffer): string | null {
	try {
		return strictUtf8.decode(bytes);
	} catch {
		return null;
	}
}

function isAnswer(value: unknown): value is Answer {
	return (
		typeof value === "object" &&
		value !== null &&
		typeof (value as { request_id?: unknown }).request_id === "string"
	);
}

function asAnswer(text: string): Answer | null {
	const value = parseJson(text);
	return isAnswer(value) ? value : null;
}

/** Undefined if it is not JSON. */
function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** How many of the last lines are tried. */
const LINES_TRIED_MAX = 1_000;
/** For responses over several lines, how many start positions are tried: each costs a pass over the rest. */
const STARTS_TRIED_MAX = 32;

/** The last one with the right id, otherwise the last one, which explains the failure. */
function findAnswer(text: string, requestId: string): Answer | null {
	const found = [...answersInLines(text), ...answersOverLines(text)];
	return found.find(({ request_id }) => request_id === requestId) ?? found[0] ?? null;
}

function answersInLines(text: string): Answer[] {
	const answers: Answer[] = [];
	for (const line of lastLines(text)) {
		const start = line.indexOf("{");
		const answer = start < 0 ? null : asAnswer(line.slice(start));
		if (answer !== null) answers.push(answer);
	}
	return answers;
}

/** From the last to the first. */
function* lastLines(text: string): Generator<string> {
	let end = text.length;
	for (let tried = 0; tried < LINES_TRIED_MAX && end >= 0; tried++) {
		const start = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
		yield text.slice(start, end);
		end = start - 1;
	}
}

/** Indented JSON: from a line that starts with `{` to the last `}`. */
function answersOverLines(text: string): Answer[] {
	const end = text.lastIndexOf("}") + 1;
	const answers: Answer[] = [];
	let start = end;
	for (let tried = 0; tried < STARTS_TRIED_MAX && start > 0; tried++) {
		const before = text.lastIndexOf("\n{", start - 1);
		start = before < 0 ? 0 : before + 1;
		const answer = asAnswer(text.slice(start, end));
		if (answer !== null) answers.push(answer);
		if (before < 0) break;
		start = before;
	}
	return answers;
}
