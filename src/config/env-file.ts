import { isReserved } from "../core/environment.js";
import { type Finding, finding, type Problem, problemsOf, quote } from "./problem.js";
import { problemOf, readBounded } from "./read-bounded.js";
import { decodeUtf8 } from "./utf8.js";

/** Reads an agent's env file. A missing file is empty. */
export async function readEnvFile(path: string): Promise<EnvFile> {
	const file = await readBounded(path);
	if (file.ok) return parseEnvFile(file.bytes, path);
	if (file.missing) return { ok: true, values: {}, warnings: [] };
	return { ok: false, problems: problemOf(path, file.message) };
}

/*
 * Env files: `KEY=VALUE` lines, read byte for byte. No quoting, no escapes, no expansion, no trimming:
 * everything between the first `=` and the end of the line is the value. A line ends with `
 * ` or `\r
 * `. Blank lines and comments (the first visible character is `#`) are skipped. Lines that set nothing
 * (without `=`, or with an invalid name before it) are skipped with a warning, and so are reserved
 * names. Whitespace before the key is allowed. The last of two lines with the same key wins.
 *
 * Keeps A5: a problem names a line and at most a variable, never a value. Text before `=` that is not a
 * valid name is not quoted either, since it may be a line of a private key.
 */

type EnvFile =
	| {
			readonly ok: true;
			readonly values: Readonly<Record<string, string>>;
			/** Lines with a misleading syntax. */
			readonly warnings: readonly Problem[];
	  }
	| { readonly ok: false; readonly problems: readonly Problem[] };

const SETTING = /^[ \t]*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s;
const SKIPPED = /^\s*(#|$)/;

export function parseEnvFile(bytes: Uint8Array, fileName: string): EnvFile {
	const decoded = decodeUtf8(bytes);
	// Node treats the environment as text, so other bytes would be changed.
	if (!decoded.ok) return refuse(fileName, [at(decoded.line, "this line is not valid UTF-8")]);
	const values = new Map<string, string>();
	const findings: Finding[] = [];
	const warnings: Finding[] = [];
	for (const [index, raw] of decoded.text.split("\n").entries()) {
		const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
		if (SKIPPED.test(line)) continue;
		const [, key, value] = SETTING.exec(line) ?? [];
		const reported = key === undefined ? explainSkipped(line) : explainValue(key, value ?? "");
		if (reported !== null) warnings.push(finding({ line: index + 1, column: 1 }, [], reported));
		if (key === undefined || value === undefined || isReserved(key)) continue;
		if (value.includes("\0")) findings.push(at(index + 1, "the value contains a NUL byte"));
		values.set(key, value);
	}
	if (findings.length > 0) return refuse(fileName, findings);
	return {
		ok: true,
		values: Object.freeze(Object.fromEntries(values)),
		warnings: problemsOf(fileName, warnings),
	};
}

interface Said {
	readonly message: string;
	readonly hint?: string;
}

/** Why a line sets nothing. */
function explainSkipped(line: string): Said {
	const [, exported] = /^\s*export\s+([A-Za-z_][A-Za-z0-9_]*)=/.exec(line) ?? [];
	if (exported !== undefined) {
		const message = `the line starts with \`export\`, so ${quote(exported)} is not set`;
		return { message, hint: "remove the word `export`" };
	}
	if (!line.includes("=")) {
		const message = "the line has no `=`, so it sets nothing";
		return { message, hint: "a value cannot span lines; start a comment with `#`" };
	}
	const message = "the text before `=` is not a valid variable name, so the line sets nothing";
	return { message, hint: "use letters, digits and `_` only, and no space before the `=`" };
}

/** A warning if other tools read the line differently; null if they do not. */
function explainValue(key: string, value: string): Said | null {
	if (isReserved(key)) {
		const message = `${quote(key)} is not set: names that start with \`REEVE_\` are reserved`;
		return { message, hint: "rename the variable" };
	}
	const about = `the value of ${quote(key)}`;
	if (/^(["']).*\1\s*(#.*)?$/s.test(value)) {
		return { message: `the quotes are part of ${about}`, hint: "write the value without quotes" };
	}
	if (/\s#/.test(value)) {
		const message = `the text after \`#\` is part of ${about}`;
		return { message, hint: "put the comment on a line of its own" };
	}
	if (/^\s|\s$/.test(value)) {
		const where = /^\s/.test(value) ? "starts" : "ends";
		const message = `${about} ${where} with a space, which is part of it`;
		return { message, hint: "remove the space" };
	}
	if (/\$\{[A-Za-z_]\w*/.test(value)) {
		const message = `\`\${…}\` in ${about} is not expanded`;
		return { message, hint: "write the value itself, or set the variable under `env`" };
	}
	return null;
}

function at(line: number, message: string): Finding {
	return finding({ line, column: 1 }, [], { message });
}

function refuse(fileName: string, findings: readonly Finding[]): EnvFile {
	return { ok: false, problems: problemsOf(fileName, findings) };
}
