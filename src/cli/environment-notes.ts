/** Notes about the environment that a fleet file gives to agents. */

import type { Client } from "../client/client.js";
import { readEnvFile } from "../config/env-file.js";
import { USUAL_PASS_ENV } from "../config/known-adapters.js";
import { type Problem, renderProblem } from "../config/problem.js";
import { unsetPassEnv } from "../config/resolve.js";
import type { FleetSpec } from "../config/spec.js";
import { plainLine } from "../core/safe-text.js";
import type { Output } from "./output.js";

/** Lines of the env files with no effect or a misleading syntax. Each file is read once. */
export async function checkEnvFiles(fleet: FleetSpec): Promise<readonly Problem[]> {
	const paths = new Set(fleet.agents.map(({ envFile }) => envFile));
	const found: Problem[] = [];
	for (const path of paths) {
		if (path === null) continue;
		const file = await readEnvFile(path);
		found.push(...(file.ok ? file.warnings : file.problems));
	}
	return found;
}

export function printWarnings(warnings: readonly Problem[], output: Output): void {
	for (const warning of warnings) {
		output.note(`${output.sayColors.yellow("warning")}: ${renderProblem(warning)}`);
	}
}

/** Credentials and proxies of this shell that an agent CLI would use but does not get. */
export async function printUnlistedPassEnv(
	fleet: FleetSpec,
	env: NodeJS.ProcessEnv,
	output: Output,
): Promise<void> {
	for (const spec of fleet.agents) {
		// Custom adapters may have any name, including `constructor`.
		const often = Object.hasOwn(USUAL_PASS_ENV, spec.adapter) ? USUAL_PASS_ENV[spec.adapter] : [];
		const wanted = often?.filter((name) => env[name]) ?? [];
		if (wanted.length === 0) continue;
		const file = spec.envFile === null ? null : await readEnvFile(spec.envFile);
		const given = new Set([
			...Object.keys(spec.env),
			...(spec.passEnv ?? []),
			...(file?.ok ? Object.keys(file.values) : []),
		]);
		const names = wanted.filter((name) => !given.has(name)).join(", ");
		if (names === "") continue;
		const way = `add \`pass_env: [${names}]\` if it needs that`;
		output.note(`note: ${spec.id} does not get ${names} from this shell; ${way}`);
	}
}

/** After a fleet was sent: the state of passed variables that this shell does not set. */
export async function printUnset(fleet: FleetSpec, client: Client, output: Output): Promise<void> {
	const yellow = output.sayColors.yellow;
	for (const spec of fleet.agents) {
		const unset = unsetPassEnv(spec);
		if (unset.length === 0) continue;
		const { environment } = await client.call("GET /api/v1/agents/:id", { place: spec.id });
		for (const name of unset) {
			const known = environment.variables.find((each) => each.name === name);
			const then =
				known?.set !== true
					? `runs without it; export it and run \`reeve reload\``
					: known.source === "pass_env"
						? "keeps the value from an earlier `reeve up` or `reeve reload`"
						: `gets it from ${known.source}`;
			const about = `${name} is not set in this shell: ${spec.id} ${then}`;
			output.note(`${yellow("warning")}: ${plainLine(about)}`);
		}
	}
}
