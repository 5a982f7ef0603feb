/**
 * Why a value is invalid, what would be valid, and what was probably meant. The validator only reports
 * the position; the text is built here, from the schema's outline and the text in the file.
 *
 * Keeps A5: only text as written is quoted, never the value of a variable, and nothing under `env`.
 */

import { isReserved } from "../core/environment.js";
import { patternProblem } from "../core/pattern.js";
import { DURATION_PATTERN, parseDuration, parseSize, SIZE_PATTERN } from "../core/units.js";
import { cronProblem } from "./cron.js";
import { nearest } from "./did-you-mean.js";
import { expectedOf, nounOf } from "./expected-value.js";
import { suggestId } from "./explain-key.js";
import type { Outline } from "./outline.js";
import { type Explanation, quote } from "./problem.js";
import type { ScalarTree, Tree } from "./tree.js";
import {
	guessAmount,
	guessDuration,
	guessFraction,
	guessPercent,
	guessSize,
} from "./unit-slips.js";
import type { LeafType } from "./values.js";

const UNSUPPORTED = /not supported$/;

/** Explains a value that the schema rejects; null represents a missing required key. */
export function explainValue(outline: Outline, tree: Tree | null): Explanation {
	const expected = expectedOf(outline);
	if (tree === null) return explainMissing(outline, expected);
	if (outline.type === "list") return { expected, ...explainList(outline, tree) };
	if (outline.type === "map" || outline.type === "section") {
		return { expected, ...explainNotMap(outline, tree) };
	}
	if (tree.type !== "scalar") return { message: `found a ${tree.type}`, expected };
	if (tree.value === null) return { message: "the value is missing", expected };
	if (outline.type === "env_value") return { expected, ...explainEnvValue(tree) };
	if (tree.expanded) {
		return { message: `${quote(tree.written)} does not expand to ${nounOf(outline)}`, expected };
	}
	return { expected, ...EXPLAIN_LEAF[outline.type](tree, outline) };
}

type ExplainLeaf = (tree: ScalarTree, outline: Outline) => Explanation;

const EXPLAIN_LEAF: Readonly<Record<Exclude<LeafType, "env_value">, ExplainLeaf>> = {
	duration: (tree) => {
		const known = DURATION_PATTERN.test(tree.written);
		if (known && parseDuration(tree.written) === 0) return { message: "must be longer than `0s`" };
		return explainUnit(tree, "a duration", known, guessDuration);
	},
	size: (tree) => {
		const known = SIZE_PATTERN.test(tree.written);
		if (known && parseSize(tree.written) === 0) return { message: "must be more than `0B`" };
		return explainUnit(tree, "a size", known, guessSize);
	},
	percent: (tree) => explainUnit(tree, "a percentage above `0%`", false, guessPercent),
	fraction: (tree) => explainUnit(tree, "a number from 0 to 1", false, guessFraction),
	amount: (tree) => explainUnit(tree, "a number above 0", false, guessAmount),
	count: explainNumber,
	exit_code: (tree) => {
		if (tree.value !== 0) return explainNumber(tree);
		const hint = "`on_clean_exit` sets what happens after exit code 0";
		return { message: "0 is a clean exit, not a failure", hint };
	},
	version: (tree) => {
		const hint = "write `version: 1`";
		if (tree.value === "1") return { message: "the version is a string, not a number", hint };
		return { message: `unknown version ${quote(tree.written)} of this format`, hint };
	},
	choice: (tree, outline) => {
		// `claude-code` is a common name of `claude`.
		const known = outline.words.find((word) => tree.written.startsWith(`${word}-`));
		const meant = nearest(tree.written, outline.words) ?? known ?? null;
		const hint = meant === null ? null : `did you mean ${quote(meant)}?`;
		return { message: `${quote(tree.written)} is not a supported value`, hint };
	},
	flag: (tree) => {
		const meant = /^(yes|on|y|1)$/i.test(tree.written)
			? "true"
			: /^(no|off|n|0)$/i.test(tree.written)
				? "false"
				: null;
		const hint = meant === null ? null : `write ${quote(meant)}`;
		return { message: `${quote(tree.written)} is neither true nor false`, hint };
	},
	pattern: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		if (tree.value === "") return { message: "the pattern is empty: it would match everything" };
		const problem = patternProblem(tree.value) ?? "it cannot be compiled";
		const message = `${quote(tree.written)} is not a valid pattern: ${problem}`;
		const hint = UNSUPPORTED.test(problem)
			? "patterns use RE2 syntax; match the text directly, or use several patterns"
			: null;
		return { message, hint };
	},
	text: explainText,
	path: (tree) => {
		if (tree.value === "") return { message: "the path is empty" };
		if (!tree.written.startsWith("~")) return explainText(tree);
		return {
			message: `${quote(tree.written)} is the home directory of another user, which is not supported`,
			hint: "`~/` is your own home directory; write a directory whose name starts with `~` as `./~name`",
		};
	},
	file_name: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		return { message: `${quote(tree.written)} is not a valid file name` };
	},
	reference: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		const meant = tree.written.split(":").map(suggestId);
		const known = meant.length <= 2 && meant.every((part) => part !== null);
		const hint = known ? `write an id as ${quote(meant.join(":"))}` : null;
		return { message: `${quote(tree.written)} is not a valid agent id`, hint };
	},
	adapter: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		return { message: `${quote(tree.written)} is not a valid adapter name` };
	},
	account: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		return { message: `${quote(tree.written)} is not a valid account name` };
	},
	hours: (tree) => {
		const shown = quote(tree.written);
		if (!/^(\d\d:\d\d)-\1$/.test(tree.written)) {
			return { message: `${shown} is not a time range` };
		}
		const hint = "remove the key to have no such hours";
		return { message: `${shown} begins and ends at the same time`, hint };
	},
	json: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		const hint = "a JSON string needs its own quotes: `'\"dark\"'`";
		return { message: `${quote(tree.written)} is not JSON`, hint };
	},
	// Every value is accepted.
	data: (tree) => ({ message: `${quote(tree.written)} is not a valid value` }),
	cron: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		const problem = cronProblem(tree.value) ?? "it cannot be read";
		const hint =
			tree.value.trim().split(/\s+/).length === 6 ? NO_SECONDS : nicknameHint(tree.value);
		return { message: `${quote(tree.written)} is not a usable cron expression: ${problem}`, hint };
	},
	timezone: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		const meant = nearest(tree.written, Intl.supportedValuesOf("timeZone"));
		const hint = meant === null ? null : `did you mean ${quote(meant)}?`;
		return { message: `${quote(tree.written)} is not a known time zone`, hint };
	},
	name: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		return { message: `${quote(tree.written)} is not a valid name` };
	},
	address: (tree) => {
		if (typeof tree.value !== "string") return explainText(tree);
		return { message: `${quote(tree.written)} is not HOST:PORT` };
	},
	// It may contain a secret, so it is not quoted (A5).
	url: () => ({ message: "not a valid HTTP URL" }),
	env_name: (tree) => {
		// Neither a value after a `=` nor a value instead of the name is quoted (A5).
		const [, name = null] = /^([A-Za-z_][A-Za-z0-9_]*)(?:=|$)/.exec(tree.written) ?? [];
		if (name === null) return { message: "not a valid variable name" };
		if (isReserved(name)) {
			const reserved = "names that start with `REEVE_` are reserved";
			return { message: `${quote(name)} cannot be passed: ${reserved}` };
		}
		const hint = "list the name only; the value comes from the shell that runs `reeve up`";
		return { message: `${quote(name)} has a value`, hint };
	},
};

const NO_SECONDS = "seconds are not supported; for less than a minute write `every: 10s`";

const NICKNAMES: Readonly<Record<string, string>> = {
	"@hourly": "0 * * * *",
	"@daily": "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *",
	"@yearly": "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
};

function nicknameHint(expression: string): string | null {
	const meant = NICKNAMES[expression.trim()];
	return meant === undefined ? null : `write ${quote(meant)}`;
}

function explainMissing(outline: Outline, expected: string): Explanation {
	const hint = outline.type === "version" ? "start the file with `version: 1`" : null;
	return { message: "required key is missing", expected, hint };
}

/** A quantity: `known` if the notation is valid, so that only the amount can be wrong. */
function explainUnit(
	tree: ScalarTree,
	noun: string,
	known: boolean,
	guess: (text: string) => string | null,
): Explanation {
	if (known) return { message: `${quote(tree.written)} is too large` };
	const meant = guess(tree.written);
	const hint = meant === null || meant === tree.written ? null : `write ${quote(meant)}`;
	// A number in quotes has the same text as one without.
	const quoted = meant === tree.written && typeof tree.value === "string";
	return {
		message: `${quote(tree.written)} is not ${noun}`,
		hint: quoted && noun.startsWith("a number") ? "remove the quotes" : hint,
	};
}

function explainNumber(tree: ScalarTree): Explanation {
	const shown = quote(tree.written);
	if (typeof tree.value === "string" && /^\d+$/.test(tree.value)) {
		return { message: `${shown} is a string, not a number`, hint: "remove the quotes" };
	}
	const out = Number.isInteger(tree.value);
	return { message: `${shown} is ${out ? "out of range" : "not a whole number"}` };
}

function explainText(tree: ScalarTree): Explanation {
	if (typeof tree.value === "string") return { message: "the text contains a NUL byte" };
	const message = `${quote(tree.written)} is a ${typeof tree.value}, not a string`;
	return { message, hint: `put quotes around it: ${quote(JSON.stringify(tree.written))}` };
}

function explainEnvValue(tree: ScalarTree): Explanation {
	if (typeof tree.value === "string") return { message: "the value contains a NUL byte" };
	return {
		message: `the value is a ${typeof tree.value}, not a string`,
		hint: "put quotes around it",
	};
}

function explainList(outline: Outline, tree: Tree): Explanation {
	const words = outline.each?.type === "text";
	if (tree.type === "list") {
		return {
			message: tree.items.length === 0 ? "the list is empty" : "the program is an empty string",
		};
	}
	if (tree.type === "map") return { message: "found a map" };
	if (tree.value === null) return { message: "the value is missing" };
	if (outline.each?.type === "env_name") {
		return { message: "the value is not a list", hint: "write `[NAME, OTHER_NAME]`" };
	}
	const meant = renderFlowList(tree.written, words);
	const hint = meant === null ? null : `write ${quote(meant)}`;
	return { message: words ? "the value is a string, not a list" : "the value is not a list", hint };
}

/** The text as a list of words; an example if only a shell could split it. */
function renderFlowList(written: string, words: boolean): string | null {
	// Only a shell could split these words, so suggest a shell.
	if (/["'\\|&;<>*?`$()]/.test(written) && words) return '[sh, -c, "…"]';
	if (written.length > 50 || /[\n[\]{},]/.test(written)) {
		return words ? "[node, agent.mjs]" : null;
	}
	const items = words ? written.split(/\s+/).filter((word) => word !== "") : [written];
	// Adds quotes where YAML would read something other than this word.
	const plain = (item: string) =>
		!words || /^(?!true$|false$|null$)[A-Za-z/-][\w./-]+$/i.test(item);
	return `[${items.map((item) => (plain(item) ? item : JSON.stringify(item))).join(", ")}]`;
}

function explainNotMap(outline: Outline, tree: Tree): Explanation {
	if (tree.type === "scalar" && tree.value === null) {
		const hint = outline.required
			? "write its keys below, indented"
			: "remove the key, or write `{}` for an empty map";
		return { message: "the value is missing", hint };
	}
	const inEnv = outline.each?.type === "env_value";
	if (inEnv) {
		return { message: "the value is not a map", hint: "write one `NAME: value` per line" };
	}
	const message = tree.type === "list" ? "found a list" : "the value is not a map";
	const glued = tree.type === "scalar" ? /^(\w+):(?=\S)/.exec(tree.written)?.[1] : undefined;
	if (glued !== undefined && outline.keys.has(glued)) {
		return { message, hint: `put a space after ${quote(`${glued}:`)}` };
	}
	if (outline.type === "map") return { message, hint: "write one `name:` per entry" };
	const fit = tree.type === "scalar" && !tree.expanded ? entryThatFits(outline, tree) : null;
	return { message, hint: fit === null ? null : `did you mean ${quote(`{ ${fit} }`)}?` };
}

/** Types that accept nearly any text. */
const FREE_TEXT: ReadonlySet<Outline["type"]> = new Set<LeafType>(["text", "path", "reference"]);

/** `drain: 10s` was probably meant for the first key under `drain` with a duration. */
function entryThatFits(outline: Outline, { value, written }: ScalarTree): string | null {
	const keys = [...outline.keys].filter(([, each]) => !FREE_TEXT.has(each.type));
	const exact = keys.find(([, each]) => each.schema.safeParse(value).success);
	if (exact !== undefined) return `${exact[0]}: ${written}`;
	const meant = guessDuration(written);
	const near = keys.find(([, each]) => each.type === "duration");
	return meant === null || near === undefined ? null : `${near[0]}: ${meant}`;
}
