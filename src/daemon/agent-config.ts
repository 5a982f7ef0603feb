/** The settings of an agent with their sources, from a short-lived program. */

import { renderStoredSpec } from "../config/spec-schema.js";
import { redactDeep } from "../core/redact.js";
import type { AgentConfigJson } from "../http/contract/agents.js";
import type { ConfiguredAgent } from "../http/handler.js";
import { runOwnProgram } from "./own-program.js";

export interface DescribeRequest {
	/** As it is stored, with `***` instead of the values of variables. */
	readonly spec: unknown;
	readonly file: string;
}

const MS_MAX = 10_000;

export async function describeConfig(
	{ spec, fleetFile }: ConfiguredAgent,
	redact: (text: string) => string,
): Promise<AgentConfigJson> {
	const hidden = Object.entries(spec.env).map(([name, value]) => [
		name,
		value === null ? null : "***",
	]);
	const request: DescribeRequest = {
		spec: renderStoredSpec({ ...spec, env: Object.fromEntries(hidden) }),
		file: fleetFile,
	};
	const answer = (await runOwnProgram("./inspection/describe-config.js", {
		input: JSON.stringify(request),
		timeoutMs: MS_MAX,
	})) as Pick<AgentConfigJson, "settings" | "problem">;
	return { id: spec.id, fleet_file: fleetFile, ...redactDeep(answer, redact) };
}
