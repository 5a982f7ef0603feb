/** Kills the processes that a test left behind, whether it passed or failed. */

import { readdirSync, readFileSync } from "node:fs";

/**
 * Kills every process whose command line or environment names this folder, which must belong to the test. Returns them,
 * for a test
 * that expects none. Only where there is a `/proc`.
 */
export function killStrays(folder: string): readonly string[] {
	if (process.platform !== "linux") return [];
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
		.flatMap((pid) => {
			const [command, environment] = ["cmdline", "environ"].map((kind) => readText(pid, kind));
			if (![command, environment].some((text) => text?.includes(folder))) return [];
			try {
				process.kill(Number(pid), "SIGKILL");
				return [`${pid} ${command?.replaceAll("\0", " ").trim()}`];
			} catch {
				return [];
			}
		});
}

function readText(pid: string, kind: string): string {
	try {
		return readFileSync(`/proc/${pid}/${kind}`, "latin1");
	} catch {
		return "";
	}
}
