/** Reads the fleet file for commands that need it, and tells its problems when it cannot be used. */

import { homedir } from "node:os";
import { type LoadedFleet, loadFleet } from "../config/load.js";
import { escapeText, renderProblem } from "../config/problem.js";
import type { FleetSpec } from "../config/spec.js";
import { ReeveError } from "../core/errors.js";

/** What the file holds, or its problems. A file that is not there is an error of its own. */
export async function loadFleetFile(file: string, env: NodeJS.ProcessEnv): Promise<LoadedFleet> {
	const loaded = await loadFleet(file, { env, homeDir: homedir() });
	if (!loaded.ok && loaded.missing) {
		throw new ReeveError("fleet_file_not_found", `there is no fleet file ${escapeText(file)}`);
	}
	return loaded;
}

/** The fleet, for commands that cannot go on without it. */
export async function readFleet(file: string, env: NodeJS.ProcessEnv): Promise<FleetSpec> {
	const loaded = await loadFleetFile(file, env);
	if (loaded.ok) return loaded.fleet;
	const problems = loaded.problems.map(renderProblem).join("\n");
	throw new ReeveError("fleet_file_invalid", `the fleet file has problems:\n${problems}`);
}
