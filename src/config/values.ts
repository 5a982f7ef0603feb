/**
 * The value types of the fleet file (a duration, a size, a whole number, …), each as one zod schema that parses the
 * text in the file. The registry stores the type of each schema, so that messages, the reference page and the editor's
 * schema can mention "a duration" where zod only has a string with a pattern.
 */

import { z } from "zod";
import { parseListen } from "../core/listen.js";
import { patternProblem } from "../core/pattern.js";
import { DURATION_PATTERN, parseDuration, parseSize, SIZE_PATTERN } from "../core/units.js";
import { cronProblem, isTimezone } from "./cron.js";

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
	| "data"
	| "cron"
	| "timezone"
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
/** As in env files: other names are usually YAML mistakes. */
export const ENV_NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Names that Reeve does not reserve. */
const FREE_NAME_PATTERN = /^(?!REEVE_)[A-Za-z_][A-Za-z0-9_]*$/;
/** `~` and `~/…` are the home directory; `~name` would be another user's home in a shell. */
const PATH_PATTERN = /^(?!~[^/])./s;

/** `hook.sh` and `spool` are reserved for Reeve. */
const FILE_NAME_PATTERN = /^(?!(?:hook\.sh|spool)$)[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}$/;

/** The default range of a count. Some counts are sizes of ring buffers (A6). */
const COUNT_MAX = 1_000;

const noNul = (text: string): boolean => !text.includes("\0");

function leaf<S extends z.ZodType>(type: LeafType, description: string, schema: S): S {
	const described = schema.meta({ description });
	leafTypes.add(described, { type });
	return described;
}

/** A duration, written `30s`, in milliseconds. `0s` is allowed unless `positive`. */
export function duration(description: string, { positive = false } = {}) {
	const schema = z
		.string()
		.regex(DURATION_PATTERN)
		.refine((text) => (parseDuration(text) ?? -1) >= (positive ? 1 : 0))
		.transform((text) => parseDuration(text) ?? 0);
	return leaf("duration", description, schema);
}

/** An amount of memory, written `512MiB`, in bytes. */
export function size(description: string) {
	const schema = z
		.string()
		.regex(SIZE_PATTERN)
		.refine((text) => (parseSize(text) ?? 0) > 0)
		.transform((text) => parseSize(text) ?? 0);
	return leaf("size", description, schema);
}

/** A share of one CPU, written `200%`, in percent. */
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

/** A regular expression in JavaScript syntax, without lookarounds and backreferences. */
export function pattern(description: string) {
	return leaf("pattern", description, z.string().min(1).refine(isPattern));
}

function isPattern(text: string): boolean {
	return patternProblem(text) === null;
}

/** Any text that can be passed to a program: everything but NUL. */
export function text(description: string) {
	return leaf("text", description, z.string().refine(noNul));
}

export function path(description: string) {
	return leaf("path", description, z.string().regex(PATH_PATTERN).refine(noNul));
}

/** The name of a file in a given directory; it cannot refer to another directory. */
export function fileName(description: string) {
	return leaf("file_name", description, z.string().regex(FILE_NAME_PATTERN));
}

/** Another agent: `name` in the same project, or `project:name`. */
export function reference(description: string) {
	return leaf("reference", description, z.string().regex(REFERENCE_PATTERN));
}

/** The name of an adapter: a built-in one, or a custom one of the file. */
export function adapterName(description: string, known: readonly string[]) {
	const described = z
		.string()
		.regex(ID_PATTERN)
		.meta({ description, examples: [...known] });
	leafTypes.add(described, { type: "adapter" });
	return described;
}

/** The name of an account shared by agents. */
export function accountName(description: string) {
	return leaf("account", description, z.string().regex(ID_PATTERN));
}

/** The name of an entry in the daemon's settings. */
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

/** An HTTP URL. It may contain a secret, so no message quotes it. */
export function url(description: string) {
	return leaf("url", description, z.url({ protocol: /^https?$/ }));
}

/** From one time to another. Equal times would be ambiguous: all day or never. */
function isPartOfDay(text: string): boolean {
	const [from, to] = text.split("-");
	return from !== to;
}

/** A part of the day, written `22:00-07:00`, in minutes from midnight. */
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

/** Any value, written as JSON in a string. */
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

/** Any value, written as YAML. */
export function data(description: string) {
	return leaf("data", description, z.unknown());
}

/** A cron expression with five fields, and at least one slot. */
export function cron(description: string) {
	return leaf(
		"cron",
		description,
		z.string().refine((text) => cronProblem(text) === null),
	);
}

/** The name of a time zone, such as `Europe/Berlin`. */
export function timezone(description: string) {
	return leaf("timezone", description, z.string().refine(isTimezone));
}

/** The name of a variable that is not reserved. */
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

/** A program and its arguments, one entry each, never a shell command line. */
export function argv(description: string) {
	const words = z.array(text("The program, then one argument per entry.")).min(1);
	return words.refine(([program]) => program !== "").meta({ description });
}

/** Other agents: a list of those that must be ready, or a map from each to its condition. */
export function dependencies<const T extends readonly [string, ...string[]]>(
	description: string,
	conditions: T,
) {
	const named = reference("`name` for an agent of the same project, or `project:name`.");
	const condition = choice("The state that the agent must have reached.", conditions);
	return z
		.union([
			list(description, named),
			z.record(z.string().regex(REFERENCE_PATTERN), condition).meta({ description }),
		])
		.meta({ description });
}

/** A map with fixed keys. Unknown ones are rejected. */
export function section<S extends z.ZodRawShape>(description: string, keys: S) {
	return z.strictObject(keys).meta({ description });
}
