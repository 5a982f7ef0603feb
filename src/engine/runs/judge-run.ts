/** Gathers what is known of a run that has ended, and has it judged. */

import type { AgentSpec } from "../../config/spec.js";
import { isConversationGone } from "../../core/conversation.js";
import type { ExitReport } from "../../core/exit.js";
import { judgeExit } from "../../core/exit-cause.js";
import type { AgentSign } from "../../core/sign.js";
import type { LiveRun } from "./agent-state.js";
import type { SessionWorld } from "./life-world.js";

/** An end with its cause, and what it was judged by. */
export interface JudgedExit {
	readonly report: ExitReport;
	readonly signs: readonly AgentSign[];
	readonly lastWords: string;
}

/** What cannot be read is not there: an end is judged by what is. */
export async function judgeRun(
	{ adapterOf, signs: readSigns, lastWords: readWords, readReset }: SessionWorld,
	spec: AgentSpec,
	live: LiveRun,
	facts: ExitReport,
	atMs: number,
): Promise<JudgedExit> {
	// Nothing has run, so whatever can be read is of an earlier run.
	if (live.handle === null) return { report: facts, signs: [], lastWords: "" };
	const { profile } = adapterOf(spec);
	const conversation = live.conversation?.id ?? null;
	const signs = await readSigns(spec, conversation, live.handle.startedAtMs).catch(() => []);
	const lastWords =
		profile.exits === null && live.conversation === null
			? ""
			: await readWords(spec).catch(() => "");
	// It says itself that this conversation is not there: a new one will do, whatever its exit code means else.
	const saysSo = profile.conversation.gone.length > 0 && live.conversation?.mode === "resume";
	if (isConversationGone(profile, saysSo, facts, lastWords)) {
		const report = { ...facts, cause: "crash", detail: "its conversation does not exist" } as const;
		return { report, signs, lastWords };
	}
	const readAtExit = (text: string) => readReset(text, atMs);
	const evidence = { signs, lastWords, atMs, readReset: readAtExit };
	const judged = { ...facts, ...judgeExit(profile, facts, evidence) };
	return { report: { ...judged, detail: judged.detail ?? facts.detail }, signs, lastWords };
}
