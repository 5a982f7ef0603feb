/** A program in a terminal that a test reads and types into. */

import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createPtyBackend } from "../../src/backends/pty/pty-backend.js";
import type { RunExit, RunHandle } from "../../src/ports/backend.js";
import { temporaryFolder } from "./reeve.js";

export interface TestPty {
	/** Known once the program has printed something. */
	readonly pid: number;
	write(text: string): void;
	readonly exited: Promise<{ readonly exitCode: number | null; readonly signal: string | null }>;
}

export function spawnInPty(
	argv: readonly [string, ...string[]],
	options: {
		readonly cwd: string;
		readonly env: Readonly<Record<string, string>>;
		readonly onData: (text: string) => void;
	},
): TestPty {
	const folder = temporaryFolder();
	const backend = createPtyBackend({
		folder: join(folder, "pty"),
	});
	const decoder = new TextDecoder();
	const exit = new Promise<RunExit>((resolve) => backend.onExit(resolve));
	let handle: RunHandle | null = null;
	async function start(): Promise<RunHandle> {
		const started = await backend.start({
			runId: "run",
			agentId: "test:agent",
			argv,
			cwd: options.cwd,
			env: options.env,
			terminal: true,
			size: { columns: 120, rows: 40 },
			logDir: join(folder, "log"),
			limits: { memoryBytes: null, cpuPercent: null, pids: null },
		});
		if (!started.ok) throw new Error(started.failure.detail);
		handle = started.handle;
		const show = (bytes: Uint8Array) => options.onData(decoder.decode(bytes, { stream: true }));
		await backend.attach(started.handle, { onSnapshot: show, onOutput: show, onClose() {} }, null);
		return started.handle;
	}
	const started = start();
	let typing: Promise<unknown> = started;
	onTestFinished(async () => {
		if (handle !== null) await backend.kill({ runId: handle.runId, handle });
		await backend.close();
	});
	return {
		get pid() {
			if (handle === null) throw new Error("the program has not started yet");
			return handle.process.pid;
		},
		write(text) {
			typing = typing.then(async () => backend.input(await started, Buffer.from(text)));
			typing.catch(() => {});
		},
		exited: exit.then(({ code, signal }) => ({ exitCode: code, signal })),
	};
}
