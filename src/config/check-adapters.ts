/** `adapter`: it must be built in or defined under `adapters`, but not both. */

import { PLACEHOLDERS, unknownPlaceholders } from "../core/adapter.js";
import { ADAPTERS, HEADLESS_CLIS } from "../core/states.js";
import { originOf, type WrittenAgent } from "./agents.js";
import type { CheckedShape } from "./check-shape.js";
import { nearest } from "./did-you-mean.js";
import type { Path } from "./outline.js";
import type { PathSet } from "./path-set.js";
import { type Explanation, type Finding, finding, quote, quoteList } from "./problem.js";
import { findTree, locateKey, namesIn, type ScalarTree, type Tree } from "./tree.js";

const BUILT_IN: ReadonlySet<string> = new Set(ADAPTERS);

export function checkAdapters(
	tree: Tree,
	agents: readonly WrittenAgent[],
	{ broken }: CheckedShape,
): readonly Finding[] {
	const own = namesIn(tree, ["adapters"]);
	const findings = own.flatMap((name) => [
		...checkLines(tree, name),
		...checkConversation(tree, ["adapters", name], broken),
		...checkSeeds(tree, ["adapters", name]),
		...checkPlaceholders(tree, ["adapters", name]),
	]);
	const taken = own.flatMap((name) => {
		if (!BUILT_IN.has(name)) return [];
		const path = ["adapters", name];
		const message = `${quote(name)} is built in`;
		return [finding(locateKey(tree, path), path, { message, hint: "choose another name" })];
	});
	findings.push(...taken);
	const seen = new Set<string>();
	for (const agent of agents) {
		const path = originOf(tree, agent, ["adapter"]);
		const written = path === null ? null : findTree(tree, path);
		// A mistake in `defaults` is reported once, not for every agent.
		if (path === null || seen.has(path.join("."))) continue;
		seen.add(path.join("."));
		if (written?.type !== "scalar" || written.faulty || broken.covers(path)) continue;
		const name = String(written.value);
		const isKnown = BUILT_IN.has(name) || own.includes(name);
		const reported = isKnown ? explainKind(name, agent) : explainUnknown(written.written, own);
		// Defaults apply only to agents that support them.
		if (reported !== null && !(isKnown && path[0] === "defaults")) {
			findings.push(finding(written.at, path, reported));
		}
	}
	return findings;
}

/** Without a path, the lines of a transcript would never be read. */
function checkLines(tree: Tree, name: string): readonly Finding[] {
	const path = ["adapters", name, "lines"];
	if (findTree(tree, path) === null) return [];
	const place = findTree(tree, ["adapters", name, "conversation", "transcript"]);
	if (place !== null && !(place.type === "list" && place.items.length === 0)) return [];
	const message = "`lines` needs the path of the conversation's transcript";
	const hint = "set `conversation.transcript`";
	return [finding(locateKey(tree, path), path, { message, hint })];
}

/** A seed either sets a value or appends to a list. */
function checkSeeds(tree: Tree, adapter: Path): readonly Finding[] {
	const seeds = findTree(tree, [...adapter, "seeds"]);
	if (seeds?.type !== "list") return [];
	return [...seeds.items.keys()].flatMap((index) => {
		const path = [...adapter, "seeds", index, "add"];
		const value = findTree(tree, [...adapter, "seeds", index, "value"]);
		if (findTree(tree, path) === null || value === null) return [];
		const message = "a seed cannot have both `value` and `add`";
		const hint = "`value` sets a missing key, `add` appends to a list";
		return [finding(locateKey(tree, path), path, { message, hint })];
	});
}

/** Keys that may contain the conversation id at every start, fresh or resumed. */
const AT_EVERY_START = ["command", "args", "seed_args", "env", "files"];

/** Finds a conversation id that the program never gets, and a conversation that is never resumed. */
function checkConversation(tree: Tree, adapter: Path, broken: PathSet): readonly Finding[] {
	const path = [...adapter, "conversation"];
	const id = findTree(tree, [...path, "id"]);
	if (broken.covers(path) || broken.covers([...path, "id"])) return [];
	if (id === null || (id.type === "scalar" && id.value === "none")) {
		const resume = [...path, "resume"];
		const written = findTree(tree, resume);
		if (written?.type !== "list" || written.items.length === 0) return [];
		const message = "`resume` has no effect: with `id: none` no conversation is resumed";
		const hint = "set `id: chosen`, `id: reported` or `id: last`, or remove `resume`";
		return [finding(locateKey(tree, resume), resume, { message, hint })];
	}
	if (id.type === "scalar" && id.value === "last") return checkLast(tree, adapter);
	if (id.type !== "scalar" || id.value !== "chosen") return [];
	if (AT_EVERY_START.some((key) => namesConversation(tree, [...adapter, key]))) return [];
	return ["fresh", "resume"].flatMap((key) => {
		const place = [...path, key];
		if (namesConversation(tree, place) || broken.covers(place)) return [];
		const message = `\`${key}\` does not contain the conversation id that Reeve chooses`;
		const flag = key === "fresh" ? "--session-id" : "--resume";
		const hint = `write \`${key}: [${flag}, <conversation>]\`, with the program's own flag`;
		return [finding(locateKey(tree, place), place, { message, hint })];
	});
}

/** A CLI that can only resume its last conversation needs no id. */
function checkLast(tree: Tree, adapter: Path): readonly Finding[] {
	const path = [...adapter, "conversation"];
	const resume = findTree(tree, [...path, "resume"]);
	if (resume === null || (resume.type === "list" && resume.items.length === 0)) {
		const message = "`id: last` needs `resume`: the arguments that resume the last conversation";
		const hint = "write `resume: [--continue]`, with the program's own flag";
		return [finding(locateKey(tree, [...path, "id"]), [...path, "id"], { message, hint })];
	}
	const places = [...AT_EVERY_START.map((key) => [key]), ...CONVERSATION_KEYS];
	return places.flatMap((place) => {
		const at = [...adapter, ...place];
		if (!namesConversation(tree, at)) return [];
		const message = "`<conversation>` has no value with `id: last`";
		const hint = "remove `<conversation>`, or set `id: chosen` or `id: reported`";
		return [finding(locateKey(tree, at), at, { message, hint })];
	});
}

const CONVERSATION_KEYS = ["fresh", "resume", "transcript"].map((key) => ["conversation", key]);

const CALLABLE: ReadonlySet<string> = new Set([...HEADLESS_CLIS, "generic"]);

/** Agents that are called speak Reeve's protocol, or are a CLI that Reeve can call. */
function explainKind(name: string, { kind }: WrittenAgent): Explanation | null {
	if (name === "acp") {
		if (kind === "worker" || kind === null) return null;
		return {
			message:
				"the adapter `acp` needs `kind: worker`: one process serves many prompts, without a terminal",
			hint: "write `kind: worker`",
		};
	}
	if (kind === "worker" && name !== "generic") {
		return {
			message: `${quote(name)} cannot be a worker: agent CLIs do not serve many requests in one process`,
			hint: "write `kind: call`, or remove `adapter` if the program speaks Reeve's protocol",
		};
	}
	if (kind !== "call" || CALLABLE.has(name)) return null;
	return {
		message: `${quote(name)} cannot be called without a terminal`,
		expected: quoteList([...HEADLESS_CLIS], "or"),
		hint: "remove `adapter` if the program speaks Reeve's protocol",
	};
}

function explainUnknown(written: string, own: readonly string[]): Explanation {
	const words = [...new Set<string>([...ADAPTERS, ...own])];
	// `claude-code` is a common name of `claude`.
	const known = words.find((word) => written.startsWith(`${word}-`));
	const meant = nearest(written, words) ?? known ?? null;
	return {
		message: `unknown adapter ${quote(written)}`,
		expected: quoteList(words, "or"),
		hint:
			meant === null
				? "describe it at the top of the file, under `adapters`"
				: `did you mean ${quote(meant)}?`,
	};
}

/** The keys whose placeholders are replaced. */
const FILLED: readonly Path[] = [
	["command"],
	["args"],
	["seed_args"],
	["env"],
	["conversation", "fresh"],
	["conversation", "resume"],
	["conversation", "transcript"],
	["files"],
	["seeds"],
];

function checkPlaceholders(tree: Tree, adapter: Path): readonly Finding[] {
	return FILLED.flatMap((key) => {
		// A file may contain markup or code, where `<word>` is common.
		const isFile = key[0] === "files";
		return textsIn(tree, [...adapter, ...key]).flatMap(({ text, path }) => {
			const explanation = explain(text, isFile);
			return explanation === null ? [] : [finding(text.at, path, explanation)];
		});
	});
}

/** Whether one of these texts contains the conversation id, or a misspelling of it. */
function namesConversation(tree: Tree, path: Path): boolean {
	return textsIn(tree, path).some(({ text }) => {
		const slips = unknownPlaceholders(text.written);
		return (
			/<conversation8?>/.test(String(text.value)) ||
			slips.some((name) => nearest(name, PLACEHOLDERS)?.startsWith("conversation"))
		);
	});
}

interface PlacedText {
	readonly text: ScalarTree;
	readonly path: Path;
}

/** Every scalar at and below this path. */
function textsIn(tree: Tree, path: Path): readonly PlacedText[] {
	const at = findTree(tree, path);
	if (at === null) return [];
	if (at.type === "scalar") return at.faulty ? [] : [{ text: at, path }];
	const steps = at.type === "list" ? at.items.keys() : at.entries.keys();
	return [...steps].flatMap((step) => textsIn(tree, [...path, step]));
}

function explain(text: ScalarTree, nearOnly: boolean): Explanation | null {
	// As written: values of variables are not quoted.
	for (const name of unknownPlaceholders(text.written)) {
		const meant = nearest(name, PLACEHOLDERS);
		if (meant === null && nearOnly) continue;
		return {
			message: `unknown placeholder ${quote(`<${name}>`)}`,
			expected: `${quoteList(
				PLACEHOLDERS.map((each) => `<${each}>`),
				"or",
			)}, or a variable such as \`<CODEX_HOME>\``,
			hint: meant === null ? null : `did you mean ${quote(`<${meant}>`)}?`,
		};
	}
	return null;
}
