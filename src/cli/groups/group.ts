/** How a group of commands is added to the command line. */

import type { Command } from "commander";
import type { Output } from "../output.js";

/** Runs a command with its output and environment. Returns the exit code. */
export type RunCommand = (output: Output, env: NodeJS.ProcessEnv) => Promise<number>;
export type Run = (command: RunCommand) => Promise<void>;
/** Adds commands to the program; their implementation is passed to `run`, and loaded only then. */
export type AddCommands = (program: Command, run: Run) => void;

export const JSON_OPTION = ["--json", "print the result as JSON"] as const;
export const FILE_OPTION = ["-f, --file <path>", "the fleet file", "reeve.yaml"] as const;
export const AGENT_ARGUMENT = ["<agent>", "the agent, as `project:agent` or its name"] as const;
export const COMPLETION_SHELLS = ["bash", "zsh", "fish"] as const;
