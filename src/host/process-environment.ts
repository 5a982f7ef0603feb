/** The environment with which a running process was started. */

import { readFileSync } from "node:fs";
import type { ProcessIdentity } from "../ports/backend.js";
import { isAlive } from "./process-identity.js";

/** Null if it is not running, or where the system does not report it. */
export function readProcessEnvironment(
	identity: ProcessIdentity,
): Readonly<Record<string, string>> | null {
	try {
		const text = readFileSync(`/proc/${identity.pid}/environ`, "utf8");
		// Afterwards: until then its pid was its own.
		if (isAlive(identity) !== true) return null;
		const pairs = text.split("\0").flatMap((line): [string, string][] => {
			const at = line.indexOf("=");
			return at > 0 ? [[line.slice(0, at), line.slice(at + 1)]] : [];
		});
		return Object.fromEntries(pairs);
	} catch {
		return null;
	}
}
