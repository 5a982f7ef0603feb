/** Pid and mount namespaces for a program that kills processes and mounts file systems. */

import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

const UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];

/** Why namespaces are not available here; null if they are. */
export function explainNoNamespaces() {
	if (process.platform !== "linux") return "it needs the namespaces of Linux";
	const [program = "", ...args] = UNSHARE;
	const tried = spawnSync(program, [...args, "true"], { encoding: "utf8" });
	if (tried.status === 0) return null;
	const why = tried.error?.message ?? tried.stderr.trim();
	return `it needs pid and mount namespaces of its own, and \`unshare\` failed: ${why}. Run it as root.`;
}

/**
 * The command line of a chaos run; REEVE_CHAOS_SECONDS and REEVE_CHAOS_SEED in its environment set its duration and seed.
 *
 * @returns {[program: string, ...args: string[]]}
 */
export function chaosCommand() {
	const [program = "", ...args] = UNSHARE;
	const vitest = resolve("node_modules/vitest/vitest.mjs");
	const config = ["--config", "vitest.chaos.config.ts"];
	const init = ["perl", resolve("test/fixtures/chaos/init.pl")];
	return [program, ...args, ...init, process.execPath, vitest, "run", ...config];
}
