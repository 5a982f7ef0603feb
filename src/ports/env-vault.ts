/**
 * Stores the values of agents' environments, separate from all data that is shown (A5). A restarted
 * daemon needs them to restart agents.
 */

export type AgentEnv = Readonly<Record<string, string | null>>;

/** Environments by key: one for each agent and revision of its settings. */
export type StoredEnvs = Readonly<Record<string, AgentEnv>>;

export interface EnvVault {
	/** Empty if nothing was ever written. */
	read(): Promise<StoredEnvs>;
	/** Sets the environments of these keys, and removes those that are null; others are unchanged. */
	update(changes: Readonly<Record<string, AgentEnv | null>>): Promise<void>;
}

/** Older versions stored one environment per agent, under its id. */
const UNNUMBERED = 0;

/** The key of the values that belong to one revision of an agent's settings. */
export function envKey(agentId: string, revision: number = UNNUMBERED): string {
	return revision === UNNUMBERED ? agentId : `${agentId}#${revision}`;
}

/**
 * The values of one revision. A file that was damaged and restored may lack the newest revision: then the newest one
 * that it has, which the next reload compares with the fleet file.
 */
export function envOf(envs: StoredEnvs, agentId: string, revision?: number): AgentEnv {
	const own = envs[envKey(agentId, revision)];
	if (own !== undefined) return own;
	const revisions = Object.keys(envs).flatMap((key) => {
		const [id, stored = UNNUMBERED] = key.split("#");
		return id === agentId ? [Number(stored)] : [];
	});
	return envs[envKey(agentId, Math.max(...revisions))] ?? {};
}
