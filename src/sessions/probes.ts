/** Probes of readiness conditions on this host. */

import { spawn } from "node:child_process";
import { open, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type { AgentSpec } from "../config/spec.js";
import type { ReadinessProbes } from "../engine/runs/readiness.js";
import type { Environments } from "./agent-environment.js";

const CONNECT_MS = 1_000;
const HTTP_MS = 5_000;
const COMMAND_MS = 10_000;
const LOG_BYTES_MAX = 1_048_576;

/** Probes for a run that starts now: earlier lines of the log do not belong to it. */
export function createProbes(
	spec: AgentSpec,
	logDir: string,
	environments: Environments,
): ReadinessProbes {
	const path = join(logDir, "current.log");
	const waitsForLine = spec.kind !== "call" && spec.ready?.log != null;
	const before = waitsForLine ? stat(path).catch(() => null) : null;
	return {
		async logMatches(pattern) {
			const [old, now] = [await before, await stat(path)];
			// After a rotation the whole file is new.
			const from = old !== null && old.ino === now.ino ? old.size : 0;
			return pattern.test(await readTail(path, from, now.size));
		},
		portListens,
		httpAnswers,
		// In the agent's own environment: it may need the agent's port or password.
		commandSucceeds: async (argv) => commandSucceeds(argv, spec, await environments.values(spec)),
	};
}

async function readTail(path: string, from: number, to: number): Promise<string> {
	const start = Math.max(from, to - LOG_BYTES_MAX);
	const file = await open(path, "r");
	try {
		const buffer = Buffer.alloc(Math.max(0, to - start));
		const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
		return buffer.toString("utf8", 0, bytesRead);
	} finally {
		await file.close();
	}
}

function portListens(port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect({ port, host: "127.0.0.1", timeout: CONNECT_MS });
		const end = (listens: boolean) => {
			socket.destroy();
			resolve(listens);
		};
		socket.on("connect", () => end(true));
		socket.on("error", () => end(false));
		socket.on("timeout", () => end(false));
	});
}

/** A success or a redirect: the server works, whatever it would show next. */
async function httpAnswers(url: string): Promise<boolean> {
	const signal = AbortSignal.timeout(HTTP_MS);
	const reply = await fetch(url, { redirect: "manual", signal });
	await reply.body?.cancel();
	return reply.status >= 200 && reply.status < 400;
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
