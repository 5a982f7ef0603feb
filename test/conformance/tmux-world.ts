/** A world in which every run is shown in a session of a real tmux server. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import {
	attachCommand,
	createPtyBackend,
	type PtyBackendOptions,
} from "../../src/backends/pty/pty-backend.js";
import { createTmuxBackend } from "../../src/backends/tmux/tmux-backend.js";
import { readIdentity } from "../../src/host/process-identity.js";
import type { ProcessIdentity } from "../../src/ports/backend.js";
import { createPtyWorld, type PtyWorld } from "./pty-world.js";

export interface TmuxWorld extends PtyWorld {
	/** The response of the world's own tmux server to a command. */
	tmux(...args: string[]): string;
	/** The live tmux server; null when there is none. */
	server(): ProcessIdentity | null;
	/** The agents whose session was opened again. */
	readonly reopened: string[];
}

export async function createTmuxWorld({ name = "t" } = {}): Promise<TmuxWorld> {
	const reopened: string[] = [];
	const create = (options: PtyBackendOptions) =>
		createTmuxBackend({
			folder: options.folder,
			inner: createPtyBackend({ ...options, name: "tmux" }),
			show: (handle) => attachCommand(options, handle),
			onReopened: ({ agentId }) => reopened.push(agentId),
			pollMs: 100,
		});
	const world = await createPtyWorld({ name, create });
	const tmux = (...args: string[]) =>
		execFileSync("tmux", ["-S", join(world.backendFolder, "server.sock"), ...args], {
			encoding: "utf8",
			env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
			stdio: ["ignore", "pipe", "pipe"],
		}).trim();
	return {
		...world,
		tmux,
		reopened,
		server() {
			try {
				return readIdentity(Number(tmux("display-message", "-p", "#{pid}")));
			} catch {
				return null;
			}
		},
	};
}
