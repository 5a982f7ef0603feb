/** Reads the fleet file for commands that need it, and reports its problems if it is invalid. */

import { homedir } from "node:os";
import { type LoadedFleet, loadFleet } from "../config/load.js";
import { escapeText, renderProblem } from "../config/problem.js";
import type { FleetSpec } from "../config/spec.js";
import { ReeveError } from "../core/errors.js";

/** The fleet, or its problems. A missing file is a separate error. */
export async function loadFleetFile(file: string, env: NodeJS.ProcessEnv): Promise<LoadedFleet> {
	const loaded = await loadFleet(file, { env, homeDir: homedir() });
	if (!loaded.ok && loaded.missing) {
		throw new ReeveError("fleet_file_not_found", `fleet file not found: ${escapeText(file)}`);
	}
	return loaded;
}

/** The fleet, for commands that require it. */
export async function readFleet(file: string, env: NodeJS.ProcessEnv): Promise<FleetSpec> {
	const loaded = await loadFleetFile(file, env);
	if (loaded.ok) return loaded.fleet;
	const problems = loaded.problems.map(renderProblem).join("\n");
	throw new ReeveError("fleet_file_invalid", `the fleet file is invalid:\n${problems}`);
}
