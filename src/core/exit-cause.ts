/**
 * Why an agent exited: who requested it, how its last turn ended, its exit code. Only structured reports decide (hooks,
 * transcripts, exit codes with a meaning in the adapter). Printed text never decides, because the last screen shows the
 * conversation, which may mention logins, limits and overload. Text only adds a detail.
 */

import type { AdapterProfile, KnownCause, TurnCause } from "./adapter.js";
import type { ExitCause, ExitReport } from "./exit.js";
import { type AgentSign, shorten } from "./sign.js";
import { type FoundText, findText } from "./turn-failure.js";

export interface ExitEvidence {
	/** Oldest first. */
	readonly signs: readonly AgentSign[];
	/** The end of the agent's output. */
	readonly lastOutput: string;
	/** When the run ended, in wall time. */
	readonly atMs: number;
	/** When a limit lifts, in wall time, from a text; null if the text contains no time. */
	readonly readReset: (text: string) => number | null;
}

type ExitVerdict = Pick<ExitReport, "cause" | "detail" | "resetInMs">;

/** A failed turn explains an exit that follows it soon; an agent that waited for hours exited for another reason. */
const EXPLAINS_WITHIN_MS = 600_000;

/** Failed turns after which a CLI may exit. The others concern one request, not the agent. */
const EXPLAINS: Partial<Record<TurnCause, KnownCause>> = {
	usage_limit: "usage_limit",
	auth: "auth",
	config: "config",
	overloaded: "overloaded",
};

export function explainExit(
	{ exits }: AdapterProfile,
	report: ExitReport,
	evidence: ExitEvidence,
): ExitVerdict {
	const { cause, detail, resetInMs } = report;
	// A cause that the backend observed is final.
	if (cause !== "unknown") return { cause, detail, resetInMs };
	if (report.askedBy !== null) return verdict("requested");
	// An agent that survived a failed turn did not die by a signal because of it.
	const failure = isSignalled(report) ? null : lastFailure(evidence);
	if (failure !== null) return failure;
	if (exits === null) return { cause, detail, resetInMs };
	if (report.signal !== null) return verdict("crash");
	const ended = exits.codes.find(({ code }) => code === report.code);
	const reported = report.code === 0 ? null : findText(exits.texts, evidence.lastOutput);
	if (ended !== undefined) {
		const confirmed = reported?.text.cause === ended.cause ? reported : null;
		return causeFromText(ended.cause, confirmed, evidence);
	}
	if (report.code === 0) return verdict("completed");
	if (report.code === null) return verdict("unknown");
	return { ...verdict("crash"), detail: reported === null ? null : mention(reported) };
}

/** Whether it exited by a signal, including a CLI that catches the signal and exits with 128 plus its number. */
function isSignalled({ signal, code }: ExitReport): boolean {
	return signal !== null || (code !== null && CAUGHT_SIGNALS.has(code));
}

/** SIGHUP, SIGINT, SIGKILL, SIGTERM. */
const CAUGHT_SIGNALS: ReadonlySet<number> = new Set([129, 130, 137, 143]);

/** How the last turn failed, if no successful turn followed. */
function lastFailure({ signs, atMs }: ExitEvidence): ExitVerdict | null {
	const last = signs.findLast(({ failure }) => failure !== undefined);
	const { failure } = last ?? {};
	const cause = failure ? EXPLAINS[failure.cause] : undefined;
	if (!last || !failure || cause === undefined || atMs - last.atMs > EXPLAINS_WITHIN_MS)
		return null;
	const resetInMs = failure.resetAtMs === null ? null : Math.max(0, failure.resetAtMs - atMs);
	return { cause, detail: last.detail ?? null, resetInMs };
}

function mention({ text, line }: FoundText): string {
	const fix = text.fix === null ? "" : ` (if that is the cause: ${text.fix})`;
	return `its last output mentions: ${shorten(line)}${fix}`;
}

function causeFromText(
	cause: KnownCause,
	found: FoundText | null,
	evidence: ExitEvidence,
): ExitVerdict {
	if (found === null) return verdict(cause);
	const { fix } = found.text;
	const words = shorten(found.line);
	const resetAtMs = cause === "usage_limit" ? evidence.readReset(found.line) : null;
	return {
		cause,
		detail: fix === null ? words : `${words}. ${fix}`,
		resetInMs: resetAtMs === null ? null : Math.max(0, resetAtMs - evidence.atMs),
	};
}

function verdict(cause: ExitCause): ExitVerdict {
	return { cause, detail: null, resetInMs: null };
}
