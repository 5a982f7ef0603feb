/** Errors of what the user passes in: command lines, fleet and plan files, settings. */

import { CLI_EXIT } from "./cli-exit.js";
import { BAD_FILE, CONFLICT, type ErrorSpec, FAILED } from "./errors-kinds.js";

export const INPUT_ERRORS = {
	usage: {
		meaning: "Invalid command-line arguments.",
		hint: "Run the command with --help.",
		httpStatus: 400,
		cliExit: CLI_EXIT.usage,
		retryable: false,
	},
	wait_failed: {
		meaning: "`reeve up --wait` ended before every agent was ready or had completed.",
		hint: "Run `reeve explain AGENT`.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	fleet_file_not_found: {
		meaning: "The fleet file does not exist.",
		hint: "Run `reeve init` to create one, or pass its path with `--file`.",
		httpStatus: 404,
		cliExit: CLI_EXIT.usage,
		retryable: false,
	},
	fleet_file_invalid: {
		meaning: "The fleet file is invalid. Each problem is listed with its line.",
		hint: "Fix the problems listed above. Nothing was changed.",
		...BAD_FILE,
	},
	plan_file_invalid: {
		meaning: "The plan file is invalid. Each problem is listed with its line.",
		hint: "Fix the problems listed above. Nothing was run.",
		...BAD_FILE,
	},
	settings_invalid: {
		meaning: "The daemon's settings are invalid. Each problem is listed with its line.",
		hint: "Fix the file and run `reeve daemon reload`. Until then the previous settings stay in effect.",
		...BAD_FILE,
	},
	file_exists: {
		meaning: "The file to be written already exists.",
		hint: "Reeve does not overwrite it. Move the file, or choose another path.",
		...CONFLICT,
	},
	write_failed: {
		meaning: "A file could not be written.",
		hint: "Check that the directory exists and is writable, and that the disk is not full.",
		...FAILED,
	},
	open_files_limit: {
		meaning: "The limit on open files in this shell or service is too low for Reeve.",
		hint: "Raise it: `ulimit -n 1024` in this shell, or `LimitNOFILE=` in the service.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
} as const satisfies Record<string, ErrorSpec>;
