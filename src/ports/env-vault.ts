/**
 * Where the values of agents' environments are kept, apart from everything that is shown or stored
 * with the rest (A5): a daemon that restarts needs them to start agents again.
 */

export type AgentEnv = Readonly<Record<string, string | null>>;

export interface EnvVault {
	/** By agent id. Empty when nothing was ever written. */
	read(): Promise<Readonly<Record<string, AgentEnv>>>;
	/** Sets the environments of these agents, and removes those that are null; others stay as they are. */
	update(changes: Readonly<Record<string, AgentEnv | null>>): Promise<void>;
}
