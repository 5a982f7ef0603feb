/** The command line of the fake agent: its script, and the flags that agent CLIs share. */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type FakeScript, readScript } from "./script.js";

export interface FakeArguments {
	readonly script: FakeScript;
	readonly conversation:
		| { readonly type: "new"; readonly id: string | null }
		| { readonly type: "resume"; readonly id: string }
		/** Created if it does not exist. */
		| { readonly type: "file"; readonly path: string }
		| { readonly type: "continue" };
	/** The first prompt, if any. */
	readonly prompt: string | null;
	readonly headless: "text" | "json" | "stream-json" | null;
	/** Hooks in Claude's format, as passed with `--settings`. */
	readonly settings: unknown;
	readonly wantsVersion: boolean;
}

const OPTIONS = {
	script: { type: "string" },
	"session-id": { type: "string" },
	resume: { type: "string" },
	session: { type: "string" },
	continue: { type: "boolean" },
	print: { type: "boolean", short: "p" },
	"output-format": { type: "string" },
	settings: { type: "string" },
	version: { type: "boolean" },
	// Accepted and ignored, so that the command line of a real CLI works unchanged.
	verbose: { type: "boolean" },
	"dangerously-skip-permissions": { type: "boolean" },
	"permission-mode": { type: "string" },
	model: { type: "string" },
	config: { type: "string", short: "c", multiple: true },
	"skip-trust": { type: "boolean" },
	extension: { type: "string" },
} as const;

/** Throws if an argument is invalid. */
export async function readArguments(
	argv: readonly string[],
	env: Readonly<Record<string, string | undefined>>,
): Promise<FakeArguments> {
	const parsed = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
	// `resume ID`, as for Codex.
	const [command, id] = parsed.positionals;
	const resumes = command === "resume" && id !== undefined;
	const values = resumes ? { ...parsed.values, resume: id } : parsed.values;
	const positionals = resumes ? parsed.positionals.slice(2) : parsed.positionals;
	const given = values.script ?? env["FAKE_AGENT_SCRIPT"];
	const read = readScript(given === undefined ? {} : await parseScript(textOf(given)));
	if (!read.ok) throw new Error(`the script of the fake agent: ${read.problem}`);
	const format = values["output-format"] ?? "text";
	return {
		script: read.script,
		conversation: conversationOf(values),
		prompt: positionals[0] ?? null,
		headless: values.print === true ? (format as "text" | "json" | "stream-json") : null,
		settings: values.settings === undefined ? null : JSON.parse(textOf(values.settings)),
		wantsVersion: values.version === true,
	};
}

/** Scripts of tests are JSON: many agents start faster without loading the YAML parser. */
async function parseScript(text: string): Promise<unknown> {
	try {
		return JSON.parse(text);
	} catch {
		// The bundle has no named exports of this package.
		const { default: yaml } = await import("yaml");
		return yaml.parse(text);
	}
}

/** The script and the settings are passed as text or as a file name. */
function textOf(given: string): string {
	return given.trimStart().startsWith("{") ? given : readFileSync(given, "utf8");
}

function conversationOf(values: {
	readonly resume?: string | undefined;
	readonly session?: string | undefined;
	readonly continue?: boolean | undefined;
	readonly "session-id"?: string | undefined;
}): FakeArguments["conversation"] {
	if (values.resume !== undefined) return { type: "resume", id: values.resume };
	if (values.session !== undefined) return { type: "file", path: values.session };
	if (values.continue === true) return { type: "continue" };
	return { type: "new", id: values["session-id"] ?? null };
}
