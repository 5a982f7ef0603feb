/** How a group of commands is added to the command line. */

import type { Command } from "commander";
import type { Cli } from "../output.js";

/** A command: its arguments, its options and its surroundings. Returns the exit code. */
type RunCommand =
	| ((options: never, cli: Cli) => Promise<number>)
	| ((argument: never, options: never, cli: Cli) => Promise<number>)
	| ((first: never, second: never, options: never, cli: Cli) => Promise<number>);
/** Makes the action of a command from a function that loads it: only the command that runs is loaded. */
export type Run = (load: () => Promise<RunCommand>) => (...args: unknown[]) => Promise<void>;
/** Adds commands to the program. */
export type AddCommands = (program: Command, run: Run) => void;

export const JSON_OPTION = ["--json", "print the result as JSON"] as const;
export const FILE_OPTION = ["-f, --file <path>", "the fleet file", "reeve.yaml"] as const;
export const AGENT_ARGUMENT = ["<agent>", "the agent, as `project:agent` or its name"] as const;
export const COMPLETION_SHELLS = ["bash", "zsh", "fish"] as const;
