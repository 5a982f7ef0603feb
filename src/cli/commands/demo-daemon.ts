/** The demo's last part: a real daemon over two real agents, killed with -9, in a home that is removed afterwards. */

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../../client/client.js";
import { parseFleet } from "../../config/parse-fleet.js";
import { resolveHome } from "../../home/paths.js";
import { ensureDaemon, waitForEnd } from "../daemon-process.js";

/** On the backend that needs nothing installed. */
const FLEET = `version: 1
defaults: { backend: pty, drain: { timeout: 2s } }
projects:
  demo:
    agents:
      bot: { command: [sleep, "600"] }
      server: { command: [sleep, "600"], terminal: false }
`;

export interface KilledDaemon {
	/** The pids of the agents under the first daemon, and under the next. */
	readonly before: Readonly<Record<string, number | null>>;
	readonly after: Readonly<Record<string, number | null>>;
	readonly daemons: readonly [first: number, next: number];
}

const STARTER_MS_MAX = 10_000;

/** Starts a daemon and agents, kills the daemon, starts another, and stops everything. */
export async function killDaemon(env: NodeJS.ProcessEnv): Promise<KilledDaemon> {
	const folder = await mkdtemp(join(tmpdir(), "reeve-demo-"));
	const home = resolveHome({ REEVE_HOME: join(folder, "home") });
	const client = createClient({ socketPath: home.socket });
	const pids = async () => {
		const { agents } = await client.call("GET /api/v1/agents");
		return Object.fromEntries(agents.map(({ id, pid }) => [id, pid]));
	};
	try {
		const parsed = parseFleet(FLEET, "reeve.yaml", { env: {}, homeDir: folder, baseDir: folder });
		if (!parsed.ok) throw new Error("the demo's own fleet file is invalid");
		await ensureDaemon({ home, env });
		await client.call("POST /api/v1/fleet/up", { body: { fleet: parsed.fleet, scope: "*" } });
		const before = await pids();
		const first = await client.call("GET /api/v1/daemon");
		process.kill(first.pid, "SIGKILL");
		await waitForEnd(client, first);
		await ensureDaemon({ home, env });
		const after = await pids();
		const next = await client.call("GET /api/v1/daemon");
		await client.call("POST /api/v1/daemon/stop", { body: { all: true } });
		await waitForEnd(client, next);
		await waitForStarter(home.runtime);
		return { before, after, daemons: [first.pid, next.pid] };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

/** A starter without runs and clients exits when its daemon has stopped, and removes its socket. */
async function waitForStarter(folder: string): Promise<void> {
	const untilMs = performance.now() + STARTER_MS_MAX;
	while (performance.now() < untilMs) {
		const files = await readdir(folder, { recursive: true }).catch(() => []);
		if (!files.some((file) => file.endsWith("starter.sock"))) return;
		await sleep(50);
	}
}
