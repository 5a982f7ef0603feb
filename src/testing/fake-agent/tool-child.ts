/** A tool as agent CLIs run them: a child in its own session, which signals to the agent's group do not reach. */

import { type ChildProcess, spawn } from "node:child_process";
import type { FakeTurn } from "./script.js";

export interface ToolChild {
	readonly pid: number;
	readonly ended: Promise<void>;
	/** Called when the agent exits or is interrupted; a tool that is left behind keeps running. */
	stop(): void;
}

export function startTool({ takes, left_behind }: NonNullable<FakeTurn["tool"]>): ToolChild {
	const child: ChildProcess = spawn("sleep", [String(takes / 1_000)], {
		detached: true,
		stdio: "ignore",
	});
	const ended = new Promise<void>((resolve) => {
		child.once("exit", () => resolve());
		child.once("error", () => resolve());
	});
	return {
		pid: child.pid ?? 0,
		ended,
		stop() {
			if (!left_behind) child.kill("SIGKILL");
		},
	};
}
