/** A world whose runs are jobs of a simulated launchd, with real shims and real programs. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { createLaunchctl } from "../../src/backends/launchd/launchctl.js";
import { createLaunchdBackend } from "../../src/backends/launchd/launchd-backend.js";
import { createPtyBackend, starterOf } from "../../src/backends/pty/pty-backend.js";
import type { Backend, ProcessIdentity } from "../../src/ports/backend.js";
import { runOf } from "../../src/testing/conformance/backend-world.js";
import { createPtyWorld, type PtyWorld, readStarter } from "./pty-world.js";

export interface LaunchdWorld extends PtyWorld {
	/** The requests to launchd, in order. */
	asked(): string[];
	/** The labels of the jobs that are loaded. */
	jobs(): string[];
}

export async function createLaunchdWorld({ groups = true } = {}): Promise<LaunchdWorld> {
	const world = await createPtyWorld({ groups });
	const backendFolder = join(world.folder, "launchd");
	const clients: Backend[] = [];
	const connectAt = (folder: string, program = resolve("test/fixtures/launchd/launchctl.pl")) => {
		const { program: shim, starterEnv } = world.options;
		const env = { PATH: process.env["PATH"], FAKE_SERVICES: world.folder };
		const backend = createLaunchdBackend({
			folder,
			launchctl: createLaunchctl({ domain: "gui/501", program, env }),
			inner: (at) => createPtyBackend({ ...world.options, folder: at }),
			holder: (at) => starterOf({ folder: at, program: shim, starterEnv }),
		});
		clients.push(backend);
		return backend;
	};
	const jobs = () => {
		const folder = join(world.folder, "jobs");
		return existsSync(folder) ? readdirSync(folder) : [];
	};
	const runIds: string[] = [];
	return {
		...world,
		backendFolder,
		jobs,
		asked: () => readFileSync(join(world.folder, "asked.log"), "utf8").trim().split("\n"),
		connect: () => connectAt(backendFolder),
		async connectBlind() {
			const elsewhere = join(world.folder, "elsewhere");
			mkdirSync(elsewhere, { mode: 0o700 });
			return connectAt(elsewhere, "/nowhere/launchctl");
		},
		run(argv, more) {
			const request = world.run(argv, more);
			runIds.push(request.runId);
			return request;
		},
		request(behaviour) {
			const request = world.request(behaviour);
			runIds.push(request.runId);
			return request;
		},
		holder() {
			const [folder = ""] = readdirSync(backendFolder);
			return readStarter(join(backendFolder, folder)) as ProcessIdentity;
		},
		async close() {
			// A starter stays as long as a client is connected.
			for (const client of clients) await client.close();
			const last = connectAt(backendFolder);
			for (const runId of runIds) {
				const found = await last.recover(runId, null);
				if (found.state === "running" && !(await last.kill(runOf(found.handle))).ok) {
					throw new Error(`${runId} is left behind`);
				}
				await last.forget(runId);
			}
			const left = jobs();
			rmSync(world.folder, { recursive: true, force: true });
			if (left.length > 0) throw new Error(`jobs are left behind: ${left.join(", ")}`);
		},
	};
}
