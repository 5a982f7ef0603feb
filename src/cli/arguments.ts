/** Parses arguments of commands. An invalid one is rejected with an example of a valid one. */

import { ReeveError } from "../core/errors.js";
import { splitHost } from "../core/remote.js";
import { parseDuration } from "../core/units.js";

const NAME = "[a-z0-9][a-z0-9_-]{0,62}";
const AGENT_ID = new RegExp(`^(${NAME}/)?${NAME}:${NAME}$`);
const SCOPE = new RegExp(`^(${NAME}/)?${NAME}(:${NAME})?$`);
/** All agents of a remote. */
const REMOTE_SCOPE = new RegExp(`^${NAME}/\\*$`);

/** An argument that its option does not accept. */
export function invalidValue(option: string, text: string, hint: string): ReeveError {
	return new ReeveError("usage", `invalid value for ${option}: \`${text}\``, hint);
}

/** One of the words that an option accepts. */
export function parseChoice<T extends string>(
	text: string,
	choices: readonly T[],
	option: string,
): T {
	const choice = choices.find((each) => each === text);
	if (choice !== undefined) return choice;
	throw invalidValue(option, text, `Use one of ${choices.join(", ")}.`);
}

export function parseTimeout(text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const ms = parseDuration(text);
	if (ms !== null) return ms;
	const hint = "Use a whole number with a unit: 500ms, 10s, 5m, 1h. 0s kills immediately.";
	throw invalidValue("--timeout", text, hint);
}

/** `1h` is the time one hour ago, in the format of the API. */
export function parseSince(text: string): string {
	const ms = parseDuration(text);
	if (ms !== null) return new Date(Date.now() - ms).toISOString();
	const hint = "Use an age, a whole number with a unit: 30s, 5m, 1h, 2d.";
	throw invalidValue("--since", text, hint);
}

/** An age or a time as ISO 8601, in the format of the API. */
export function parseMoment(text: string, option: string): string {
	const ageMs = parseDuration(text);
	const timeMs = ageMs === null ? parseTime(text) : Date.now() - ageMs;
	if (timeMs !== null) return new Date(timeMs).toISOString();
	const hint = "Use an age (30s, 5m, 2h, 1d) or a time (2031-04-05, 2031-04-05T06:07Z).";
	throw invalidValue(option, text, hint);
}

const TIME = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** Local time unless it names a zone. */
function parseTime(text: string): number | null {
	if (!TIME.test(text)) return null;
	// A date alone would be read as UTC.
	const ms = Date.parse(text.length === 10 ? `${text} 00:00` : text);
	return Number.isNaN(ms) ? null : ms;
}

/** A whole number, not negative. */
export function parseCount(text: string, option: string): number {
	const value = /^\d{1,15}$/.test(text) ? Number(text) : null;
	if (value !== null) return value;
	const hint = "Use a whole number, 0 or more.";
	throw invalidValue(option, text, hint);
}

const COUNT_MAX = 1_000;

/** A whole number from 1 to 1000. */
export function parsePositive(text: string, option: string): number {
	const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
	if (value >= 1 && value <= COUNT_MAX) return value;
	const hint = `Use a whole number from 1 to ${COUNT_MAX}.`;
	throw invalidValue(option, text, hint);
}

/** An idempotency key; an empty one is usually an unset variable. */
export function checkKey(key: string | undefined): string | undefined {
	if (key === undefined || /^[\x21-\x7e]{1,200}$/.test(key)) return key;
	const hint = "Use 1 to 200 printable ASCII characters without spaces.";
	throw invalidValue("--idempotency-key", key, hint);
}

export function checkAgentId(id: string): string {
	if (AGENT_ID.test(id)) return id;
	const hint = SCOPE.test(id)
		? `Agent ids have the form \`project:agent\`. If \`${id}\` is a project, \`reeve ps ${id}\` lists its agents.`
		: "Agent ids have the form `project:agent`. `reeve ps` lists them.";
	throw new ReeveError("usage", `\`${id}\` is not a valid agent id`, hint);
}

/** The scopes of a command, `*` for all. None is a usage error: a whole fleet must be requested explicitly. */
export function parseScopes(
	scopes: readonly string[],
	all: boolean | undefined,
	command: string,
): readonly string[] {
	if (all && scopes.length > 0) {
		throw new ReeveError("usage", "scopes and --all cannot be combined", "Remove one of them.");
	}
	if (all) return ["*"];
	if (scopes.length > 0) return checkScopes(scopes);
	const hint = `Use \`reeve ${command} web\` for a project, \`reeve ${command} web:coder\` or \`reeve ${command} coder\` for an agent, \`reeve ${command} --all\` for all agents.`;
	throw new ReeveError("usage", `reeve ${command} needs a project, an agent or --all`, hint);
}

export function checkScopes(scopes: readonly string[]): readonly string[] {
	for (const scope of scopes) {
		if (SCOPE.test(scope) || REMOTE_SCOPE.test(scope)) continue;
		const hint =
			"Use a project, `project:agent`, an agent's name, `--all`, or `REMOTE/*` for a remote.";
		throw new ReeveError("usage", `\`${scope}\` is not a valid scope`, hint);
	}
	return [...new Set(scopes)];
}

/** `*` is everything on this host, `box/*` everything on the remote `box`. */
export function isWithin(id: string, scope: string): boolean {
	const [own, within] = [splitHost(id), splitHost(scope)];
	if (own.host !== within.host) return false;
	return within.rest === "*" || own.rest === within.rest || own.rest.startsWith(`${within.rest}:`);
}

export function countOf(number: number, thing: string): string {
	return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
