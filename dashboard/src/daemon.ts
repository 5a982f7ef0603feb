/** The daemon and the host that it runs on. */

import { signal } from "@preact/signals";
import type { HostJson } from "../../src/http/contract/daemon.js";
import { caller } from "./access.js";
import { call } from "./api.js";

/** Without findings, which take a moment; null until it is known. */
export const daemon = signal<HostJson | null>(null);

/** Reads them again after each connection. */
export async function readDaemon(): Promise<void> {
	const [host, who] = await Promise.allSettled([
		call("GET /api/v1/host", { query: { findings: "0" } }),
		call("GET /api/v1/caller"),
	]);
	if (host.status === "fulfilled") daemon.value = host.value;
	if (who.status === "fulfilled") caller.value = who.value;
}
