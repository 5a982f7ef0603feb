/** The daemon and the host that it runs on. */

import { signal } from "@preact/signals";
import type { HostJson } from "../../src/http/contract/daemon.js";
import { caller } from "./access.js";
import { call } from "./api.js";

/** Without findings, which take a moment; null until it is known. */
export const daemon = signal<HostJson | null>(null);

/** Takes note of the problems that the daemon has at the moment. */
export function takeProblems(problems: readonly string[]): void {
	const { value } = daemon;
	if (value === null || value.daemon.problems.join("\n") === problems.join("\n")) return;
	daemon.value = { ...value, daemon: { ...value.daemon, problems } };
}

/** Reads them again after each connection. */
export async function readDaemon(): Promise<void> {
	const [host, who] = await Promise.allSettled([
		call("GET /api/v1/host", { query: { findings: "0" } }),
		call("GET /api/v1/caller"),
	]);
	if (host.status === "fulfilled") daemon.value = host.value;
	if (who.status === "fulfilled") caller.value = who.value;
}
