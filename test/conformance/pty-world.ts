/** A world with a real holder and real programs, in a folder of its own that is gone afterwards. */

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
import { isAlive } from "../../src/host/process-identity.js";
import { signalVerified } from "../../src/host/process-tree.js";
import type { Backend, ProcessIdentity, StartRequest } from "../../src/ports/backend.js";
import { type Behaviour, eventually, type World } from "./world.js";

export const HOLDER = resolve("dist/backends/pty/holder/holder-main.js");
export const agentProgram = (name: string) => resolve("test/fixtures/agents", name);

/** How long a run that lost its terminal is given. */
const ORPHAN_GRACE_MS = 1_500;

export interface PtyWorld extends World {
	readonly folder: string;
	/** The folder of the backend. */
	readonly backendFolder: string;
	/** How its clients are made. */
	readonly options: PtyBackendOptions;
	connect(): Backend;
	/** A request for any program. */
	run(argv: readonly [string, ...string[]], more?: Partial<StartRequest>): StartRequest;
	/** The live holder. */
	holder(): ProcessIdentity;
	/** Everything that a run has printed, oldest first. */
	log(runId: string): Buffer;
}

export async function createPtyWorld({ groups = true } = {}): Promise<PtyWorld> {
	if (!existsSync(HOLDER)) throw new Error("dist is missing: run `npm run build` first");
	const folder = mkdtempSync(join(tmpdir(), "reeve-pty-"));
	const backendFolder = join(folder, "pty");
	const clients: Backend[] = [];
	const requests: StartRequest[] = [];
	const options: PtyBackendOptions = {
		folder: backendFolder,
		holderProgram: HOLDER,
		holderEnv: {
			REEVE_HOLDER_IDLE_MS: "100",
			REEVE_HOLDER_ORPHAN_GRACE_MS: String(ORPHAN_GRACE_MS),
			...(groups ? {} : { REEVE_HOLDER_GROUPS: "off" }),
		},
	};
	const connect = (more: Partial<PtyBackendOptions> = {}) => {
		const backend = createPtyBackend({ ...options, ...more });
		clients.push(backend);
		return backend;
	};

	const world: PtyWorld = {
		folder,
		backendFolder,
		options,
		connect: () => connect(),
		async connectBlind() {
			const broken = join(folder, "broken-holder.mjs");
			writeFileSync(broken, 'console.error("cannot start: a test"); process.exit(1);\n');
			return connect({ holderProgram: broken, folder: join(folder, "elsewhere") });
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
		holder: () => readHolder(backendFolder) as ProcessIdentity,
		log(runId) {
			const { logDir } = requests.find((request) => request.runId === runId) as StartRequest;
			const files = readdirSync(logDir).sort().reverse();
			return Buffer.concat(files.map((file) => readFileSync(join(logDir, file))));
		},
		close: () => closeWorld(folder, backendFolder, requests, clients, () => connect()),
	};

	const fileOf = (runId: string) =>
		join(folder, `file-${requests.findIndex((request) => request.runId === runId) + 1}`);
	mkdirSync(join(folder, "logs"));
	return world;
}

function argvOf(behaviour: Behaviour, file: string): [string, ...string[]] {
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
			return [process.execPath, agentProgram("echoes-input.mjs"), file];
		case "is-missing":
			return ["a-program-that-nobody-has"];
	}
}

/** Who owns the newest lock; null when nobody does. */
function readHolder(backendFolder: string): ProcessIdentity | null {
	if (!existsSync(backendFolder)) return null;
	const newest = readdirSync(backendFolder)
		.filter((name) => /^holder\.lock\.\d+$/.test(name))
		.sort((a, b) => Number(a.split(".")[2]) - Number(b.split(".")[2]))
		.at(-1);
	if (newest === undefined) return null;
	return JSON.parse(readFileSync(join(backendFolder, newest), "utf8")) as ProcessIdentity;
}

/** Kills what the world started, by its run ids, and waits until its holder has left by itself. */
async function closeWorld(
	folder: string,
	backendFolder: string,
	requests: readonly StartRequest[],
	clients: readonly Backend[],
	connect: () => Backend,
): Promise<void> {
	const holder = readHolder(backendFolder);
	if (requests.length > 0 && holder !== null) {
		const last = connect();
		await Promise.all(
			requests.map(async ({ runId }) => {
				const found = await last.recover(runId, null);
				const killed = found.state === "running" ? await last.kill(found.handle) : { ok: true };
				if (!killed.ok) throw new Error(`${runId} is left behind`);
			}),
		);
		await last.close();
	}
	for (const client of clients) await client.close();
	const leaving = readHolder(backendFolder);
	if (leaving !== null) {
		await eventually(() => isAlive(leaving) === false, {
			what: "the holder leaves by itself",
		}).catch((error: unknown) => {
			signalVerified(leaving, "SIGKILL");
			throw error;
		});
	}
	rmSync(folder, { recursive: true, force: true });
}
