/** From a spec to what a backend needs: the whole environment, the command line, the folders. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "../client/home.js";
import { readEnvFile } from "../config/load.js";
import { renderProblem } from "../config/problem.js";
import type { AgentSpec } from "../config/spec.js";
import type { Prepared, StartIntent } from "../engine/life-world.js";
import { acpCommand } from "./acp.js";
import { adapterOf } from "./adapters.js";
import { prepareSession } from "./prepare-session.js";

/** Until somebody attaches. */
const SIZE = { columns: 200, rows: 50 };

export interface StartPlace {
	readonly inherited: NodeJS.ProcessEnv;
	readonly home: Pick<Home, "logs" | "agents" | "temporary" | "socket">;
	/** Something is not as it should be, and the agent starts all the same. */
	readonly onTrouble: (message: string) => void;
}

/** Ids hold no slash and no dot, so this is always a folder of its own below the others. */
export function logDirOf(logs: string, agentId: string): string {
	return join(logs, ...agentId.split(":"));
}

export async function prepareStart(
	spec: AgentSpec,
	intent: StartIntent,
	{ home, onTrouble, ...place }: StartPlace,
): Promise<Prepared> {
	const inherited = withoutService(place.inherited);
	const file = spec.envFile === null ? null : await readEnvFile(spec.envFile);
	if (file !== null && !file.ok) {
		return { ok: false, detail: file.problems.map(renderProblem).join("; ") };
	}
	const { profile } = adapterOf(spec);
	const own = file?.values ?? {};
	const session =
		spec.kind === "session"
			? await prepareSession(spec, intent, mergeEnv(inherited, own, spec.env), {
					folder: logDirOf(home.agents, spec.id),
					temporary: logDirOf(home.temporary, spec.id),
					onTrouble,
				})
			: null;
	const [program, ...first] = spec.command ?? profile.command ?? [];
	if (program === undefined) return { ok: false, detail: "no command is given" };
	const argv = [program, ...first, ...(session?.args ?? []), ...spec.args] as const;
	const logDir = logDirOf(home.logs, spec.id);
	await mkdir(logDir, { recursive: true, mode: 0o700 });
	return {
		ok: true,
		request: {
			agentId: spec.id,
			argv: spec.adapter === "acp" ? acpCommand(spec.id, home.socket, argv) : argv,
			cwd: spec.cwd,
			// What somebody wrote for this agent wins over what its adapter finds useful.
			env: { ...mergeEnv(inherited, session?.env ?? {}, own, spec.env), ...session?.hookEnv },
			terminal: spec.kind === "session" && spec.terminal,
			size: SIZE,
			logDir,
			limits: spec.limits,
			...(spec.kind === "call" ? {} : { stopTimeoutMs: spec.drain.timeoutMs }),
		},
		conversation: session?.conversation ?? null,
	};
}

/** What systemd tells a service of itself. An agent that believed it would speak for the daemon. */
const OF_THE_SERVICE = [
	...["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "INVOCATION_ID", "JOURNAL_STREAM"],
	...["MAINPID", "MANAGERPID", "SYSTEMD_EXEC_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID"],
	...["MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE"],
];

function withoutService(inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	const isForAgents = ([name]: [string, unknown]) => !OF_THE_SERVICE.includes(name);
	return Object.fromEntries(Object.entries(inherited).filter(isForAgents));
}

/** What the daemon inherited, without what is its own, then the env file, then the fleet file. */
function mergeEnv(
	...layers: readonly Readonly<Record<string, string | null | undefined>>[]
): Record<string, string> {
	const merged = new Map<string, string>();
	for (const layer of layers) {
		for (const [name, value] of Object.entries(layer)) {
			if (value === null) merged.delete(name);
			else if (value !== undefined && !name.startsWith("REEVE_")) merged.set(name, value);
		}
	}
	return Object.fromEntries(merged);
}
