/** Why a daemon could not start, in one sentence where the reason is known; else the whole error. */

/** A start that was refused for a reason that an operator can act on. */
export class StartRefused extends Error {}

const REASONS: Readonly<Record<string, (home: string) => string>> = {
	ENOSPC: (home) => `the disk of ${home} is full: free some space, then start the daemon again`,
	EDQUOT: (home) => `the quota of ${home} is used up: free some space, then start the daemon again`,
	EROFS: (home) => `the file system of ${home} is read-only: remount it, or set REEVE_HOME`,
	EACCES: (home) => `no permission to use ${home}`,
	EMFILE: () => "the limit on open files is reached: raise it (`ulimit -n`)",
	ENFILE: () => "the host has too many open files: close some, then start the daemon again",
};

/** What is logged. A stack helps with bugs alone. */
export function explainStartFailure(error: unknown, home: string): unknown {
	if (error instanceof StartRefused) return error.message;
	const { code, message } = error as NodeJS.ErrnoException;
	const reason = REASONS[code ?? ""];
	return reason === undefined ? error : `${reason(home)} (${message})`;
}
