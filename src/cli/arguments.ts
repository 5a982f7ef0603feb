/** Parses arguments of commands. An invalid one is rejected with an example of a valid one. */

import { ReeveError } from "../core/errors.js";
import { parseDuration } from "../core/units.js";

const NAME = "[a-z0-9][a-z0-9_-]{0,62}";
const AGENT_ID = new RegExp(`^${NAME}:${NAME}$`);
const SCOPE = new RegExp(`^${NAME}(:${NAME})?$`);

export function parseTimeout(text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const ms = parseDuration(text);
	if (ms !== null) return ms;
	const hint = "Use a whole number with a unit: 500ms, 10s, 5m, 1h. 0s kills immediately.";
	throw new ReeveError("usage", `invalid value for --timeout: \`${text}\``, hint);
}

/** `1h` is the time one hour ago, in the format of the API. */
export function parseSince(text: string): string {
	const ms = parseDuration(text);
	if (ms !== null) return new Date(Date.now() - ms).toISOString();
	const hint = "Use an age, a whole number with a unit: 30s, 5m, 1h, 2d.";
	throw new ReeveError("usage", `invalid value for --since: \`${text}\``, hint);
}

/** A whole number, not negative. */
export function parseCount(text: string, option: string): number {
	const value = /^\d{1,15}$/.test(text) ? Number(text) : null;
	if (value !== null) return value;
	const hint = "Use a whole number, 0 or more.";
	throw new ReeveError("usage", `invalid value for ${option}: \`${text}\``, hint);
}

const COUNT_MAX = 1_000;

/** A whole number from 1 to 1000. */
export function parsePositive(text: string, option: string): number {
	const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
	if (value >= 1 && value <= COUNT_MAX) return value;
	const hint = `Use a whole number from 1 to ${COUNT_MAX}.`;
	throw new ReeveError("usage", `invalid value for ${option}: \`${text}\``, hint);
}

/** An idempotency key; an empty one is usually an unset variable. */
export function checkKey(key: string | undefined): string | undefined {
	if (key === undefined || /^[\x21-\x7e]{1,200}$/.test(key)) return key;
	const hint = "Use 1 to 200 printable ASCII characters without spaces.";
	throw new ReeveError("usage", `invalid value for --idempotency-key: \`${key}\``, hint);
}

export function checkAgentId(id: string): string {
	if (AGENT_ID.test(id)) return id;
	const hint = SCOPE.test(id)
		? `Agent ids have the form \`project:agent\`. If \`${id}\` is a project, \`reeve ps ${id}\` lists its agents.`
		: "Agent ids have the form `project:agent`. `reeve ps` lists them.";
	throw new ReeveError("usage", `\`${id}\` is not a valid agent id`, hint);
}

/**
 * The scopes of a command, `*` for all. None is a usage error: a whole fleet must be requested
 * explicitly.
 */
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
		if (SCOPE.test(scope)) continue;
		const hint = "Use a project, `project:agent`, an agent's name, or `--all`.";
		throw new ReeveError("usage", `\`${scope}\` is not a valid scope`, hint);
	}
	return [...new Set(scopes)];
}

export function isWithin(id: string, scope: string): boolean {
	return scope === "*" || id === scope || id.startsWith(`${scope}:`);
}

export function countOf(number: number, thing: string): string {
	return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
