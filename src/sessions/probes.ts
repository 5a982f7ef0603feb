/** Probes of readiness conditions on this host. */

import { get as httpGet } from "node:http";
import { get as httpsGet } from "node:https";
import { connect } from "node:net";
import type { AgentSpec } from "../config/spec.js";
import type { ReadinessProbes } from "../engine/runs/readiness.js";
import { readLogEnd } from "../home/log-bytes.js";
import type { Environments } from "./agent-environment.js";
import { killMarked, runCheckCommand } from "./check-command.js";

const CONNECT_MS = 1_000;
const HTTP_MS = 5_000;
const COMMAND_MS = 10_000;
const LOG_BYTES_MAX = 1_048_576;

/** Probes for a run whose output begins at an offset of the log. `owner` is a name of this home among all homes. */
export function createProbes(
	spec: AgentSpec,
	logDir: string,
	outputFrom: number,
	{ environments, owner }: { readonly environments: Environments; readonly owner: string },
): ReadinessProbes {
	const mark = `ready-${owner}-${spec.id}`;
	let isCleared = false;

	/** Of the command, no process is left, however it ends. */
	async function commandSucceeds(argv: readonly string[]): Promise<boolean> {
		// Those of an earlier run, perhaps under an earlier daemon.
		if (!isCleared) await killMarked(mark);
		isCleared = true;
		// In the agent's own environment: it may need the agent's port or password.
		const env = await environments.values(spec);
		const command = { argv, cwd: spec.cwd, env, timeoutMs: COMMAND_MS, mark };
		return (await runCheckCommand(command)) === null;
	}

	return {
		logMatches: async (pattern) =>
			pattern.test((await readLogEnd(logDir, outputFrom, LOG_BYTES_MAX)).toString("utf8")),
		portListens,
		httpAnswers,
		commandSucceeds,
	};
}

/** A server on `localhost` may listen on one of the two only. */
const LOOPBACK = ["127.0.0.1", "::1"];

async function portListens(port: number): Promise<boolean> {
	const found = await Promise.all(LOOPBACK.map((host) => accepts(host, port)));
	return found.includes(true);
}

function accepts(host: string, port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect({ port, host, timeout: CONNECT_MS });
		const end = (listens: boolean) => {
			socket.destroy();
			resolve(listens);
		};
		socket.on("connect", () => end(true));
		socket.on("error", () => end(false));
		socket.on("timeout", () => end(false));
	});
}

/** A success or a redirect: the server works, whatever it would show next. Not `fetch`, which refuses some ports. */
function httpAnswers(url: string): Promise<boolean> {
	const get = url.startsWith("https:") ? httpsGet : httpGet;
	return new Promise((resolve, reject) => {
		const asked = get(url, { agent: false, signal: AbortSignal.timeout(HTTP_MS) }, (reply) => {
			const { statusCode = 0 } = reply;
			reply.destroy();
			resolve(statusCode >= 200 && statusCode < 400);
		});
		asked.on("error", reject);
	});
}
