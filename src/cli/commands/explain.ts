/** `reeve explain`: an agent's own case, or the crash policy played through over a sequence of exits. */

import { type CrashContext, DEFAULT_CRASH_POLICY, NEW_AGENT } from "../../core/crash-state.js";
import { CLI_EXIT, ReeveError } from "../../core/errors.js";
import { rehearse } from "../../core/rehearse.js";
import { CLEAN_EXIT_CHOICES, type OnCleanExit } from "../../core/states.js";
import { parseExitSequence } from "../exit-sequence.js";
import type { Output } from "../output.js";
import { policyJson, renderPolicyTable } from "../policy-table.js";

export interface ExplainOptions {
	readonly simulate?: string;
	readonly exit?: string;
	readonly file?: string;
	readonly onCleanExit?: string;
	readonly json?: boolean;
}

/** With `--simulate` no daemon is asked; without, it is the daemon who knows. */
export async function runExplain(
	agent: string | undefined,
	options: ExplainOptions,
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const { simulate, exit } = options;
	if (simulate !== undefined) {
		if (exit !== undefined) throw refuse("either --simulate or --exit, not both");
		return runSimulation(agent, { ...options, simulate }, output, env);
	}
	if (agent === undefined) throw refuse("reeve explain needs an agent, or --simulate");
	if (options.onCleanExit !== undefined) throw refuse("--on-clean-exit goes with --simulate");
	const { runExplainAgent } = await import("./explain-agent.js");
	return runExplainAgent(agent, options, output, env);
}

function refuse(message: string): ReeveError {
	const hint =
		'`reeve explain web:coder` tells of an agent, `reeve explain --simulate "1 x7"` of the policy.';
	return new ReeveError("usage", message, hint);
}

async function runSimulation(
	agent: string | undefined,
	options: ExplainOptions & { readonly simulate: string },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const steps = parseExitSequence(options.simulate);
	if (agent === undefined && options.file !== undefined) {
		const hint = "Name the agent too: `reeve explain project:agent --file …`.";
		throw new ReeveError("usage", "--file is given, but no agent of it", hint);
	}
	const policy =
		agent === undefined ? DEFAULTS : await policyOf(agent, options.file ?? "reeve.yaml", env);
	const onCleanExit = parseOnCleanExit(options.onCleanExit) ?? policy.onCleanExit;
	// Delays are shown as they are configured.
	const settings = { ...policy.settings, jitter: 0 };
	const context: CrashContext = { settings, onCleanExit, random: 0 };
	const { rows, unreached } = rehearse(NEW_AGENT, steps, context);

	if (options.json) {
		output.json({
			agent: agent ?? null,
			on_clean_exit: onCleanExit,
			exits: policyJson(rows),
			unreached,
		});
		return CLI_EXIT.done;
	}
	for (const line of renderPolicyTable(rows, output)) output.result(line);
	if (unreached > 0) {
		output.result("");
		const exits = unreached === 1 ? "1 exit" : `${unreached} exits`;
		output.result(`${exits} could not happen: a halted agent does not run until it is resumed`);
	}
	return CLI_EXIT.done;
}

const DEFAULTS = { settings: DEFAULT_CRASH_POLICY, onCleanExit: "prompt" } as const;

/** The policy of an agent of the fleet file. */
async function policyOf(
	id: string,
	file: string,
	env: NodeJS.ProcessEnv,
): Promise<Pick<CrashContext, "settings" | "onCleanExit">> {
	const { readFleet } = await import("../read-fleet.js");
	const fleet = await readFleet(file, env);
	const agent = fleet.agents.find((candidate) => candidate.id === id);
	if (agent === undefined) {
		const ids = fleet.agents.map((candidate) => candidate.id).join(", ");
		throw new ReeveError("agent_not_found", `${file} has no agent ${id}`, `It has: ${ids}.`);
	}
	if (agent.kind === "call") {
		throw new ReeveError(
			"usage",
			`${id} is a call agent, which has no crash policy`,
			"Its failures are handled by `retry` and `circuit_breaker`.",
		);
	}
	return {
		settings: agent.crashPolicy,
		// A worker that ends by itself is always brought back.
		onCleanExit: agent.kind === "session" ? agent.onCleanExit : "restart",
	};
}

function parseOnCleanExit(text: string | undefined): OnCleanExit | undefined {
	if (text === undefined) return undefined;
	const choice = CLEAN_EXIT_CHOICES.find((known) => known === text);
	if (choice !== undefined) return choice;
	throw new ReeveError(
		"usage",
		`--on-clean-exit cannot be ${text}`,
		`It is one of ${CLEAN_EXIT_CHOICES.join(", ")}.`,
	);
}
