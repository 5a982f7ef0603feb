/**
 * The environment of an agent, as layers with a source each; later layers take precedence. The daemon passes on only a
 * small base of its own environment, so an agent does not depend on the shell that started the daemon.
 */

export const ENV_SOURCES = ["base", "adapter", "env_file", "pass_env", "env", "reeve"] as const;
export type EnvSource = (typeof ENV_SOURCES)[number];

/** A null value removes the variable that an earlier layer set. */
export interface EnvLayer {
	readonly source: EnvSource;
	readonly values: Readonly<Record<string, string | null | undefined>>;
}

export interface EnvVariable {
	readonly name: string;
	readonly value: string;
	readonly source: EnvSource;
}

/**
 * The user and their files, the language, the time zone, and the ssh agent. `TERM` is omitted on
 * purpose: it describes the terminal that started the daemon, not the one that the backend opens.
 */
const BASE_NAMES: ReadonlySet<string> = new Set([
	...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ"],
	...["LANG", "LANGUAGE", "SSH_AUTH_SOCK", "SSH_AGENT_PID"],
]);
const BASE_PREFIXES = ["LC_", "XDG_"];

/** Variables that only Reeve sets: an agent that could set them could impersonate another run. */
export function isReserved(name: string): boolean {
	return name.startsWith("REEVE_");
}

/** The part of the daemon's own environment that every agent gets. */
export function baseEnvironment(
	inherited: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
	const isBase = (name: string) =>
		BASE_NAMES.has(name) || BASE_PREFIXES.some((prefix) => name.startsWith(prefix));
	const base: Record<string, string> = {};
	for (const [name, value] of Object.entries(inherited)) {
		if (value !== undefined && isBase(name)) base[name] = value;
	}
	return base;
}

/** All variables with their layer, sorted by name, without reserved names. */
export function composeEnvironment(layers: readonly EnvLayer[]): readonly EnvVariable[] {
	const merged = new Map<string, EnvVariable>();
	for (const { source, values } of layers) {
		for (const [name, value] of Object.entries(values)) {
			if (value === null) merged.delete(name);
			else if (value !== undefined && (source === "reeve" || !isReserved(name))) {
				merged.set(name, { name, value, source });
			}
		}
	}
	return [...merged.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function valuesOf(variables: readonly EnvVariable[]): Record<string, string> {
	return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}
