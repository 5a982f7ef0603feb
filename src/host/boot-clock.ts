/**
 * The clock of this host since its boot, which continues while the host is suspended. Only Linux has it; a shim reads the
 * same one.
 */

import { readFileSync } from "node:fs";

/** Null where there is no such clock. In milliseconds, in steps of 10, and never ahead of the time. */
export function readBootMs(): number | null {
	try {
		const [seconds = ""] = readFileSync("/proc/uptime", "latin1").split(" ");
		const bootMs = Math.floor(Number(seconds) * 1_000);
		return Number.isFinite(bootMs) ? bootMs : null;
	} catch {
		return null;
	}
}
