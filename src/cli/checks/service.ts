/** Whether systemd or launchd runs the daemon, and whether it still runs this program. */

import { existsSync } from "node:fs";
import { ReeveError } from "../../core/errors.js";
import { createManager, thisHost } from "../service/installer.js";
import { readIfExists, type ServiceManager, type ServiceScope } from "../service/service.js";
import { type CheckContext, type Finding, fail, ok, warn } from "./check.js";

/** `host` is for tests. */
export async function checkService(
	{ env, home }: Pick<CheckContext, "env" | "home">,
	host = thisHost(),
): Promise<Finding> {
	if (host.platform !== "linux" && host.platform !== "darwin")
		return ok("not supported on this system");
	for (const scope of ["user", "system"] as const) {
		const manager = createManager(scope, env, host);
		if ((await manager.readHome()) === home.dir) return checkInstalled(manager, scope, host);
	}
	const manager = createManager("user", env, host);
	try {
		await manager.inspect();
		return ok(`not installed; \`reeve daemon install\` runs the daemon under ${manager.name}`);
	} catch (error) {
		if (!(error instanceof ReeveError)) throw error;
		return ok(`not installed and not available: ${error.message}`);
	}
}

async function checkInstalled(
	manager: ServiceManager,
	scope: ServiceScope,
	host: ReturnType<typeof thisHost>,
): Promise<Finding> {
	const again = `${scope === "system" ? "sudo " : ""}reeve daemon install${scope === "system" ? " --system" : ""}`;
	const text = (await readIfExists(manager.file)) ?? "";
	const programs = text.match(/\/[^\s"<]*\/daemon\/main\.js/g) ?? [];
	const program = programs[0];
	if (program !== undefined && !existsSync(program)) {
		return fail(`${manager.file} runs ${program}, which does not exist`, again);
	}
	try {
		const state = await manager.inspect();
		if (state.installed !== "yes") return warn(`${manager.file} is not the service in use`, again);
		const detail = `${manager.file}: ${state.state}`;
		if (state.state === "failed")
			return fail(detail, `${manager.startHint}; see its log for the cause`);
		if (state.pid === null) return warn(detail, manager.startHint);
		if (program !== undefined && program !== host.program) {
			return warn(`${detail}, but it runs ${program} and this is ${host.program}`, again);
		}
		const advice = await manager.advice();
		const [first] = advice;
		if (first === undefined) return ok(detail);
		return warn([detail, ...advice.map(({ text }) => text)].join("; "), first.fix);
	} catch (error) {
		if (!(error instanceof ReeveError)) throw error;
		return warn(`installed, but ${error.message}`, error.hint);
	}
}
