/** A world with real shims and real programs, in its own folder, which is removed afterwards. */

import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createPtyBackend, type PtyBackendOptions } from "../../src/backends/pty/pty-backend.js";
import { isAlive, readIdentity } from "../../src/host/process-identity.js";
import { readProcessTable } from "../../src/host/process-table.js";
import { signalVerified } from "../../src/host/process-tree.js";
import type { Backend, ProcessIdentity, StartRequest } from "../../src/ports/backend.js";
import {
	type BackendBehaviour,
	type BackendWorld,
	eventually,
	runOf,
} from "../../src/testing/conformance/backend-world.js";
import { killStrays } from "../support/kill-strays.js";

export const agentProgram = (name: string) => resolve("test/fixtures/agents", name);

/** The grace period of a run that lost its terminal. */
const ORPHAN_GRACE_MS = 1_500;

export interface PtyWorld extends BackendWorld {
	readonly folder: string;
	/** The folder of the backend. */
	readonly backendFolder: string;
	/** Creates its clients. */
	readonly options: PtyBackendOptions;
	connect(): Backend;
	/** A request for any program. */
	run(argv: readonly [string, ...string[]], more?: Partial<StartRequest>): StartRequest;
	/** The process that holds the terminals: the starter, or the server of another backend. */
	holder(): ProcessIdentity;
	/** Everything that a run has printed, oldest first. */
	log(runId: string): Buffer;
}

/** `name` becomes a part of the path of everything. */
export async function createPtyWorld({
	groups = true,
	name = "pty",
	backend: more = {} as Partial<PtyBackendOptions>,
	create = createPtyBackend,
} = {}): Promise<PtyWorld> {
	const folder = mkdtempSync(join(tmpdir(), `reeve-${name}-`));
	const backendFolder = join(folder, "pty");
	const clients: Backend[] = [];
	const requests: StartRequest[] = [];
	const options: PtyBackendOptions = {
		folder: backendFolder,
		orphanGraceMs: ORPHAN_GRACE_MS,
		...(groups ? {} : { groups: "control groups are turned off" }),
		...more,
	};
	const connect = (other: Partial<PtyBackendOptions> = {}) => {
		const backend = create({ ...options, ...other });
		clients.push(backend);
		return backend;
	};

	const world: PtyWorld = {
		folder,
		backendFolder,
		options,
		connect: () => connect(),
		async connectBlind() {
			const notAFolder = join(folder, "elsewhere");
			writeFileSync(notAFolder, "");
			return connect({ folder: notAFolder });
		},
		run(argv, more = {}) {
			const number = requests.length + 1;
			const request: StartRequest = {
				runId: `run-${number}-${process.pid}-${Date.now()}`,
				agentId: `project:agent-${number}`,
				argv,
				cwd: folder,
				env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
				terminal: true,
				size: { columns: 200, rows: 50 },
				logDir: join(folder, "logs", `agent-${number}`),
				limits: { memoryBytes: null, cpuPercent: null, pids: null },
				...more,
			};
			requests.push(request);
			return request;
		},
		request(behaviour) {
			const { length } = requests;
			return world.run(argvOf(behaviour, join(folder, `file-${length + 1}`)));
		},
		trigger: (runId) => writeFileSync(fileOf(runId), ""),
		received: (runId) => (existsSync(fileOf(runId)) ? readFileSync(fileOf(runId)) : null),
		pass: () => sleep(10),
		nowMs: () => Date.now(),
		holder: () => readStarter(backendFolder) as ProcessIdentity,
		log(runId) {
			const { logDir } = requests.find((request) => request.runId === runId) as StartRequest;
			const files = readdirSync(logDir)
				.filter((name) => name.startsWith("current.log"))
				.sort()
				.reverse();
			return Buffer.concat(files.map((file) => readFileSync(join(logDir, file))));
		},
		async close() {
			try {
				await closeWorld(backendFolder, requests, clients, () => connect());
			} finally {
				killStrays(folder);
				rmSync(folder, { recursive: true, force: true });
			}
		},
	};

	const fileOf = (runId: string) =>
		join(folder, `file-${requests.findIndex((request) => request.runId === runId) + 1}`);
	mkdirSync(join(folder, "logs"));
	return world;
}

function argvOf(behaviour: BackendBehaviour, file: string): [string, ...string[]] {
	const onTrigger = "when" in behaviour ? [file] : [];
	switch (behaviour.type) {
		case "exits":
			return [agentProgram("exits-with-code.sh"), String(behaviour.code), ...onTrigger];
		case "dies":
			return [agentProgram("dies-by-signal.sh"), behaviour.signal.slice(3), ...onTrigger];
		case "lives-on":
			return [agentProgram("lives-on.sh")];
		case "ignores-sigterm":
			return [agentProgram("ignores-sigterm.sh")];
		case "echoes-input":
			return [
				process.execPath,
				agentProgram("echoes-input.mjs"),
				file,
				...(behaviour.marksPastes ? ["marks-pastes"] : []),
			];
		case "is-missing":
			return ["a-missing-program"];
	}
}

/** The starter of a folder; null when there is none. */
export function readStarter(backendFolder: string): ProcessIdentity | null {
	const argv = (pid: number) => {
		try {
			return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
		} catch {
			return [];
		}
	};
	const starter = readProcessTable().entries.find(({ pid, ended }) => {
		const [, mode, folder] = argv(pid);
		return !ended && mode === "starter" && folder === backendFolder;
	});
	return starter === undefined ? null : readIdentity(starter.pid);
}

/**
 * Kills what the world started, by its run ids, then asks its starter to exit, as a daemon without runs does. A starter
 * stays as long as it has a child, so its exit proves that nothing is left.
 */
async function closeWorld(
	backendFolder: string,
	requests: readonly StartRequest[],
	clients: readonly Backend[],
	connect: () => Backend,
): Promise<void> {
	const holder = readStarter(backendFolder);
	if (requests.length > 0 && holder !== null) {
		const last = connect();
		await Promise.all(
			requests.map(async ({ runId }) => {
				const found = await last.recover(runId, null);
				const killed =
					found.state === "running" ? await last.kill(runOf(found.handle)) : { ok: true };
				if (!killed.ok) throw new Error(`${runId} is left behind`);
			}),
		);
		await last.close();
	}
	for (const client of clients) await client.close();
	const leaving = readStarter(backendFolder);
	if (leaving !== null) {
		signalVerified(leaving, "SIGTERM");
		await eventually(() => isAlive(leaving) === false, {
			what: "the starter leaves",
		}).catch((error: unknown) => {
			signalVerified(leaving, "SIGKILL");
			throw error;
		});
	}
}
