/**
 * The environment of each agent on this host. Everything that Reeve runs for an agent (the agent itself, calls,
 * workers, its ready command) and everything that searches the agent's files uses this module.
 */

import { readEnvFile } from "../config/env-file.js";
import { type Problem, renderProblemLine } from "../config/problem.js";
import { unsetPassEnv } from "../config/resolve.js";
import type { AgentSpec } from "../config/spec.js";
import {
	baseEnvironment,
	composeEnvironment,
	type EnvLayer,
	isReserved,
	valuesOf,
} from "../core/environment.js";
import { adapterOf } from "./adapters.js";

export type AgentEnvironment =
	| {
			readonly ok: true;
			/** In increasing order of precedence; the base is the first. */
			readonly layers: readonly EnvLayer[];
			readonly warnings: readonly Problem[];
	  }
	| { readonly ok: false; readonly problems: readonly Problem[] };

export interface Environments {
	/** Reads the env file again, so an edit takes effect at the next start. */
	read(spec: AgentSpec): Promise<AgentEnvironment>;
	/** All variables, without those of the adapter. An unreadable env file counts as empty. */
	values(spec: AgentSpec): Promise<Readonly<Record<string, string>>>;
	/**
	 * Learns the values with which a running process was started: its env file, which is not stored, may have other ones
	 * by now.
	 */
	learnRunning(environment: Readonly<Record<string, string>>): void;
}

/** `learn` gets every value that is set for an agent, before the agent is started. */
export function createEnvironments(
	inherited: NodeJS.ProcessEnv,
	learn: (name: string, value: string) => void = () => {},
): Environments {
	const base: EnvLayer = { source: "base", values: baseEnvironment(inherited) };

	async function read(spec: AgentSpec): Promise<AgentEnvironment> {
		const file = spec.envFile === null ? null : await readEnvFile(spec.envFile);
		const layers = [base, ...ownLayers(spec, file?.ok ? file.values : {})];
		for (const { values } of layers.slice(1)) {
			for (const [name, value] of Object.entries(values)) if (value) learn(name, value);
		}
		if (file !== null && !file.ok) return { ok: false, problems: file.problems };
		return { ok: true, layers, warnings: file?.warnings ?? [] };
	}

	return {
		read,
		learnRunning(environment) {
			const inBase = baseEnvironment(environment);
			for (const [name, value] of Object.entries(environment)) {
				if (value && !Object.hasOwn(inBase, name) && !isReserved(name)) learn(name, value);
			}
		},
		async values(spec) {
			const found = await read(spec);
			const layers = found.ok ? found.layers : [base, ...ownLayers(spec, {})];
			return valuesOf(composeEnvironment(layers));
		},
	};
}

function ownLayers(
	{ passEnv = [], env }: AgentSpec,
	file: Readonly<Record<string, string>>,
): readonly EnvLayer[] {
	const passed = new Set(passEnv);
	const entries = Object.entries(env);
	return [
		{ source: "env_file", values: file },
		{
			source: "pass_env",
			values: Object.fromEntries(entries.filter(([name]) => passed.has(name))),
		},
		{ source: "env", values: Object.fromEntries(entries.filter(([name]) => !passed.has(name))) },
	];
}

/** Names and sources, never a value (A5). */
export async function describeEnvironment(environments: Environments, spec: AgentSpec) {
	const found = await environments.read(spec);
	const [first, ...own] = found.ok ? found.layers : [];
	const layers: readonly EnvLayer[] = [
		...(first === undefined ? [] : [first]),
		{ source: "adapter", values: spec.kind === "session" ? adapterOf(spec).profile.env : {} },
		...own,
	];
	const variables = composeEnvironment(layers).map(({ name, source }) => ({
		name,
		source,
		set: true,
	}));
	const unset = unsetPassEnv(spec).filter((name) => variables.every((each) => each.name !== name));
	return {
		variables: [
			...variables,
			...unset.map((name) => ({ name, source: "pass_env" as const, set: false })),
		],
		env_file: spec.envFile,
		warnings: (found.ok ? found.warnings : found.problems).map(renderProblemLine),
	};
}

export function renderProblems(problems: readonly Problem[]): string {
	return problems.map(renderProblemLine).join("; ");
}
