/** Probes of readiness conditions on this host. */

import { spawn } from "node:child_process";
import { get as httpGet } from "node:http";
import { get as httpsGet } from "node:https";
import { connect } from "node:net";
import type { AgentSpec } from "../config/spec.js";
import type { ReadinessProbes } from "../engine/runs/readiness.js";
import { readLogEnd } from "../home/log-bytes.js";
import type { Environments } from "./agent-environment.js";

const CONNECT_MS = 1_000;
const HTTP_MS = 5_000;
const COMMAND_MS = 10_000;
const LOG_BYTES_MAX = 1_048_576;

/** Probes for a run whose output begins at an offset of the log. */
export function createProbes(
	spec: AgentSpec,
	logDir: string,
	outputFrom: number,
	environments: Environments,
): ReadinessProbes {
	return {
		logMatches: async (pattern) =>
			pattern.test((await readLogEnd(logDir, outputFrom, LOG_BYTES_MAX)).toString("utf8")),
		portListens,
		httpAnswers,
		// In the agent's own environment: it may need the agent's port or password.
		commandSucceeds: async (argv) => commandSucceeds(argv, spec, await environments.values(spec)),
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

function commandSucceeds(
	argv: readonly string[],
	spec: AgentSpec,
	env: Readonly<Record<string, string>>,
): Promise<boolean> {
	const [program = "", ...args] = argv;
	return new Promise((resolve) => {
		const child = spawn(program, args, {
			cwd: spec.cwd,
			env,
			stdio: "ignore",
			timeout: COMMAND_MS,
			killSignal: "SIGKILL",
		});
		child.on("error", () => resolve(false));
		child.on("exit", (code) => resolve(code === 0));
	});
}
