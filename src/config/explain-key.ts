/**
 * Why a key is invalid at its position: unknown, known elsewhere, an invalid id, or a key of another
 * kind of agent. Keys never contain a variable's value, but may contain a secret by mistake.
 */

import { isReserved } from "../core/environment.js";
import type { AgentKind } from "../core/states.js";
import { nearest } from "./did-you-mean.js";
import type { Outline } from "./outline.js";
import { type Explanation, quote, quoteList } from "./problem.js";

const ID_LENGTH_MAX = 63;

/** Names of the same key in other tools. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
	cmd: "command",
	program: "command",
	arguments: "args",
	environment: "env",
	dir: "cwd",
	directory: "cwd",
	workdir: "cwd",
	working_dir: "cwd",
	type: "kind",
	mem: "memory",
	attempts: "max_attempts",
	after: "depends_on",
};

/** Keys that users of a cluster look for in the fleet file. */
const NOT_HERE: Readonly<Record<string, string>> = {
	cluster:
		"a cluster is a setting of the daemon, because it describes the host: write it in `daemon.json`, see docs/guides/cluster.md",
};

export function explainUnknownKey(key: string, section: Outline, root: Outline): Explanation {
	const message = `unknown key ${quoteKey(key)}`;
	const notHere = Object.hasOwn(NOT_HERE, key) ? NOT_HERE[key] : undefined;
	if (notHere !== undefined) return { message, hint: notHere };
	if (key === "<<") {
		return {
			message,
			hint: "YAML merge keys are not supported; put keys for all agents under `defaults`",
		};
	}
	const homes = homesOf(root, key);
	if (homes.length > 0) {
		return { message, hint: `${quote(key)} belongs ${homes.join(" or ")}` };
	}
	const meant = meantKey(key, section);
	if (meant !== null) return { message, hint: `did you mean ${quote(meant)}?` };
	return { message, expected: quoteList([...section.keys.keys()], "or") };
}

/** A key up to its first `=`: the rest may be a secret. */
function quoteKey(key: string): string {
	return quote(key.replace(/=.*$/s, "=…"));
}

/** Whether a missing key was written with a typo. */
export function isMisspelt(key: string, written: Iterable<string>, section: Outline): boolean {
	for (const each of written) {
		if (!section.keys.has(each) && meantKey(each, section) === key) return true;
	}
	return false;
}

function meantKey(key: string, section: Outline): string | null {
	const exact = Object.hasOwn(OTHER_NAMES, key.toLowerCase()) ? key.toLowerCase() : null;
	const own = exact === null ? nearest(key, section.keys.keys()) : null;
	if (own !== null) return own;
	const other = exact ?? nearest(key, Object.keys(OTHER_NAMES));
	const synonym = other === null ? undefined : OTHER_NAMES[other];
	return synonym !== undefined && section.keys.has(synonym) ? synonym : null;
}

export function explainBadId(key: string): Explanation {
	const meant = suggestId(key);
	return {
		message: "this is not a valid id",
		expected:
			"lower-case letters, digits, `-` and `_`, at most 63, starting with a letter or digit",
		hint: meant === null ? null : `write ${quote(meant)}`,
	};
}

export function explainBadEnvName(name: string): Explanation {
	const expected = "a variable name: letters, digits and `_`";
	if (name === "") return { message: "the name is empty", expected };
	if (isReserved(name) && /^\w+$/.test(name)) {
		const message = `${quote(name)} cannot be set: names that start with \`REEVE_\` are reserved`;
		return { message, expected };
	}
	const slipped = /[=:]/.test(name);
	const message = "this is not a valid variable name";
	return { message, expected, hint: slipped ? "write `NAME: value`, with a space" : null };
}

export function explainWrongKind(
	key: string,
	kinds: readonly AgentKind[],
	actual: AgentKind,
	kindIsWritten: boolean,
): Explanation {
	const message = `${quote(key)} only applies to ${kinds.join(" and ")} agents; this is a ${actual} agent`;
	const choices = kinds.map((kind) => `kind: ${kind}`);
	return {
		message,
		hint: kindIsWritten ? null : `add ${quoteList(choices, "or")}, or remove the key`,
	};
}

/** The valid id closest to a name, or null. */
export function suggestId(name: string): string | null {
	// The text after a `=` may be a secret.
	if (name.includes("=")) return null;
	const id = name
		.slice(0, 200)
		.replace(/([a-z])([A-Z])/g, "$1-$2")
		.toLowerCase()
		.replace(/[^a-z0-9_-]+/g, "-")
		.replace(/^[-_]+|-+$/g, "")
		.slice(0, ID_LENGTH_MAX);
	return id === "" ? null : id;
}

/** Where a key is valid, as text: `under \`retry\``, `in a project`. */
function homesOf(root: Outline, key: string): readonly string[] {
	const project = root.keys.get("projects")?.each;
	const agent = project?.keys.get("agents")?.each;
	const homes: string[] = [];
	if (root.keys.has(key)) homes.push("at the top of the file");
	if (project?.keys.has(key)) homes.push("in a project");
	if (agent?.keys.has(key)) homes.push("in an agent");
	for (const under of sectionsWith(agent ?? root, key, [])) homes.push(`under ${quote(under)}`);
	return homes;
}

function sectionsWith(outline: Outline, key: string, trail: readonly string[]): readonly string[] {
	return [...outline.keys].flatMap(([name, each]) => {
		if (each.type !== "section") return [];
		const here = [...trail, name];
		return [...(each.keys.has(key) ? [here.join(".")] : []), ...sectionsWith(each, key, here)];
	});
}
