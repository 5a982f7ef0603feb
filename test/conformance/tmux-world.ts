/** A world with a real tmux server and real programs, in a folder of its own that is gone afterwards. */

import { execFileSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
	createTmuxBackend,
	type TmuxBackendOptions,
} from "../../src/backends/tmux/tmux-backend.js";
import { createGroups } from "../../src/host/cgroup.js";
import { isAlive, readIdentity } from "../../src/host/process-identity.js";
import { signalVerified } from "../../src/host/process-tree.js";
import type { Backend, ProcessIdentity, StartRequest } from "../../src/ports/backend.js";
import { killStrays } from "../support/kill-strays.js";
import { agentProgram } from "./pty-world.js";
import { type Behaviour, eventually, runOf, type World } from "./world.js";

/** How long a run that lost its terminal is given. */
const ORPHAN_GRACE_MS = 1_000;

export interface TmuxWorld extends World {
	readonly folder: string;
	/** The folder of the backend. */
	readonly backendFolder: string;
	readonly options: { readonly folder: string };
	connect(): Backend;
	/** A request for any program. */
	run(argv: readonly [string, ...string[]], more?: Partial<StartRequest>): StartRequest;
	/** The live server. */
	holder(): ProcessIdentity;
	/** The response of this world's own tmux server to a command. */
	tmux(...args: string[]): string;
	/** Everything that a run has printed, oldest first. */
	log(runId: string): Buffer;
}

/** `name` becomes a part of the path of everything; `parent` is where its folder is made. */
export async function createTmuxWorld({
	name = "t",
	parent = tmpdir(),
	groups = true,
	backend: more = {} as Partial<TmuxBackendOptions>,
} = {}): Promise<TmuxWorld> {
	const folder = mkdtempSync(join(parent, `reeve-${name}-`));
	const backendFolder = join(folder, "tmux");
	const clients: Backend[] = [];
	const requests: StartRequest[] = [];
	const liars: Server[] = [];
	const connect = (at = backendFolder) => {
		const none = groups ? {} : { groups: createGroups("none", "control groups are turned off") };
		const grace = { orphanGraceMs: ORPHAN_GRACE_MS };
		const backend = createTmuxBackend({ folder: at, ...grace, ...none, ...more });
		clients.push(backend);
		return backend;
	};
	const fileOf = (runId: string) =>
		join(folder, `file-${requests.findIndex((request) => request.runId === runId) + 1}`);

	const world: TmuxWorld = {
		folder,
		backendFolder,
		options: { folder: backendFolder },
		connect: () => connect(),
		async connectBlind() {
			const elsewhere = join(folder, "elsewhere");
			mkdirSync(elsewhere, { mode: 0o700 });
			const liar = createServer((socket) => socket.destroy());
			await new Promise<void>((resolve) => liar.listen(join(elsewhere, "tmux.sock"), resolve));
			liars.push(liar);
			return connect(elsewhere);
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
		request: (behaviour) =>
			world.run(argvOf(behaviour, join(folder, `file-${requests.length + 1}`))),
		trigger: (runId) => writeFileSync(fileOf(runId), ""),
		received: (runId) => (existsSync(fileOf(runId)) ? readFileSync(fileOf(runId)) : null),
		pass: () => sleep(10),
		nowMs: () => Date.now(),
		holder: () =>
			readIdentity(Number(world.tmux("display-message", "-p", "#{pid}"))) as ProcessIdentity,
		tmux: (...args) => askTmux(backendFolder, args),
		log(runId) {
			const { logDir } = requests.find((request) => request.runId === runId) as StartRequest;
			const files = readdirSync(logDir).sort().reverse();
			return Buffer.concat(files.map((file) => readFileSync(join(logDir, file))));
		},
		async close() {
			try {
				for (const liar of liars) liar.close();
				await endRuns(requests, backendFolder, () => connect());
				const server = readServer(backendFolder);
				for (const client of clients) await client.close();
				if (server !== null) await seeLeave(server);
			} finally {
				killStrays(folder);
				rmSync(folder, { recursive: true, force: true });
			}
		},
	};
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

function askTmux(backendFolder: string, args: readonly string[]): string {
	return execFileSync(
		"tmux",
		["-S", join(backendFolder, "tmux.sock"), "-f", "/dev/null", ...args],
		{
			encoding: "utf8",
			env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
			stdio: ["ignore", "pipe", "pipe"],
		},
	).trim();
}

function readServer(backendFolder: string): ProcessIdentity | null {
	try {
		return readIdentity(Number(askTmux(backendFolder, ["display-message", "-p", "#{pid}"])));
	} catch {
		return null;
	}
}

async function endRuns(
	requests: readonly StartRequest[],
	backendFolder: string,
	connect: () => Backend,
): Promise<void> {
	if (requests.length === 0 || !existsSync(backendFolder)) return;
	const last = connect();
	await Promise.all(
		requests.map(async ({ runId }) => {
			const found = await last.recover(runId, null);
			if (found.state !== "running") return;
			const ended = new Promise((resolve) => {
				last.onExit((exit) => exit.runId === runId && resolve(exit));
			});
			const killed = await last.kill(runOf(found.handle));
			if (!killed.ok) throw new Error(`${runId} is left behind`);
			await ended;
		}),
	);
}

/** With its runs and its clients gone, a server has no reason to stay. */
async function seeLeave(server: ProcessIdentity): Promise<void> {
	await eventually(() => isAlive(server) === false, {
		what: "the server leaves by itself",
	}).catch((error: unknown) => {
		signalVerified(server, "SIGKILL");
		throw error;
	});
}
