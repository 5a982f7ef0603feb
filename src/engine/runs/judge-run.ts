/** Collects the evidence about an ended run, and classifies its exit. */

import type { AgentSpec } from "../../config/spec.js";
import { isConversationGone } from "../../core/conversation.js";
import type { ExitReport } from "../../core/exit.js";
import { judgeExit } from "../../core/exit-cause.js";
import type { AgentSign } from "../../core/sign.js";
import type { LiveRun } from "./agent-state.js";
import type { SessionWorld } from "./life-world.js";

/** An exit with its cause, and the evidence for it. */
export interface JudgedExit {
	readonly report: ExitReport;
	readonly signs: readonly AgentSign[];
	readonly lastWords: string;
}

/** Unreadable evidence is ignored. */
export async function judgeRun(
	{ adapterOf, signs: readSigns, lastWords: readWords, readReset }: SessionWorld,
	spec: AgentSpec,
	live: LiveRun,
	facts: ExitReport,
	atMs: number,
): Promise<JudgedExit> {
	// Nothing has run, so all readable evidence belongs to an earlier run.
	if (live.handle === null) return { report: facts, signs: [], lastWords: "" };
	const { profile } = adapterOf(spec);
	const conversation = live.conversation?.id ?? null;
	const signs = await readSigns(spec, conversation, live.handle.startedAtMs).catch(() => []);
	const lastWords =
		profile.exits === null && live.conversation === null
			? ""
			: await readWords(spec).catch(() => "");
	// The CLI itself reports that this conversation does not exist: a new one is started, whatever its
	// exit code means.
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
