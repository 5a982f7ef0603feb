/**
 * Every way in which the daemon is asked to exit, or exits after an unexpected failure.
 *
 * | trigger | effect |
 * | --- | --- |
 * | SIGTERM, SIGINT | graceful: services get 10 s, exit code 0 |
 * | a second signal | immediate, exit code 1 |
 * | SIGHUP, or a terminal that closes | no exit: settings are reloaded and the log is reopened |
 * | an uncaught error | a crash report, services get 3 s, exit code 1 |
 */

import type { Supervisor } from "../services/supervise.js";
import type { Logger } from "./logger.js";
import type { CrashReporter } from "./self-care/crash-reporter.js";

/** The time from an uncaught error to the exit, even if a service hangs: 3 s for services, and a little to close. */
const CRASH_MS_MAX = 5_000;

export interface Ends {
	/** From now on there is something to stop. */
	attach(supervisor: Supervisor): void;
}

export function watchEnds(
	logger: Logger,
	reporter: CrashReporter,
	reload: () => Promise<void>,
): Ends {
	let supervisor: Supervisor | null = null;
	let asked = false;
	let crashed = false;

	function stop(signal: NodeJS.Signals): void {
		if (asked) {
			logger.info("forced to exit by a second signal", { signal });
			process.exit(1);
		}
		asked = true;
		if (supervisor === null) process.exit(0);
		logger.info("stop requested", { signal });
		supervisor.stop();
	}

	function crash(error: unknown, origin: NodeJS.UncaughtExceptionOrigin): void {
		logger.error("uncaught error", error, { origin });
		if (crashed) return;
		crashed = true;
		const isRejection = origin === "unhandledRejection";
		reporter.report(isRejection ? "unhandled_rejection" : "uncaught_exception", error);
		if (supervisor === null) process.exit(1);
		supervisor.fail("uncaught error");
		setTimeout(() => process.exit(1), CRASH_MS_MAX);
	}

	process.on("SIGTERM", stop).on("SIGINT", stop);
	process.on("SIGHUP", () => void reload());
	process.on("uncaughtException", crash);
	// Their reader may disappear, as a terminal does; then further output is dropped.
	for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
	return {
		attach(started) {
			supervisor = started;
		},
	};
}

/** A start that was refused for a reason that an operator can fix. */
export class StartRefused extends Error {}

const REASONS: Readonly<Record<string, (home: string) => string>> = {
	ENOSPC: (home) => `the disk of ${home} is full: free some space, then start the daemon again`,
	EDQUOT: (home) => `the quota of ${home} is used up: free some space, then start the daemon again`,
	EROFS: (home) => `the file system of ${home} is read-only: remount it, or set REEVE_HOME`,
	EACCES: (home) => `no permission to use ${home}`,
	EMFILE: () => "the limit on open files is reached: raise it (`ulimit -n`)",
	ENFILE: () => "the host has too many open files: close some, then start the daemon again",
};

/** The text to log. A stack helps only with bugs. */
export function explainStartFailure(error: unknown, home: string): unknown {
	if (error instanceof StartRefused) return error.message;
	const { code, message } = error as NodeJS.ErrnoException;
	const reason = REASONS[code ?? ""];
	return reason === undefined ? error : `${reason(home)} (${message})`;
}
