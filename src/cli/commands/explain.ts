/** `reeve explain`: an agent's state, or a simulation of the crash policy over a sequence of exits. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { type CrashContext, DEFAULT_CRASH_POLICY, NEW_AGENT } from "../../core/crash-state.js";
import { ReeveError } from "../../core/errors.js";
import { rehearse } from "../../core/rehearse.js";
import { CLEAN_EXIT_CHOICES, type OnCleanExit } from "../../core/states.js";
import { parseChoice } from "../arguments.js";
import { parseExitSequence } from "../exit-sequence.js";
import type { Cli } from "../output.js";
import { policyJson, renderPolicyTable } from "../policy-table.js";
import { findAgent } from "../resolve.js";

export interface ExplainOptions {
	readonly simulate?: string;
	readonly exit?: string;
	readonly file?: string;
	readonly onCleanExit?: string;
	readonly json?: boolean;
}

/** `--simulate` needs no daemon; otherwise the daemon provides the state. */
export async function runExplain(
	agent: string | undefined,
	options: ExplainOptions,
	{ output, env }: Cli,
): Promise<number> {
	const { simulate, exit } = options;
	if (simulate !== undefined) {
		if (exit !== undefined) throw refuse("--simulate and --exit cannot be combined");
		return runSimulation(agent, { ...options, simulate }, { output, env });
	}
	if (agent === undefined) throw refuse("reeve explain needs an agent, or --simulate");
	if (options.onCleanExit !== undefined) throw refuse("--on-clean-exit needs --simulate");
	const { runExplainAgent } = await import("./explain-agent.js");
	return runExplainAgent(agent, options, { output, env });
}

function refuse(message: string): ReeveError {
	const hint =
		'`reeve explain web:coder` explains an agent, `reeve explain --simulate "1 x7"` simulates the crash policy.';
	return new ReeveError("usage", message, hint);
}

async function runSimulation(
	agent: string | undefined,
	options: ExplainOptions & { readonly simulate: string },
	{ output, env }: Cli,
): Promise<number> {
	const steps = parseExitSequence(options.simulate);
	if (agent === undefined && options.file !== undefined) {
		const hint = "Add the agent: `reeve explain project:agent --file …`.";
		throw new ReeveError("usage", "--file needs an agent", hint);
	}
	const policy =
		agent === undefined ? DEFAULTS : await policyOf(agent, options.file ?? "reeve.yaml", env);
	const onCleanExit = parseOnCleanExit(options.onCleanExit) ?? policy.onCleanExit;
	// Delays are shown as configured.
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
		output.result(`${exits} not reached: a halted agent does not run until it is resumed`);
	}
	return CLI_EXIT.done;
}

const DEFAULTS = { settings: DEFAULT_CRASH_POLICY, onCleanExit: "prompt" } as const;

/** The policy of an agent of the fleet file. */
async function policyOf(
	name: string,
	file: string,
	env: NodeJS.ProcessEnv,
): Promise<Pick<CrashContext, "settings" | "onCleanExit">> {
	const { readFleet } = await import("../read-fleet.js");
	const fleet = await readFleet(file, env);
	const ids = fleet.agents.map((candidate) => candidate.id);
	const id = findAgent(name, ids, file);
	const agent = fleet.agents.find((candidate) => candidate.id === id);
	if (agent === undefined || agent.kind === "call") {
		throw new ReeveError(
			"usage",
			`${id} is a call agent, which has no crash policy`,
			"`retry` and `circuit_breaker` handle its failures.",
		);
	}
	return {
		settings: agent.crashPolicy,
		// A worker that exits is always restarted.
		onCleanExit: agent.kind === "session" ? agent.onCleanExit : "restart",
	};
}

function parseOnCleanExit(text: string | undefined): OnCleanExit | undefined {
	if (text === undefined) return undefined;
	return parseChoice(text, CLEAN_EXIT_CHOICES, "--on-clean-exit");
}
