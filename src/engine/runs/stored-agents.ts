/** The agents as an earlier daemon stored them, with what it has left to do. */

import { readStoredSpec } from "../../config/spec-schema.js";
import { envOf, type StoredEnvs } from "../../ports/env-vault.js";
import type { Store, StoredExit, StoredRun } from "../../ports/store.js";
import { type PlannedStart, withLastFailure } from "./agent-record.js";
import type { Agent } from "./agent-state.js";

export interface RecoveredAgent {
	readonly agent: Agent;
	readonly lastExit: StoredExit | null;
	/** Its runs that have not ended. */
	readonly runs: readonly StoredRun[];
	readonly planned: PlannedStart | null;
}

const EXITS_READ = 20;

export function readStoredAgents(
	{
		store,
		onError,
	}: { readonly store: Store; readonly onError: (agentId: string, error: unknown) => void },
	envs: StoredEnvs,
): readonly RecoveredAgent[] {
	const runs = new Map<string, StoredRun[]>();
	for (const run of store.readOpenRuns()) {
		runs.set(run.agentId, [...(runs.get(run.agentId) ?? []), run]);
	}
	const planned = new Map<string, PlannedStart>();
	for (const { dueAtMs, payload } of store.readEffects("start")) {
		planned.set(payload.agent, { dueAtMs, afterMs: payload.afterMs });
	}
	return store.readAgents().map((stored) => {
		const { id, revision } = stored;
		const { spec, problem } = readStoredSpec(stored.spec);
		if (problem !== null) onError(id, new Error(`stored spec: ${problem}`));
		const exits = store.readExits(id, EXITS_READ);
		return {
			agent: {
				...withLastFailure(stored, exits),
				spec: { ...spec, env: envOf(envs, id, revision) },
			},
			lastExit: exits[0] ?? null,
			runs: runs.get(id) ?? [],
			planned: planned.get(id) ?? null,
		};
	});
}
