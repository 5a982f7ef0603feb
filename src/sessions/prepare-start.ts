/** Converts a spec to the request of a backend: the complete environment, the command line, the directories. */

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentSpec } from "../config/spec.js";
import { composeEnvironment, type EnvLayer, valuesOf } from "../core/environment.js";
import type { Prepared, StartIntent } from "../engine/runs/session-world.js";
import type { Home } from "../home/paths.js";
import { checkLaunch } from "../host/spawn-errors.js";
import { adapterOf } from "./adapters.js";
import { type Environments, renderProblems } from "./agent-environment.js";
import { prepareSession } from "./prepare-session.js";

/** Until a client attaches. */
const SIZE = { columns: 200, rows: 50 };

export interface StartContext {
	readonly environments: Environments;
	readonly home: Pick<Home, "logs" | "agents" | "temporary" | "locks" | "socket">;
	/** A problem that does not prevent the start. */
	readonly onTrouble: (message: string) => void;
}

/** Ids contain no slash and no dot, so this is always a separate directory below the others. */
export function logDirOf(logs: string, agentId: string): string {
	return join(logs, ...agentId.split(":"));
}

export async function prepareStart(
	spec: AgentSpec,
	intent: StartIntent,
	{ home, onTrouble, environments }: StartContext,
): Promise<Prepared> {
	const environment = await environments.read(spec);
	if (!environment.ok) return { ok: false, detail: renderProblems(environment.problems) };
	const { profile } = adapterOf(spec);
	const [base, ...own] = environment.layers as [EnvLayer, ...EnvLayer[]];
	const session =
		spec.kind === "session"
			? await prepareSession(spec, intent, valuesOf(composeEnvironment([base, ...own])), {
					folder: logDirOf(home.agents, spec.id),
					temporary: logDirOf(home.temporary, spec.id),
					locks: home.locks,
					onTrouble,
				})
			: null;
	const [program, ...first] = spec.command ?? session?.command ?? profile.command ?? [];
	if (program === undefined) return { ok: false, detail: "the agent has no command" };
	const argv = [program, ...first, ...(session?.args ?? []), ...spec.args] as const;
	const logDir = logDirOf(home.logs, spec.id);
	// The folder itself is made by the process that writes the log.
	if (!existsSync(dirname(logDir))) await mkdir(dirname(logDir), { recursive: true, mode: 0o700 });
	return {
		ok: true,
		request: {
			agentId: spec.id,
			argv: spec.adapter === "acp" ? acpCommand(spec.id, home.socket, argv) : argv,
			cwd: spec.cwd,
			// The fleet file and the env file take precedence over the adapter.
			env: valuesOf(
				composeEnvironment([
					base,
					{ source: "adapter", values: session?.env ?? {} },
					...own,
					{ source: "reeve", values: session?.hookEnv ?? {} },
				]),
			),
			terminal: spec.kind === "session" && spec.terminal,
			size: SIZE,
			logDir,
			limits: spec.limits,
			...(spec.kind === "call" ? {} : { stopTimeoutMs: spec.drain.timeoutMs }),
		},
		conversation: session?.conversation ?? null,
	};
}

/** Why the agent cannot be started now; null if nothing prevents it. Changes nothing. */
export async function checkStart(
	spec: AgentSpec,
	environments: Environments,
): Promise<string | null> {
	const environment = await environments.read(spec);
	if (!environment.ok) return renderProblems(environment.problems);
	const [program, ...args] = spec.command ?? adapterOf(spec).profile.command ?? [];
	if (program === undefined) return "the agent has no command";
	const env = valuesOf(composeEnvironment(environment.layers));
	const problem = checkLaunch({ argv: [program, ...args, ...spec.args], cwd: spec.cwd, env });
	return problem?.detail ?? null;
}

const PROGRAM = fileURLToPath(new URL("../acp/acp-main.js", import.meta.url));

function acpCommand(
	agent: string,
	socket: string,
	command: readonly string[],
): [string, ...string[]] {
	return [process.execPath, PROGRAM, "--agent", agent, "--socket", socket, "--", ...command];
}
