/** Collects the evidence about an ended run, and classifies its exit. */

import type { AgentSpec } from "../../config/spec.js";
import { isConversationGone } from "../../core/conversation.js";
import type { ExitReport } from "../../core/exit.js";
import { explainExit } from "../../core/exit-cause.js";
import type { AgentSign } from "../../core/sign.js";
import type { SessionRun } from "./run.js";
import type { SessionWorld } from "./session-world.js";

/** An exit with its cause, and the evidence for it. */
export interface ClassifiedRun {
	readonly report: ExitReport;
	readonly signs: readonly AgentSign[];
	readonly lastOutput: string;
}

/** Unreadable evidence is ignored. */
export async function classifyRun(
	{ adapterOf, signs: readSigns, lastOutput: readOutput, readReset }: SessionWorld,
	spec: AgentSpec,
	run: SessionRun,
	facts: ExitReport,
	atMs: number,
): Promise<ClassifiedRun> {
	// Nothing has run, so all readable evidence belongs to an earlier run.
	if (run.handle === null) return { report: facts, signs: [], lastOutput: "" };
	const { profile } = adapterOf(spec);
	const conversation = run.conversation?.id ?? null;
	const signs = await readSigns(spec, conversation, run.handle.startedAtMs, true).catch(() => []);
	const lastOutput =
		profile.exits === null && run.conversation === null
			? ""
			: await readOutput(spec, run.handle.outputFrom ?? 0).catch(() => "");
	// The CLI itself reports that this conversation does not exist: a new one is started, whatever its exit code means.
	const isResumed = profile.conversation.gone.length > 0 && run.conversation?.mode === "resume";
	if (isConversationGone(profile, isResumed, facts, lastOutput)) {
		const report = { ...facts, cause: "crash", detail: "its conversation does not exist" } as const;
		return { report, signs, lastOutput };
	}
	const readAtExit = (text: string) => readReset(spec, text, atMs);
	const evidence = { signs, lastOutput, atMs, readReset: readAtExit };
	const explained = { ...facts, ...explainExit(profile, facts, evidence) };
	return { report: { ...explained, detail: explained.detail ?? facts.detail }, signs, lastOutput };
}
