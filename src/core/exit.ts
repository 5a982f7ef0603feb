/**
 * Classifies an exit by its facts alone. An exit report contains facts and no decision; the crash
 * policy decides, with the agent's history.
 *
 * Keeps S9: the kind of an exit depends only on its facts (code, signal, cause, requester, and whether
 * it is known or declared to be permanent), never on earlier exits.
 */

export const EXIT_CAUSES = [
	"completed",
	"crash",
	"usage_limit",
	"auth",
	"overloaded",
	"config",
	"requested",
	"out_of_memory",
	"spawn_error",
	"start_timeout",
	"unhealthy",
	"unknown",
] as const;
/** Why an agent exited, as determined by its adapter or backend; with `unknown`, the exit code decides. */
export type ExitCause = (typeof EXIT_CAUSES)[number];

/** Who requested the stop of an agent: the operator, Reeve (drain, reload, watchdog), or the host at shutdown. */
export type Asker = "operator" | "reeve" | "host";

/** The facts of an exit, from which everything else is decided. */
export interface ExitReport {
	readonly code: number | null;
	readonly signal: string | null;
	readonly askedBy: Asker | null;
	readonly cause: ExitCause;
	/** How long this run lasted. */
	readonly uptimeMs: number;
	/** A retry cannot succeed: the binary is missing, the working directory is invalid, and so on. */
	readonly permanent: boolean;
	/** A text for the operator: what to fix, or the last output. */
	readonly detail: string | null;
	/** For a usage limit: how long until it lifts, if known. */
	readonly resetInMs: number | null;
}

export const EXIT_KINDS = [
	"planned",
	"clean",
	"failed",
	"permanent",
	"usage_limit",
	"overloaded",
	"auth",
	"config",
	"out_of_memory",
	"spawn_error",
] as const;
/**
 * `planned` was requested; `clean` and `failed` are exits of the agent itself; `permanent` cannot be
 * fixed by a retry; the others have their own cause and policy.
 */
export type ExitKind = (typeof EXIT_KINDS)[number];

const KIND_OF_CAUSE: Readonly<Record<ExitCause, ExitKind | "by_code">> = {
	completed: "clean",
	crash: "failed",
	usage_limit: "usage_limit",
	auth: "auth",
	overloaded: "overloaded",
	config: "config",
	requested: "planned",
	out_of_memory: "out_of_memory",
	spawn_error: "spawn_error",
	// Reeve killed it because it never became ready: a failure like any other crash.
	start_timeout: "failed",
	// Reeve stopped it because its health check kept failing.
	unhealthy: "failed",
	unknown: "by_code",
};

/** Kinds that a retry can fix, unless the report or a declared exit code marks them as permanent. */
const MAY_BE_PERMANENT: ReadonlySet<ExitKind> = new Set(["failed", "spawn_error"]);

/** The facts of an unrequested exit, with defaults for the rarely needed ones. */
export function exitReport(facts: Pick<ExitReport, "uptimeMs"> & Partial<ExitReport>): ExitReport {
	// Field by field: a spread would let undefined replace null.
	return {
		uptimeMs: facts.uptimeMs,
		code: facts.code ?? null,
		signal: facts.signal ?? null,
		askedBy: facts.askedBy ?? null,
		cause: facts.cause ?? "unknown",
		permanent: facts.permanent ?? false,
		detail: facts.detail ?? null,
		resetInMs: facts.resetInMs ?? null,
	};
}

/** Classifies an exit by its facts alone: clean, failed, requested or with a known cause. */
export function classifyExit(report: ExitReport, permanentExitCodes: readonly number[]): ExitKind {
	if (report.askedBy !== null) return "planned";
	const byCause = KIND_OF_CAUSE[report.cause];
	// A lost status (no code, no signal) is not proof of success, so it is a failure.
	const kind = byCause === "by_code" ? (report.code === 0 ? "clean" : "failed") : byCause;
	if (!MAY_BE_PERMANENT.has(kind)) return kind;
	const declared = report.code !== null && permanentExitCodes.includes(report.code);
	return report.permanent || declared ? "permanent" : kind;
}

/** The cause to record. If neither adapter nor backend reported one, it follows from the exit itself. */
export function causeOf(report: ExitReport, kind: ExitKind): ExitCause {
	if (report.cause !== "unknown") return report.cause;
	if (kind === "planned") return "requested";
	if (kind === "clean") return "completed";
	// A lost status proves nothing about why the run ended.
	return report.code === null && report.signal === null ? "unknown" : "crash";
}

/** The exit as a short text: `exit code 1`, `SIGSEGV`, `no exit status`. */
export function renderExit(report: Pick<ExitReport, "code" | "signal">): string {
	if (report.signal !== null) return report.signal;
	return report.code === null ? "no exit status" : `exit code ${report.code}`;
}
