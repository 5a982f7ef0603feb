/**
 * Explains errors of the YAML parser to the author of the file. The parser's own messages quote the
 * text and could reveal a secret, so none of them is shown (A5).
 */

import type { ErrorCode, LineCounter, YAMLParseError } from "yaml";
import { type Finding, finding } from "./problem.js";
import { positionAt } from "./yaml-position.js";

const WORDS: Partial<Record<ErrorCode, { message: string; hint?: string }>> = {
	TAB_AS_INDENT: { message: "a tab indents this line", hint: "indent with spaces" },
	BAD_INDENT: {
		message: "this line is not indented like the lines it belongs to",
		hint: "keys of one map start at the same column; a `[` or `{` above may not be closed",
	},
	MULTIPLE_DOCS: {
		message: "a second document starts here",
		hint: "a fleet file is one document: remove the `---`",
	},
	BLOCK_AS_IMPLICIT_KEY: {
		message: "there is a `: ` inside this value",
		hint: "put quotes around the value",
	},
	BAD_SCALAR_START: {
		message: "a value cannot start with this character",
		hint: "put quotes around the value",
	},
	BAD_DQ_ESCAPE: {
		message: "unknown escape sequence in double quotes",
		hint: "write a backslash as `\\\\`, or use single quotes",
	},
	MULTILINE_IMPLICIT_KEY: {
		message: "this line is neither a key nor part of a value",
		hint: "a key ends with a colon and a space",
	},
	MULTIPLE_ANCHORS: { message: "a value can have only one anchor" },
	MULTIPLE_TAGS: { message: "a value can have only one tag" },
	BAD_ALIAS: { message: "invalid anchor or alias" },
};

const LIST_FOR_KEY = {
	message: "found a list entry where a key is expected",
	hint: "indent the `- ` under the key that the list belongs to",
};
const MISSING_COMMA = { message: "a comma is missing before this entry" };
const MISSING_QUOTE = { message: "a quote before this point is not closed" };
const MISSING_COLON = {
	message: "this line is neither a key nor part of a value",
	hint: "a key ends with a colon and a space",
};
const TOO_DEEP = { message: "values are nested too deeply here" };
const UNREADABLE = {
	message: "invalid YAML from here on",
	hint: "check for a missing or extra quote, bracket or colon just before",
};
const BRACES_IN_FLOW = {
	message: `\`\${\` inside \`{ }\` or \`[ ]\` is read as the start of a map`,
	hint: `put quotes around the value: \`"\${NAME}"\``,
};

/** Mistakes within one value, after which the parser can continue. */
const CONTAINED: ReadonlySet<ErrorCode> = new Set([
	"BAD_ALIAS",
	"BAD_DQ_ESCAPE",
	"BAD_SCALAR_START",
	"BLOCK_AS_IMPLICIT_KEY",
	"MULTIPLE_ANCHORS",
	"MULTIPLE_TAGS",
	"TAB_AS_INDENT",
]);

/** One finding per line, and none after the parser has lost its position. */
export function explainYamlErrors(
	errors: readonly YAMLParseError[],
	lines: LineCounter,
	text: string,
): readonly Finding[] {
	const byLine = new Map<number, Finding>();
	for (const error of errors) {
		const at = positionAt(lines, error.pos[0]);
		if (!byLine.has(at.line)) byLine.set(at.line, finding(at, [], explain(error, text)));
		if (!CONTAINED.has(error.code)) break;
	}
	return [...byLine.values()];
}

function explain(error: YAMLParseError, text: string): { message: string; hint?: string } {
	const [start] = error.pos;
	if (text[start] === "{" && text[start - 1] === "$") return BRACES_IN_FLOW;
	if (error.message.includes("call stack")) return TOO_DEEP;
	if (error.code === "MISSING_CHAR") {
		if (error.message.includes(", or")) return MISSING_COMMA;
		return error.message.includes("quote") ? MISSING_QUOTE : MISSING_COLON;
	}
	const isList = error.code === "BLOCK_AS_IMPLICIT_KEY" && error.message.includes("sequence");
	if (isList) return LIST_FOR_KEY;
	return WORDS[error.code] ?? UNREADABLE;
}
