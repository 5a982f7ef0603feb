/** `reeve validate`: every problem of a fleet file in one pass, each with its place. */

import { renderProblem } from "../../config/problem.js";
import { CLI_EXIT } from "../../core/errors.js";
import type { Output } from "../output.js";
import { loadFleetFile } from "../read-fleet.js";

export async function runValidate(
	file: string,
	options: { json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const loaded = await loadFleetFile(file, env);
	const problems = loaded.ok ? [] : loaded.problems;
	if (options.json) {
		const agents = loaded.ok ? loaded.fleet.agents.map(({ id, kind }) => ({ id, kind })) : [];
		output.json({ file, valid: loaded.ok, agents, problems });
		return loaded.ok ? CLI_EXIT.done : CLI_EXIT.usage;
	}
	if (loaded.ok) {
		const { agents } = loaded.fleet;
		const projects = new Set(agents.map((agent) => agent.project)).size;
		output.result(
			`${file}: valid, ${count(projects, "project")}, ${count(agents.length, "agent")}`,
		);
		return CLI_EXIT.done;
	}
	for (const problem of problems) output.say(renderProblem(problem));
	output.say("");
	output.say(output.sayColors.red(`${file}: ${count(problems.length, "problem")}`));
	return CLI_EXIT.usage;
}

function count(number: number, thing: string): string {
	return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
