/** Which backend holds which agent on this host. */

import { join } from "node:path";
import { createPtyBackend } from "../backends/pty/pty-backend.js";
import { createTmuxBackend } from "../backends/tmux/tmux-backend.js";
import { explainTmuxProblem } from "../backends/tmux/tmux-place.js";
import type { AgentSpec } from "../config/spec.js";
import type { Backend, RunExit } from "../ports/backend.js";

export interface Backends {
	/** The backend for a new run of this agent, or why there is none. */
	choose(spec: AgentSpec): { readonly name: string; readonly refused: string | null };
	/** By name, also one that is no longer chosen: it may still hold runs. */
	get(name: string): Backend;
	onExit(listener: (exit: RunExit) => void): void;
	close(): Promise<void>;
}

export function createBackends(runtime: string): Backends {
	const noTmux = explainTmuxProblem();
	const all = new Map<string, Backend>([
		["pty", createPtyBackend({ folder: join(runtime, "pty") })],
		["tmux", createTmuxBackend({ folder: join(runtime, "tmux") })],
	]);
	const best = noTmux === null ? "tmux" : "pty";
	return {
		choose(spec) {
			const asked = spec.kind === "session" ? spec.backend : "pty";
			if (asked === "auto") return { name: best, refused: null };
			if (asked === "tmux" && noTmux !== null) return { name: "tmux", refused: noTmux };
			if (asked === "tmux" || asked === "pty") return { name: asked, refused: null };
			return {
				name: best,
				refused: `there is no ${asked} backend in this version: use tmux, pty or auto`,
			};
		},
		get: (name) => all.get(name) ?? (all.get("pty") as Backend),
		onExit(listener) {
			for (const backend of all.values()) backend.onExit(listener);
		},
		async close() {
			await Promise.all([...all.values()].map((backend) => backend.close()));
		},
	};
}
