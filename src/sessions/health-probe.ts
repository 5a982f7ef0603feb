/** The health checks of agents on this host. Errors name no URL: it may contain a secret. */

import { connect } from "node:net";
import type { AgentSpec, HealthSpec } from "../config/spec.js";
import { renderNoAnswer } from "../core/health.js";
import type { HealthProbe } from "../engine/runs/health-watch.js";
import type { Environments } from "./agent-environment.js";
import { killMarked, runCheckCommand } from "./check-command.js";

/** Commands at the same time; the others wait for their turn, which does not count towards their timeout. */
const COMMANDS_MAX = 8;

/** `owner` is a name of this home among all homes of the host. */
export function createHealthProbe(environments: Environments, owner: string): HealthProbe {
	const inTurn = createTurns(COMMANDS_MAX);
	/** Agents whose commands of an earlier daemon are gone. */
	const cleared = new Set<string>();

	async function runCommand(
		spec: AgentSpec,
		argv: readonly string[],
		timeoutMs: number,
	): Promise<string | null> {
		const mark = `health-${owner}-${spec.id}`;
		if (!cleared.has(spec.id)) await killMarked(mark);
		cleared.add(spec.id);
		const env = await environments.values(spec);
		return runCheckCommand({ argv, cwd: spec.cwd, env, timeoutMs, mark });
	}

	return async (spec, { http, port, command, timeoutMs }: HealthSpec) => {
		if (http !== null) return checkHttp(http, timeoutMs);
		if (port !== null) return checkPort(port, timeoutMs);
		return inTurn(() => runCommand(spec, command ?? [], timeoutMs));
	};
}

/** Runs at most so many tasks at a time, in the order of the calls. */
function createTurns(max: number) {
	let free = max;
	const waiting: (() => void)[] = [];
	return async <T>(task: () => Promise<T>): Promise<T> => {
		if (free > 0) free -= 1;
		else await new Promise<void>((resolve) => waiting.push(resolve));
		try {
			return await task();
		} finally {
			const next = waiting.shift();
			if (next === undefined) free += 1;
			else next();
		}
	};
}

/** A redirect counts: the server works, whatever it would show next. */
async function checkHttp(url: string, timeoutMs: number): Promise<string | null> {
	const signal = AbortSignal.timeout(timeoutMs);
	try {
		const reply = await fetch(url, {
			redirect: "manual",
			signal,
			// A kept connection that the server has closed would look like a failure.
			headers: { connection: "close" },
		});
		await reply.body?.cancel();
		const { status } = reply;
		return status >= 200 && status < 400 ? null : `the server answered with status ${status}`;
	} catch (error) {
		if (signal.aborted) return renderNoAnswer(timeoutMs);
		return `the request failed${codeOf((error as Error).cause)}`;
	}
}

function checkPort(port: number, timeoutMs: number): Promise<string | null> {
	return new Promise((resolve) => {
		const socket = connect({ port, host: "127.0.0.1" });
		const end = (error: string | null) => {
			clearTimeout(timer);
			socket.destroy();
			resolve(error);
		};
		const timer = setTimeout(() => end(renderNoAnswer(timeoutMs)), timeoutMs);
		socket.on("connect", () => end(null));
		socket.on("error", (error) => end(`no connection to port ${port}${codeOf(error)}`));
	});
}

const CODES: Readonly<Record<string, string>> = {
	ECONNREFUSED: "connection refused",
	ECONNRESET: "connection reset",
	ENOTFOUND: "unknown host name",
	UND_ERR_SOCKET: "the server closed the connection",
};

/** `: connection refused`; the code of the system for other errors. */
function codeOf(error: unknown): string {
	const { code } = (error ?? {}) as { readonly code?: unknown };
	return typeof code === "string" ? `: ${CODES[code] ?? code}` : "";
}
