/**
 * Short forms of ids: a project or an agent's name instead of `project:agent`, and a part of the id of
 * a task or plan. A short form must match exactly one object; otherwise the error lists the candidates.
 */

import type { Client } from "../client/client.js";
import { nearest } from "../config/did-you-mean.js";
import { ReeveError } from "../core/errors.js";
import { joinHost, splitHost } from "../core/remote.js";
import type { AgentJson } from "../http/contract/agents.js";
import { isWithin } from "./arguments.js";

const NAME = "[a-z0-9][a-z0-9_-]{0,62}";
const AGENT_ID = new RegExp(`^(${NAME}/)?${NAME}:${NAME}$`);
const NAME_ONLY = new RegExp(`^(${NAME}/)?${NAME}$`);
const SHOWN_MAX = 12;

/** All agents, of remotes too. */
export async function listAgents(
	client: Client,
	scopes: readonly string[],
): Promise<readonly AgentJson[]> {
	const { agents } = await client.call("GET /api/v1/agents");
	await checkRemotes(
		client,
		scopes,
		agents.map(({ id }) => id),
	);
	return agents;
}

/**
 * Throws if a remote that the texts name does not answer. Lists leave such a remote out, so without
 * this check the error would be that its agents do not exist.
 */
export async function checkRemotes(
	client: Client,
	texts: readonly string[],
	listed: readonly string[],
): Promise<void> {
	const answered = new Set(listed.map((id) => splitHost(id).host));
	const named = new Set(texts.map((text) => splitHost(text).host));
	for (const host of named) {
		if (host === null || answered.has(host)) continue;
		await client.call("GET /api/v1/agents", { query: { ids: joinHost(host, "none:none") } });
	}
}

/** The id of the agent. A full id is used unchanged; a name is looked up at the daemon. */
export async function resolveAgent(text: string, client: Client): Promise<string> {
	if (AGENT_ID.test(text)) return text;
	if (!NAME_ONLY.test(text)) {
		const hint = "Use `project:agent` or the agent's name. `reeve ps` lists the agents.";
		throw new ReeveError("usage", `\`${text}\` is not a valid agent id`, hint);
	}
	const agents = await listAgents(client, [text]);
	return findAgent(
		text,
		agents.map(({ id }) => id),
		"the daemon",
	);
}

/** The matching agent: by its id, its name, or a project with only one agent. */
export function findAgent(text: string, ids: readonly string[], where: string): string {
	const found = ids.includes(text)
		? text
		: (named(text, ids) ?? only(text, agentsOf(text, ids), "agent"));
	if (found !== null) return found;
	throw new ReeveError("agent_not_found", `${where} has no agent ${text}`, near(text, ids));
}

/** Rejects an unknown agent. Called only if there is nothing to show, because tasks outlive agents. */
export async function refuseUnknownAgent(client: Client, agent: string | undefined): Promise<void> {
	if (agent === undefined) return;
	const agents = await listAgents(client, [agent]);
	resolveScopes(
		[agent],
		agents.map(({ id }) => id),
		"the daemon",
	);
}

/**
 * The resolved scopes: `*`, projects, and agents by id. Text that is neither a project nor an id is
 * matched against the names of agents. A scope without any agent is an error.
 */
export function resolveScopes(
	scopes: readonly string[],
	ids: readonly string[],
	where: string,
): readonly string[] {
	const resolved = scopes.map((scope) => {
		if (scope === "*" || ids.some((id) => isWithin(id, scope))) return scope;
		const found = scope.includes(":") ? null : named(scope, ids);
		if (found !== null) return found;
		const what = scope.includes(":") ? "agent" : "project or agent";
		throw new ReeveError("agent_not_found", `${where} has no ${what} ${scope}`, near(scope, ids));
	});
	return [...new Set(resolved)];
}

/** The `ids` that are in one of the scopes, in their order. */
export function selectIds(
	scopes: readonly string[],
	ids: readonly string[],
	where: string,
): readonly string[] {
	const resolved = resolveScopes(scopes, ids, where);
	return ids.filter((id) => resolved.some((scope) => isWithin(id, scope)));
}

/**
 * The agent with this name, or the only one whose name starts with it; null if there is none. Agents of
 * this host come before those of remotes.
 */
function named(text: string, ids: readonly string[]): string | null {
	const { host, rest: name } = splitHost(text);
	const own = ids.filter((id) => splitHost(id).host === host);
	return namedAmong(name, own) ?? (host === null ? namedAmong(name, ids) : null);
}

function namedAmong(name: string, ids: readonly string[]): string | null {
	const exact = ids.filter((id) => id.endsWith(`:${name}`));
	if (exact.length > 0) return only(name, exact, "agent");
	return only(
		name,
		ids.filter((id) => id.includes(`:${name}`)),
		"agent",
	);
}

function agentsOf(project: string, ids: readonly string[]): readonly string[] {
	return ids.filter((id) => id.startsWith(`${project}:`));
}

function only(text: string, found: readonly string[], what: string): string | null {
	if (found.length <= 1) return found[0] ?? null;
	throw ambiguous(text, found, what);
}

function ambiguous(text: string, found: readonly string[], what: string): ReeveError {
	return new ReeveError(
		"usage",
		`\`${text}\` is ambiguous, it matches ${found.length} ${what}s: ${listed(found)}`,
		"Use a longer part of the id.",
	);
}

function near(scope: string, ids: readonly string[]): string {
	if (ids.length === 0) return "It has no agents.";
	const projects = [...new Set(ids.map((id) => id.slice(0, id.indexOf(":"))))];
	const names = scope.includes(":") ? ids : projects;
	const meant = nearest(scope, names) ?? nearestByName(scope, ids);
	if (meant !== null) return `Did you mean ${meant}?`;
	// A single project is known already, its agents may not be.
	return `It has: ${listed(projects.length === 1 ? ids : names)}.`;
}

function nearestByName(name: string, ids: readonly string[]): string | null {
	const byName = new Map(ids.map((id) => [id.slice(id.indexOf(":") + 1), id]));
	const found = nearest(name, [...byName.keys()]);
	return found === null ? null : (byName.get(found) ?? null);
}

function listed(names: readonly string[]): string {
	const more = names.length > SHOWN_MAX ? ` and ${names.length - SHOWN_MAX} more` : "";
	return `${names.slice(0, SHOWN_MAX).join(", ")}${more}`;
}

const FULL_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ID_PART = /^[0-9a-f-]{4,35}$/;

/** The id of the task with this prefix or suffix. */
export async function resolveTask(text: string, client: Client): Promise<string> {
	return resolvePart(text, "task", async (part) => {
		const query = { part, limit: SHOWN_MAX };
		const { tasks } = await client.call("GET /api/v1/tasks", { query });
		return tasks.map((task) => ({
			id: task.task_id,
			about: `${task.agent} ${task.action}, ${task.status}`,
		}));
	});
}

/** The id of the plan with this prefix or suffix. */
export async function resolvePlan(text: string, client: Client): Promise<string> {
	return resolvePart(text, "plan", async (part) => {
		const query = { part, limit: SHOWN_MAX };
		const { plans } = await client.call("GET /api/v1/plans", { query });
		return plans.map((plan) => ({ id: plan.plan_id, about: `${plan.name}, ${plan.status}` }));
	});
}

interface Candidate {
	readonly id: string;
	readonly about: string;
}

/** Text that cannot be a part of an id is passed on, and the daemon reports that it does not exist. */
async function resolvePart(
	text: string,
	what: string,
	find: (part: string) => Promise<readonly Candidate[]>,
): Promise<string> {
	const { host, rest } = splitHost(text);
	const part = rest.toLowerCase();
	if (FULL_ID.test(part) || !ID_PART.test(part)) return text;
	const listed = await find(part);
	const found = host === null ? listed : listed.filter(({ id }) => splitHost(id).host === host);
	if (found.length <= 1) return found[0]?.id ?? text;
	const many = found.length === SHOWN_MAX ? "many" : String(found.length);
	const lines = found.map(({ id, about }) => `\n  ${id}  ${about}`).join("");
	throw new ReeveError(
		"usage",
		`\`${text}\` is ambiguous, it matches ${many} ${what}s:${lines}`,
		"Use more of the id, or its end: ids created within the same minute have the same prefix.",
	);
}

/** The token with this id or name, or the only one with this id prefix. */
export function resolveToken(
	text: string,
	tokens: readonly { readonly id: string; readonly name: string | null }[],
): string {
	const exact = tokens.filter(({ id, name }) => id === text || name === text);
	const found = exact.length > 0 ? exact : tokens.filter(({ id }) => id.startsWith(text));
	if (found.length > 1) {
		const ids = found.map(({ id, name }) => (name === null ? id : `${id} (${name})`));
		throw ambiguous(text, ids, "token");
	}
	return found[0]?.id ?? text;
}
