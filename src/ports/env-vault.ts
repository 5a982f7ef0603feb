/**
 * Stores the values of agents' environments, separate from all data that is shown (A5). A restarted
 * daemon needs them to restart agents.
 */

export type AgentEnv = Readonly<Record<string, string | null>>;

export interface EnvVault {
	/** By agent id. Empty if nothing was ever written. */
	read(): Promise<Readonly<Record<string, AgentEnv>>>;
	/** Sets the environments of these agents, and removes those that are null; others are unchanged. */
	update(changes: Readonly<Record<string, AgentEnv | null>>): Promise<void>;
}
