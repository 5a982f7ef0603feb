/** From a spec to what a backend needs: the whole environment, the command line, the folders. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { readEnvFile } from "../config/load.js";
import { renderProblem } from "../config/problem.js";
import type { AgentSpec } from "../config/spec.js";
import type { Prepared } from "../engine/life-world.js";

/** Until somebody attaches. */
const SIZE = { columns: 200, rows: 50 };

export function logDirOf(logs: string, agentId: string): string {
	// Ids hold no slash and no dot, so this is always a folder of its own below the logs.
	return join(logs, ...agentId.split(":"));
}

export async function prepareStart(
	spec: AgentSpec,
	{ inherited, logs }: { inherited: NodeJS.ProcessEnv; logs: string },
): Promise<Prepared> {
	const file = spec.envFile === null ? null : await readEnvFile(spec.envFile);
	if (file !== null && !file.ok) {
		return { ok: false, detail: file.problems.map(renderProblem).join("; ") };
	}
	const [program, ...first] = spec.command ?? [spec.adapter];
	if (program === undefined) return { ok: false, detail: "no command is given" };
	const logDir = logDirOf(logs, spec.id);
	await mkdir(logDir, { recursive: true, mode: 0o700 });
	return {
		ok: true,
		request: {
			agentId: spec.id,
			argv: [program, ...first, ...spec.args],
			cwd: spec.cwd,
			env: mergeEnv(withoutService(inherited), file?.values ?? {}, spec.env),
			terminal: spec.kind === "session" && spec.terminal,
			size: SIZE,
			logDir,
			limits: spec.limits,
			...(spec.kind === "call" ? {} : { stopTimeoutMs: spec.drain.timeoutMs }),
		},
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
