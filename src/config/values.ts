/**
 * The kinds of value a user can write (a duration, a size, a whole number, …), each as one zod
 * schema that reads what stands in the file and gives what the code counts with. The registry
 * remembers which kind a schema is, so that messages, the reference page and the editor's schema
 * can speak of "a duration" where zod only knows a string with a pattern.
 */

import { z } from "zod";
import { parseListen } from "../core/listen.js";
import { patternProblem } from "../core/pattern.js";
import { DURATION_PATTERN, parseDuration, parseSize, SIZE_PATTERN } from "../core/units.js";

export type LeafType =
	| "duration"
	| "size"
	| "percent"
	| "fraction"
	| "amount"
	| "count"
	| "exit_code"
	| "version"
	| "choice"
	| "flag"
	| "pattern"
	| "text"
	| "path"
	| "file_name"
	| "reference"
	| "adapter"
	| "account"
	| "hours"
	| "json"
	| "name"
	| "address"
	| "url"
	| "env_name"
	| "env_value";

export const leafTypes = z.registry<{ type: LeafType }>();

const ID = "[a-z0-9][a-z0-9_-]{0,62}";
export const ID_PATTERN = new RegExp(`^${ID}$`);
export const REFERENCE_PATTERN = new RegExp(`^(${ID}:)?${ID}$`);
const HOURS_PATTERN = /^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/;
const PERCENT_PATTERN = /^\d+%$/;
/** As in env files: a name that a shell could not spell is most often a slip of the YAML. */
export const ENV_NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** The names that Reeve leaves to others. */
const FREE_NAME_PATTERN = /^(?!REEVE_)[A-Za-z_][A-Za-z0-9_]*$/;
/** `~` and `~/…` are the home directory; `~name` is what a shell would look up in the user list. */
const PATH_PATTERN = /^(?!~[^/])./s;

/** `hook.sh` and `spool` are Reeve's own. */
const FILE_NAME_PATTERN = /^(?!(?:hook\.sh|spool)$)[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}$/;

/** The default range of a count. Some counts are sizes of ring buffers (A6). */
const COUNT_MAX = 1_000;

const noNul = (text: string): boolean => !text.includes("\0");

function leaf<S extends z.ZodType>(type: LeafType, description: string, schema: S): S {
	const described = schema.meta({ description });
	leafTypes.add(described, { type });
	return described;
}

/** A span of time, written `30s`, counted in milliseconds. `0s` unless `positive`. */
export function duration(description: string, { positive = false } = {}) {
	const schema = z
		.string()
		.regex(DURATION_PATTERN)
		.refine((text) => (parseDuration(text) ?? -1) >= (positive ? 1 : 0))
		.transform((text) => parseDuration(text) ?? 0);
	return leaf("duration", description, schema);
}

/** An amount of memory, written `512MiB`, counted in bytes. */
export function size(description: string) {
	const schema = z
		.string()
		.regex(SIZE_PATTERN)
		.refine((text) => (parseSize(text) ?? 0) > 0)
		.transform((text) => parseSize(text) ?? 0);
	return leaf("size", description, schema);
}

/** A share of one CPU, written `200%`, counted in percent. */
export function percent(description: string) {
	const schema = z
		.string()
		.regex(PERCENT_PATTERN)
		.refine((text) => Number.parseInt(text, 10) > 0 && Number.parseInt(text, 10) <= 100_000)
		.transform((text) => Number.parseInt(text, 10));
	return leaf("percent", description, schema);
}

export function fraction(description: string) {
	return leaf("fraction", description, z.number().min(0).max(1));
}

/** A positive number. */
export function amount(description: string) {
	return leaf("amount", description, z.number().positive().max(1_000_000));
}

/** A whole number. */
export function count(description: string, { min = 1, max = COUNT_MAX } = {}) {
	return leaf("count", description, z.int().min(min).max(max));
}

export function exitCode(description: string) {
	return leaf("exit_code", description, z.int().min(1).max(255));
}

export function version(description: string) {
	return leaf("version", description, z.literal(1));
}

export function choice<const T extends readonly [string, ...string[]]>(
	description: string,
	words: T,
) {
	return leaf("choice", description, z.enum(words));
}

export function flag(description: string) {
	return leaf("flag", description, z.boolean());
}

/** A regular expression in the syntax of JavaScript, without lookarounds and backreferences. */
export function pattern(description: string) {
	return leaf("pattern", description, z.string().min(1).refine(isPattern));
}

function isPattern(text: string): boolean {
	return patternProblem(text) === null;
}

/** Any text that can be handed to a program: everything but NUL. */
export function text(description: string) {
	return leaf("text", description, z.string().refine(noNul));
}

export function path(description: string) {
	return leaf("path", description, z.string().regex(PATH_PATTERN).refine(noNul));
}

/** A file in a folder that is given; nothing that could lead out of it. */
export function fileName(description: string) {
	return leaf("file_name", description, z.string().regex(FILE_NAME_PATTERN));
}

/** Another agent: `name` in the same project, or `project:name`. */
export function reference(description: string) {
	return leaf("reference", description, z.string().regex(REFERENCE_PATTERN));
}

/** The name of an adapter: a built-in one, or one of the file's own. */
export function adapterName(description: string, known: readonly string[]) {
	const described = z
		.string()
		.regex(ID_PATTERN)
		.meta({ description, examples: [...known] });
	leafTypes.add(described, { type: "adapter" });
	return described;
}

/** The name of an account that agents share. */
export function accountName(description: string) {
	return leaf("account", description, z.string().regex(ID_PATTERN));
}

/** The name of something in the daemon's settings. */
export function name(description: string) {
	return leaf("name", description, z.string().regex(ID_PATTERN));
}

/** `HOST:PORT`. */
export function address(description: string) {
	return leaf(
		"address",
		description,
		z.string().refine((text) => parseListen(text) !== null),
	);
}

/** An http address. It may hold a secret, so no message quotes it. */
export function url(description: string) {
	return leaf("url", description, z.url({ protocol: /^https?$/ }));
}

/** From one time to another: the same time twice is all of the day or nothing of it. */
function isPartOfDay(text: string): boolean {
	const [from, to] = text.split("-");
	return from !== to;
}

/** A part of the day, written `22:00-07:00`, counted in minutes from midnight. */
export function hours(description: string) {
	const schema = z
		.string()
		.regex(HOURS_PATTERN)
		.refine(isPartOfDay)
		.transform((text) => {
			const [fromHour = 0, from = 0, toHour = 0, to = 0] = (text.match(/\d+/g) ?? []).map(Number);
			return { fromMinute: fromHour * 60 + from, toMinute: toHour * 60 + to };
		});
	return leaf("hours", description, schema);
}

/** Any value, written as JSON in a text. */
export function json(description: string) {
	return leaf("json", description, z.string().refine(isJson));
}

function isJson(written: string): boolean {
	try {
		JSON.parse(written);
		return true;
	} catch {
		return false;
	}
}

/** The name of a variable that Reeve does not reserve. */
export function envName(description: string) {
	return leaf("env_name", description, z.string().regex(FREE_NAME_PATTERN));
}

export function envMap(description: string) {
	const name = z.string().regex(FREE_NAME_PATTERN);
	const value = leaf(
		"env_value",
		"A string, or null to remove the variable.",
		z.string().refine(noNul).nullable(),
	);
	return z.record(name, value).meta({ description });
}

/** A map whose keys are ids, such as agents by name. */
export function idMap<S extends z.ZodType>(description: string, each: S) {
	return z.record(z.string().regex(ID_PATTERN), each).meta({ description });
}

export function list<S extends z.ZodType>(description: string, each: S) {
	return z.array(each).meta({ description });
}

/** A program and its arguments, one entry each: never a line for a shell. */
export function argv(description: string) {
	const words = z.array(text("The program, then one argument per entry.")).min(1);
	return words.refine(([program]) => program !== "").meta({ description });
}

/** Keys with a meaning each. Unknown ones are refused. */
export function section<S extends z.ZodRawShape>(description: string, keys: S) {
	return z.strictObject(keys).meta({ description });
}
