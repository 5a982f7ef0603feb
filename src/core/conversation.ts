/**
 * Which conversation a start resumes. An agent has one of its own, known by its id, or by its folder where the CLI
 * can only resume the last one of a folder. A new one is started only on request, or when the old one is gone.
 */

import type { AdapterProfile } from "./adapter.js";
import type { ExitReport } from "./exit.js";
import { compilePattern } from "./pattern.js";

export interface ConversationFacts {
	/** The agent's conversation so far. */
	readonly known: string | null;
	/** Whether the agent is to go on where it stopped. */
	readonly withContinue: boolean;
	/** Whether there is a record of it; null where that cannot be told. */
	readonly recorded: boolean | null;
	/** An id that nobody has used. */
	readonly newId: string;
	/** The agent's working directory. */
	readonly cwd: string;
}

export interface ConversationStart {
	readonly mode: "fresh" | "resume";
	/** Null where there is none, or the CLI has not told it yet. */
	readonly id: string | null;
}

/** How ids are written: a UUID, or something without dashes. */
const ID = "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[^/-]+)";

/**
 * The one conversation whose record is among these files, by the path of records with `<conversation>`
 * still in it; null when there is none, or more than one.
 */
export function findConversation(record: string, files: readonly string[]): string | null {
	const source = record
		.split(/(\*|<conversation>)/)
		.map((part) => {
			if (part === "*") return "[^/]*?";
			return part === "<conversation>" ? ID : part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&");
		})
		.join("");
	const pattern = compilePattern(`^${source}$`);
	const ids = new Set(files.flatMap((file) => pattern.capture(file) ?? []));
	const [id = null] = ids;
	return ids.size === 1 ? id : null;
}

export function decideConversation(
	{ conversation }: AdapterProfile,
	{ known, withContinue, recorded, newId, cwd }: ConversationFacts,
): ConversationStart {
	switch (conversation.id) {
		case "none":
			return { mode: "fresh", id: null };
		case "told":
			return withContinue && known !== null
				? { mode: "resume", id: known }
				: { mode: "fresh", id: null };
		case "last":
			// The folder stands for its last conversation, so two agents in one folder ask for the same lease.
			return { mode: withContinue && known === cwd ? "resume" : "fresh", id: cwd };
		case "chosen":
			if (!withContinue || known === null) return { mode: "fresh", id: newId };
			// Started and never asked anything: there is nothing to resume, and the id is still free.
			return { mode: recorded === false ? "fresh" : "resume", id: known };
		default:
			return conversation.id satisfies never;
	}
}

/** A CLI that does not find its conversation says so at once. */
const GONE_WITHIN_MS = 15_000;

/**
 * Whether a run ended because the conversation that it was to take up is not there. Such an agent
 * begins a new one at its next start, once: that start resumes nothing, so it cannot fail this way.
 */
export function isConversationGone(
	{ conversation }: AdapterProfile,
	resumed: boolean,
	{ askedBy, code, signal, uptimeMs }: Pick<ExitReport, "askedBy" | "code" | "signal" | "uptimeMs">,
	lastWords: string,
): boolean {
	if (!resumed || askedBy !== null || signal !== null || code === 0) return false;
	if (uptimeMs > GONE_WITHIN_MS) return false;
	const { gone } = conversation;
	return gone.length === 0 || gone.some((pattern) => compilePattern(pattern).test(lastWords));
}
