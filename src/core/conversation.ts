/**
 * Which conversation a start resumes. An agent has its own conversation, identified by its id, or by its directory if
 * the CLI can only resume the last one of a directory. A new one is started only on request, or if the old one is gone.
 */

import type { AdapterProfile } from "./adapter.js";
import type { ExitReport } from "./exit.js";
import { compilePattern } from "./pattern.js";

export interface ConversationFacts {
	/** The agent's current conversation. */
	readonly known: string | null;
	/** Whether the agent should continue its conversation. */
	readonly withContinue: boolean;
	/** Whether a transcript of it exists; null if that is unknown. */
	readonly recorded: boolean | null;
	/** An unused id. */
	readonly newId: string;
	/** The agent's working directory. */
	readonly cwd: string;
}

export interface ConversationStart {
	readonly mode: "fresh" | "resume";
	/** Null if there is none, or the CLI has not reported it yet. */
	readonly id: string | null;
}

/** Formats of ids: a UUID, or text without dashes. */
const ID = "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[^/-]+)";

/**
 * The only conversation whose transcript is among these files, by a path pattern that still contains
 * `<conversation>`; null if there is none, or more than one.
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
	// Specs stored by earlier versions use `told`.
	const id = (conversation.id as string) === "told" ? "reported" : conversation.id;
	switch (id) {
		case "none":
			return { mode: "fresh", id: null };
		case "reported":
			return withContinue && known !== null
				? { mode: "resume", id: known }
				: { mode: "fresh", id: null };
		case "last":
			// The directory identifies its last conversation, so two agents in one directory request the same lease.
			return { mode: withContinue && known === cwd ? "resume" : "fresh", id: cwd };
		case "chosen":
			if (!withContinue || known === null) return { mode: "fresh", id: newId };
			// Started but never prompted: there is nothing to resume, and the id is still unused.
			return { mode: recorded === false ? "fresh" : "resume", id: known };
		default:
			return id satisfies never;
	}
}

/** A CLI that does not find its conversation reports that immediately. */
const GONE_WITHIN_MS = 15_000;

/**
 * Whether a run ended because the conversation to resume does not exist. The next start then begins a
 * new one. This happens only once, because that start resumes nothing and cannot fail this way.
 */
export function isConversationGone(
	{ conversation }: AdapterProfile,
	resumed: boolean,
	{ askedBy, code, signal, uptimeMs }: Pick<ExitReport, "askedBy" | "code" | "signal" | "uptimeMs">,
	lastOutput: string,
): boolean {
	if (!resumed || askedBy !== null || signal !== null || code === 0) return false;
	if (uptimeMs > GONE_WITHIN_MS) return false;
	const { gone } = conversation;
	return gone.length === 0 || gone.some((pattern) => compilePattern(pattern).test(lastOutput));
}
