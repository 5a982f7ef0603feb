/**
 * Responses of a remote, with its name in front of every id. Clients that show several hosts use it: the
 * merged client of the CLI, and the web page.
 */

import { joinHost } from "../../core/remote.js";

/** Keys of ids in responses. `agent` and `id` are also used for names and for other ids. */
const ID_KEYS: ReadonlySet<string> = new Set([
	...["agent_id", "project", "task_id", "plan_id", "replay_of", "replayed_as"],
	// The agents that a search did not finish.
	"incomplete",
]);
const AGENT_ID = /^[a-z0-9][a-z0-9_-]*:[a-z0-9][a-z0-9_-]*$/;
/** Content of agents and users, which is not Reeve's. */
const OPAQUE: ReadonlySet<string> = new Set([
	...["payload", "result", "context", "response", "settings", "data", "env"],
]);

/** The response with the name of the remote in front of every id, also in commands that it suggests. */
export function prefixIds(remote: string, value: unknown, key = ""): unknown {
	if (typeof value === "string") return prefixText(remote, key, value);
	if (Array.isArray(value)) return value.map((each) => prefixIds(remote, each, key));
	if (typeof value !== "object" || value === null) return value;
	const entries = Object.entries(value).map(([name, each]) => [
		name,
		OPAQUE.has(name) ? each : prefixIds(remote, each, name),
	]);
	// Messages are the only objects whose own id is sent back without an agent.
	const copy = Object.fromEntries(entries);
	if ("phase" in copy && typeof copy.id === "string") copy.id = joinHost(remote, copy.id);
	return copy;
}

function prefixText(remote: string, key: string, text: string): string {
	const isAgent = (key === "id" || key === "agent" || key === "agents") && AGENT_ID.test(text);
	if (isAgent || ID_KEYS.has(key)) return joinHost(remote, text);
	return prefixCommands(remote, text);
}

/** `reeve resume web:coder` only works with the name of the remote. */
export function prefixCommands(remote: string, text: string): string {
	return text.replace(/`reeve [^`]*`/g, (command) =>
		command.replace(/(?<= )([a-z0-9][a-z0-9_-]*:[a-z0-9][a-z0-9_-]*)/g, `${remote}/$1`),
	);
}
