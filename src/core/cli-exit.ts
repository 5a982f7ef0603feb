/** The exit codes of the command line. */

export const CLI_EXIT = {
	done: 0,
	failed: 1,
	usage: 2,
	no_daemon: 3,
	not_found: 4,
	refused: 5,
} as const;
export type CliExit = (typeof CLI_EXIT)[keyof typeof CLI_EXIT];
