/**
 * Payloads that use the results of earlier tasks: `${tasks.fetch.result.data.url}`. A reference is only
 * a path; nothing is evaluated. A string that consists of one reference becomes the value itself, of
 * any type; inside other text only values with a text form are allowed. `$${` is a literal `${`.
 */

import { isTooDeep, JSON_DEPTH_MAX } from "./json-depth.js";

/** One reference in a payload. */
export interface Reference {
	/** As written, without the braces. */
	readonly text: string;
	/** The task whose result it uses; null if it is not a reference to a task. */
	readonly task: string | null;
	/** The path within the result. */
	readonly path: readonly string[];
}

const TOO_DEEP = `the payload is nested deeper than ${JSON_DEPTH_MAX} levels`;
const REFERENCE = /\$\$\{|\$\{([^}]*)\}/g;
const TASK_REFERENCE = /^tasks\.([a-z0-9][a-z0-9_-]{0,62})\.result((?:\.[^.[\]]+|\[\d+\])*)$/;
const STEP = /\.([^.[\]]+)|\[(\d+)\]/g;

/** Every reference in a payload, in order; none if the payload is nested too deeply. */
export function findReferences(payload: unknown): readonly Reference[] {
	if (isTooDeep(payload)) return [];
	const found: Reference[] = [];
	walk(payload, 0, (text) => {
		for (const match of closedPart(text).matchAll(REFERENCE)) {
			if (match[1] !== undefined) found.push(parseReference(match[1]));
		}
		return text;
	});
	return found;
}

export type FilledPayload =
	| { readonly ok: true; readonly payload: unknown }
	| { readonly ok: false; readonly reason: string };

/** The payload with each reference replaced by the value at that path of `resultOf` its task. */
export function fillPayload(payload: unknown, resultOf: (task: string) => unknown): FilledPayload {
	try {
		const filled = walk(payload, 0, (text) => fillText(text, resultOf));
		// A nested result inside a nested payload can exceed the limit.
		if (isTooDeep(filled)) return { ok: false, reason: TOO_DEEP };
		return { ok: true, payload: filled };
	} catch (error) {
		if (error instanceof Unfillable) return { ok: false, reason: error.message };
		throw error;
	}
}

/** Thrown to leave the walk; never leaves this file. */
class Unfillable extends Error {}

function parseReference(text: string): Reference {
	const match = TASK_REFERENCE.exec(text);
	if (match === null) return { text, task: null, path: [] };
	const steps = [...(match[2] ?? "").matchAll(STEP)];
	return { text, task: match[1] ?? null, path: steps.map(([, key, index]) => key ?? index ?? "") };
}

function fillText(text: string, resultOf: (task: string) => unknown): unknown {
	const whole = /^\$\{([^}]*)\}$/.exec(text);
	if (whole?.[1] !== undefined) return lookUp(parseReference(whole[1]), resultOf);
	const closed = closedPart(text);
	const filled = closed.replace(REFERENCE, (_, inner: string | undefined) =>
		inner === undefined ? "${" : asText(inner, lookUp(parseReference(inner), resultOf)),
	);
	return filled + text.slice(closed.length).replaceAll("$${", "${");
}

/** The text up to its last `}`: without it, every `${` would be searched to the end of the text. */
function closedPart(text: string): string {
	return text.slice(0, text.lastIndexOf("}") + 1);
}

function lookUp({ text, task, path }: Reference, resultOf: (task: string) => unknown): unknown {
	if (task === null) throw new Unfillable(`\${${text}} is not a reference to a task's result`);
	let at = resultOf(task);
	for (const [depth, step] of path.entries()) {
		// Only the result's own properties: inherited names have no meaning.
		const isMember = typeof at === "object" && at !== null && Object.hasOwn(at, step);
		if (!isMember || (Array.isArray(at) && !/^\d+$/.test(step))) {
			const walked = path.slice(0, depth + 1).join(".");
			throw new Unfillable(`\${${text}}: the result of ${task} has no ${walked}`);
		}
		at = (at as Record<string, unknown>)[step];
	}
	return at;
}

function asText(inner: string, value: unknown): string {
	if (typeof value === "string") return value;
	if (typeof value === "number" || typeof value === "boolean") return String(value);
	throw new Unfillable(
		`\${${inner}} is embedded in text, but its value is ${value === null ? "null" : "a list or an object"}`,
	);
}

/** A copy of plain JSON data with `change` applied to every string. Keys are unchanged. */
function walk(value: unknown, depth: number, change: (text: string) => unknown): unknown {
	if (depth > JSON_DEPTH_MAX) throw new Unfillable(TOO_DEEP);
	if (typeof value === "string") return change(value);
	if (Array.isArray(value)) return value.map((each) => walk(each, depth + 1, change));
	if (typeof value !== "object" || value === null) return value;
	const entries = Object.entries(value).map(([key, each]) => [key, walk(each, depth + 1, change)]);
	return Object.fromEntries(entries);
}
