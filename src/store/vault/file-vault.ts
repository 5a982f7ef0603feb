/** The values of agents' environments, in one file of the home that only its owner can read. */

import { createJsonFile, type FileDamage } from "../../home/json-file.js";
import type { AgentEnv, EnvVault } from "../../ports/env-vault.js";

export interface FileVaultOptions {
	readonly locks: string;
	readonly onDamage: (damage: FileDamage) => void;
}

export function createFileVault(path: string, { locks, onDamage }: FileVaultOptions): EnvVault {
	const file = createJsonFile<Record<string, AgentEnv>>(path, {
		locks,
		onDamage,
		parse: parseEnvs,
		restoresPrevious: true,
		consequence:
			"stored environment variables are lost until `reeve reload` or `reeve up` reads the fleet file again",
	});
	return {
		read: async () => (await file.read()) ?? {},
		async update(changes) {
			await file.update((before) => {
				const envs = new Map(Object.entries(before ?? {}));
				for (const [id, env] of Object.entries(changes)) {
					if (env === null) envs.delete(id);
					else envs.set(id, env);
				}
				return Object.fromEntries(envs);
			});
		},
	};
}

function parseEnvs(value: unknown): Record<string, AgentEnv> {
	if (!isMap(value)) throw new Error("it is not a map of agents");
	for (const [id, env] of Object.entries(value)) {
		const isEnv =
			isMap(env) && Object.values(env).every((each) => each === null || typeof each === "string");
		if (!isEnv) throw new Error(`the environment of ${id} is not a map of strings`);
	}
	return value as Record<string, AgentEnv>;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);
