/**
 * The values of agents' environments in one file that only its owner can read. Written whole and put
 * in place by a rename, so that a crash leaves the old one or the new one.
 */

import { open, readFile, rename } from "node:fs/promises";
import type { AgentEnv, EnvVault } from "../../ports/env-vault.js";

export function createFileVault(path: string): EnvVault {
	return {
		async read() {
			try {
				return JSON.parse(await readFile(path, "utf8")) as Record<string, AgentEnv>;
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
				throw error;
			}
		},
		async write(envs) {
			const file = await open(`${path}.new`, "w", 0o600);
			try {
				await file.writeFile(JSON.stringify(envs));
				await file.sync();
			} finally {
				await file.close();
			}
			await rename(`${path}.new`, path);
		},
	};
}
