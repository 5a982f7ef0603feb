/**
 * The programs of health checks: a check that cannot be run would report a healthy agent as unhealthy. Checked when a
 * fleet file is read, at a time when someone reads the messages.
 */

import { access, constants, stat } from "node:fs/promises";
import { delimiter, resolve } from "node:path";
import type { Variables } from "./expand.js";
import { type Finding, type Problem, quote } from "./problem.js";
import type { AgentSpec } from "./spec.js";

/** The program of a health check, and where it is written. */
export interface HealthProgramReference {
	readonly spec: AgentSpec;
	readonly program: string;
	readonly at: Omit<Finding, "message" | "expected" | "hint">;
}

export async function checkHealthProgram(
	fleetPath: string,
	{ spec, program, at }: HealthProgramReference,
	env: Variables,
): Promise<readonly Problem[]> {
	const found = await findProblem(spec, program, env);
	if (found === null) return [];
	const message = `the health check cannot be run: ${found.why}`;
	return [{ file: fleetPath, ...at, message, expected: null, hint: found.hint }];
}

async function findProblem(
	spec: AgentSpec,
	program: string,
	env: Variables,
): Promise<{ readonly why: string; readonly hint: string } | null> {
	if (!program.includes("/")) {
		const path = spec.env["PATH"] ?? env["PATH"];
		// The env file is read at every start, and may set it.
		if (path === undefined || (spec.envFile !== null && spec.env["PATH"] === undefined))
			return null;
		const folders = path.split(delimiter).map((folder) => resolve(spec.cwd, folder));
		const states = await Promise.all(folders.map((folder) => stateOf(resolve(folder, program))));
		if (states.includes("runs")) return null;
		return {
			why: `there is no program ${quote(program)} in the directories of \`PATH\``,
			hint: "install it, or write its path",
		};
	}
	const path = resolve(spec.cwd, program);
	switch (await stateOf(path)) {
		case "runs":
			return null;
		case "missing":
			return {
				why: `${quote(path)} does not exist`,
				hint: "create it first; a relative path starts at the agent's working directory",
			};
		case "no_program":
			return {
				why: `${quote(path)} is not an executable file`,
				hint: `run \`chmod +x\`, or name its interpreter: \`command: [sh, ${program}]\``,
			};
	}
}

async function stateOf(path: string): Promise<"runs" | "missing" | "no_program"> {
	const found = await stat(path).catch(() => null);
	if (found === null) return "missing";
	const allowed = await access(path, constants.X_OK).then(
		() => true,
		() => false,
	);
	return allowed && found.isFile() ? "runs" : "no_program";
}
