/** The installed service of a home's daemon: starts go through it. */

import { ReeveError } from "../../core/errors.js";
import type { Home } from "../../home/paths.js";
import { createManager, type Host, thisHost } from "./installer.js";
import type { ServiceManager, ServiceScope } from "./service.js";

interface Keeper {
	readonly scope: ServiceScope;
	readonly manager: ServiceManager;
}

/** Null if nothing is installed for this home. Only reads files. */
async function findKeeper(
	home: Home,
	env: NodeJS.ProcessEnv,
	host: Host = thisHost(),
): Promise<Keeper | null> {
	if (host.platform !== "linux" && host.platform !== "darwin") return null;
	for (const scope of ["user", "system"] as const) {
		const manager = createManager(scope, env, host);
		if ((await manager.readHome()) === home.dir) return { scope, manager };
	}
	return null;
}

/**
 * Starts the daemon through the service. False if there is none, or it is not reachable, for example
 * after `su`: a manually started daemon is better than none.
 */
export async function startByKeeper(
	home: Home,
	env: NodeJS.ProcessEnv,
	host: Host = thisHost(),
): Promise<boolean> {
	const keeper = await findKeeper(home, env, host);
	if (keeper === null) return false;
	const { scope, manager } = keeper;
	if (scope === "system" && host.uid !== 0) {
		const hint = `Start it with \`sudo ${manager.startHint}\`.`;
		throw new ReeveError("needs_root", `the daemon of ${home.dir} is a system service`, hint);
	}
	try {
		await manager.inspect();
		for (const command of manager.startCommands()) await manager.run(command);
		return true;
	} catch (error) {
		if (scope === "system") throw error;
		return false;
	}
}
