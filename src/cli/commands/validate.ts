/** `reeve validate`: reports every problem of a fleet file in one pass, each with its position. */

import { escapeText, renderProblem } from "../../config/problem.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { checkEnvFiles, printUnlistedPassEnv, printWarnings } from "../environment-notes.js";
import type { Cli } from "../output.js";
import { loadFleetFile } from "../read-fleet.js";

export async function runValidate(
	argument: string | undefined,
	options: { file?: string; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const file = argument ?? options.file ?? "reeve.yaml";
	const loaded = await loadFleetFile(file, env);
	const problems = loaded.ok ? [] : loaded.problems;
	const warnings = loaded.ok ? [...loaded.warnings, ...(await checkEnvFiles(loaded.fleet))] : [];
	const shown = escapeText(file);
	if (options.json) {
		const agents = loaded.ok ? loaded.fleet.agents.map(({ id, kind }) => ({ id, kind })) : [];
		output.json({ file, valid: loaded.ok, agents, problems, warnings });
		return loaded.ok ? CLI_EXIT.done : CLI_EXIT.usage;
	}
	if (loaded.ok) {
		printWarnings(warnings, output);
		await printUnlistedPassEnv(loaded.fleet, env, output);
		const warned = warnings.length === 0 ? "" : `, ${count(warnings.length, "warning")}`;
		output.result(`${shown}: valid, ${count(loaded.fleet.agents.length, "agent")}${warned}`);
		return CLI_EXIT.done;
	}
	for (const problem of problems) output.result(renderProblem(problem));
	output.result("");
	output.result(output.colors.red(`${shown}: ${count(problems.length, "problem")}`));
	return CLI_EXIT.usage;
}

function count(number: number, thing: string): string {
	return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
