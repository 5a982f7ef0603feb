/**
 * Transient scopes: units around processes that are started elsewhere. `systemd-run --scope` creates one around itself
 * and executes the program, so the process keeps its parent, its terminal and its pid.
 *
 * All of this is visible to other users in an argv and in the properties of a unit: never a value of an environment,
 * never the arguments of an agent (A5).
 */

import type { Argv } from "../../host/cgroup.js";
import type { ResourceLimits } from "../../ports/backend.js";
import type { UserManager } from "./user-manager.js";

/** The slice of all of Reeve's units: `systemctl --user status app-reeve.slice` shows every agent. */
const SLICE = "app-reeve.slice";
/** The control group of that slice: the name determines its parents. */
export const SLICE_FOLDER = "app.slice/app-reeve.slice";

export interface Scope {
	/** With its ending, `.scope`. */
	readonly unit: string;
	readonly description: string;
	/** `MemoryMax=1000`, as in a unit file. */
	readonly properties: readonly string[];
}

/** The command line that runs the one behind it in a scope of its own. */
export function scopeArgv(manager: UserManager, scope: Scope): Argv {
	return [
		// The program itself decides later what it passes on.
		...(["env", `XDG_RUNTIME_DIR=${manager.runtimeDir}`, manager.runProgram] as const),
		...["--user", "--scope", "--quiet", "--collect", `--unit=${scope.unit}`, `--slice=${SLICE}`],
		// Otherwise systemd uses the command line as the description.
		`--description=${scope.description}`,
		// The run's own control group is below that of the unit.
		...["Delegate=yes", ...scope.properties].flatMap((property) => ["-p", property]),
		"--",
	];
}

/** The shim is in the scope too, and is not the agent's to count. */
const SHIM_TASKS = 1;

export function renderLimits({ memoryBytes, cpuPercent, pids }: ResourceLimits): string[] {
	return [
		...(memoryBytes === null ? [] : [`MemoryMax=${memoryBytes}`]),
		...(cpuPercent === null ? [] : [`CPUQuota=${cpuPercent}%`]),
		...(pids === null ? [] : [`TasksMax=${pids + SHIM_TASKS}`]),
	];
}

let servers = 0;

/** A scope for the starter or a tmux server, which is to outlive the daemon's own unit. */
export function encloseServer(manager: UserManager, name: string): (argv: Argv) => Argv {
	return (argv) => {
		// A scope that is still stopping keeps its name.
		const unit = `reeve-${name}-${process.pid}-${Date.now().toString(36)}-${++servers}.scope`;
		const description = `Reeve: terminals (${name})`;
		return [...scopeArgv(manager, { unit, description, properties: [] }), ...argv];
	};
}
