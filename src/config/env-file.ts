/**
 * Env files: `KEY=VALUE` lines, taken byte for byte. No quoting, no escapes, no expansion, no
 * trimming: everything between the first `=` and the end of the line is the value. A line ends with
 * `\n` or `\r\n`. Lines that do not set a variable are skipped: blank ones, comments (the first
 * visible character is `#`), those without `=`, and those whose key is not a plausible name
 * (`export FOO=bar` sets nothing). Blanks before the key are allowed. Of two lines with the same key
 * the last one counts.
 *
 * Keeps A5: a problem names a line, never what is on it.
 */

import { type Finding, finding, type Problem, problemsOf } from "./problem.js";
import { decodeUtf8 } from "./utf8.js";

export type EnvFile =
	| { readonly ok: true; readonly values: Readonly<Record<string, string>> }
	| { readonly ok: false; readonly problems: readonly Problem[] };

const SETTING = /^[ \t]*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s;

export function parseEnvFile(bytes: Uint8Array, fileName: string): EnvFile {
	const decoded = decodeUtf8(bytes);
	// The environment of a program is text to Node, so other bytes would be changed on the way.
	if (!decoded.ok) return refuse(fileName, [at(decoded.line, "this line is not valid UTF-8")]);
	const values = new Map<string, string>();
	const findings: Finding[] = [];
	for (const [index, raw] of decoded.text.split("\n").entries()) {
		const [, key, value] = SETTING.exec(raw.endsWith("\r") ? raw.slice(0, -1) : raw) ?? [];
		if (key === undefined || value === undefined) continue;
		if (value.includes("\0")) findings.push(at(index + 1, "the value contains a NUL byte"));
		values.set(key, value);
	}
	if (findings.length > 0) return refuse(fileName, findings);
	return { ok: true, values: Object.freeze(Object.fromEntries(values)) };
}

function at(line: number, message: string): Finding {
	return finding({ line, column: 1 }, [], { message });
}

function refuse(fileName: string, findings: readonly Finding[]): EnvFile {
	return { ok: false, problems: problemsOf(fileName, findings) };
}
