/** An executor, and programs named after their behaviour, for tests of both. */

import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { ActionRequest } from "../../src/core/outcome.js";
import { createExecutor, type ExecutorOptions } from "../../src/executor/executor.js";
import { readProcessTable } from "../../src/host/process-table.js";
import type {
	AttemptEnd,
	CallAttempt,
	Executor,
	Program,
	Worker,
} from "../../src/ports/executor.js";

const FIXTURES = fileURLToPath(new URL("../fixtures/call-agents/", import.meta.url));

export const NO_LIMITS = { memoryBytes: null, cpuPercent: null, pids: null };
export const NEVER = new AbortController().signal;
// Many attempts listen to it at once.
setMaxListeners(0, NEVER);

let runs = 0;
export const newRunId = () => `run-${process.pid}-${++runs}`;

export function request(facts: Partial<ActionRequest> = {}): ActionRequest {
	return {
		...{ request_id: "r-1", api_version: "1", tool: "fixture", action: "answer" },
		...{ context: {}, payload: { n: 1 } },
		...{ plan_id: "plan-1", task_id: "task-1", correlation_id: "correlation-1" },
		...facts,
	};
}

/** A program of the fixtures, or any other by its path. */
export function program(
	command: string,
	args: readonly string[] = [],
	facts: Partial<Program> = {},
): Program {
	return {
		agentId: "test:agent",
		argv: [command.includes("/") ? command : join(FIXTURES, command), ...args],
		cwd: FIXTURES,
		env: { PATH: process.env["PATH"] ?? "", FIXTURES },
		limits: NO_LIMITS,
		extraOutput: "tolerate",
		...facts,
	};
}

/** Long enough for any machine; a test that waits for it has failed. */
export const LONG_MS = 60_000;

export function attempt(of: Program, facts: Partial<CallAttempt> = {}): CallAttempt {
	return {
		runId: newRunId(),
		program: of,
		adapter: null,
		request: request(),
		timeoutMs: LONG_MS,
		...facts,
	};
}

/** Closed when the test is over. */
export function openExecutor(options: Partial<ExecutorOptions> = {}): Executor {
	const executor = createExecutor({ owner: `test-${process.pid}`, ...options });
	onTestFinished(() => executor.close());
	return executor;
}

export function tempFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "reeve-exec-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

export async function startWorker(
	executor: Executor,
	facts: Partial<Program> = {},
	folder = tempFolder(),
): Promise<{ worker: Worker; logDir: string; folder: string }> {
	const logDir = join(folder, "log");
	const started = await executor.startWorker({
		runId: newRunId(),
		program: program("follows-instructions.pl", [folder], facts),
		logDir,
	});
	if (!started.ok) throw new Error(started.failure.detail);
	return { worker: started.worker, logDir, folder };
}

/** The result of an attempt, in short. */
export function ending({ outcome }: AttemptEnd): string {
	if (outcome === null) return "called off";
	return outcome.ok ? `ok ${JSON.stringify(outcome.result)}` : outcome.error;
}

export function reasonOf({ outcome }: AttemptEnd): string {
	return outcome === null || outcome.ok ? "" : outcome.reason;
}

/** Live processes that carry the mark of the run. */
export function liveProcesses(runId: string): number[] {
	const table = readProcessTable();
	return table.entries
		.filter(({ pid, ended }) => !ended && table.runIdOf(pid) === runId)
		.map(({ pid }) => pid);
}

/** How much each of the processes of `leaves-writers.pl` has written; 0 before its first write. */
export function writtenBytes(folder: string): [inGroup: number, onItsOwn: number] {
	const sizeOf = (name: string) =>
		statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
	return [sizeOf("in-group"), sizeOf("on-its-own")];
}
