/** What users write as arguments, made into values, or refused with what would have been right. */

import type { Client } from "../client/client.js";
import { nearest } from "../config/did-you-mean.js";
import { ReeveError } from "../core/errors.js";
import { parseDuration } from "../core/units.js";

const NAME = "[a-z0-9][a-z0-9_-]{0,62}";
const AGENT_ID = new RegExp(`^${NAME}:${NAME}$`);
const SCOPE = new RegExp(`^${NAME}(:${NAME})?$`);
const SHOWN_MAX = 12;

export function parseTimeout(text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const ms = parseDuration(text);
	if (ms !== null) return ms;
	const hint = "Durations are a whole number with its unit: 500ms, 10s, 5m, 1h; 0s kills at once.";
	throw new ReeveError("usage", `--timeout cannot be \`${text}\``, hint);
}

/** `1h` is the moment an hour ago, as the API wants it. */
export function parseSince(text: string): string {
	const ms = parseDuration(text);
	if (ms !== null) return new Date(Date.now() - ms).toISOString();
	const hint = "It is an age, a whole number with its unit: 30s, 5m, 1h, 2d.";
	throw new ReeveError("usage", `--since cannot be \`${text}\``, hint);
}

/** A whole number, not negative. */
export function parseCount(text: string, option: string): number {
	const value = /^\d{1,15}$/.test(text) ? Number(text) : null;
	if (value !== null) return value;
	const hint = "It is a whole number, 0 or more.";
	throw new ReeveError("usage", `${option} cannot be \`${text}\``, hint);
}

const COUNT_MAX = 1_000;

/** A whole number from 1 to 1000. */
export function parsePositive(text: string, option: string): number {
	const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
	if (value >= 1 && value <= COUNT_MAX) return value;
	const hint = `It is a whole number from 1 to ${COUNT_MAX}.`;
	throw new ReeveError("usage", `${option} cannot be \`${text}\``, hint);
}

/** An idempotency key; an empty one is most often a variable that was not set. */
export function checkKey(key: string | undefined): string | undefined {
	if (key === undefined || /^[\x21-\x7e]{1,200}$/.test(key)) return key;
	const hint = "It has 1 to 200 letters, digits and signs, without spaces.";
	throw new ReeveError("usage", `--idempotency-key cannot be \`${key}\``, hint);
}

export function checkAgentId(id: string): string {
	if (AGENT_ID.test(id)) return id;
	const hint = SCOPE.test(id)
		? `Ids are \`project:agent\`. If \`${id}\` is a project, \`reeve ps ${id}\` lists its agents.`
		: "Ids are `project:agent`, by the names in the fleet file; `reeve ps` lists them.";
	throw new ReeveError("usage", `\`${id}\` is not the id of an agent`, hint);
}

/**
 * The scopes that a command is for, `*` for all. Without any it is a usage error: nobody means a whole
 * fleet by leaving something out.
 */
export function parseScopes(
	scopes: readonly string[],
	all: boolean | undefined,
	command: string,
): readonly string[] {
	if (all && scopes.length > 0) {
		throw new ReeveError("usage", "either scopes or --all, not both", "Leave one of them out.");
	}
	if (all) return ["*"];
	if (scopes.length > 0) return checkScopes(scopes);
	const hint = `\`reeve ${command} web\` is for a project, \`reeve ${command} web:coder\` for an agent, \`reeve ${command} --all\` for all.`;
	throw new ReeveError("usage", `reeve ${command} needs to know which agents`, hint);
}

export function checkScopes(scopes: readonly string[]): readonly string[] {
	for (const scope of scopes) {
		if (SCOPE.test(scope)) continue;
		const hint = "It is a project, or an agent as `project:agent`; `--all` is for all.";
		throw new ReeveError("usage", `\`${scope}\` is not a scope`, hint);
	}
	return [...new Set(scopes)];
}

/** Those of `ids` that are in one of the scopes, in their order. A scope without any is an error. */
export function selectIds(
	scopes: readonly string[],
	ids: readonly string[],
	where: string,
): readonly string[] {
	for (const scope of scopes) {
		if (scope === "*" || ids.some((id) => isWithin(id, scope))) continue;
		const what = scope.includes(":") ? "agent" : "project";
		throw new ReeveError("agent_not_found", `${where} has no ${what} ${scope}`, near(scope, ids));
	}
	return ids.filter((id) => scopes.some((scope) => isWithin(id, scope)));
}

/** Refuses an agent that nobody knows; asked only when there was nothing to show, since what it did is kept after it. */
export async function refuseUnknownAgent(client: Client, agent: string): Promise<void> {
	const { agents } = await client.call("GET /api/v1/agents");
	const ids = agents.map(({ id }) => id);
	selectIds([agent], ids, "the daemon");
}

export function isWithin(id: string, scope: string): boolean {
	return scope === "*" || id === scope || id.startsWith(`${scope}:`);
}

function near(scope: string, ids: readonly string[]): string {
	if (ids.length === 0) return "It has no agents.";
	const names = scope.includes(":") ? ids : [...new Set(ids.map(projectOf))];
	const meant = nearest(scope, names);
	if (meant !== null) return `Did you mean ${meant}?`;
	const more = names.length > SHOWN_MAX ? ` and ${names.length - SHOWN_MAX} more` : "";
	return `It has: ${names.slice(0, SHOWN_MAX).join(", ")}${more}.`;
}

function projectOf(id: string): string {
	return id.slice(0, id.indexOf(":"));
}

export function countOf(number: number, thing: string): string {
	return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
