/**
 * A reload: applies the changes of a fleet file to its agents. Unchanged agents are not disturbed,
 * changed or removed ones are stopped before their dependencies (S7), and none is stopped for a
 * successor that could not be started.
 */

import type { AgentChange } from "../config/diff.js";
import type { FleetSpec } from "../config/spec.js";
import type { Agents } from "./agents.js";
import type { EngineParts, Reloaded } from "./engine-parts.js";
import type { PinnedFleets } from "./pinned-fleets.js";
import type { StartOutcome, StartReport, StopReport } from "./runs/life-world.js";
import { dependsOn, stopInOrder } from "./scope.js";

interface ReloadWorld extends Pick<EngineParts, "sessions"> {
	readonly agents: Agents;
	readonly fleets: PinnedFleets;
	/** The result of a start, or that it waits for something. */
	readonly startOf: (id: string, start: Promise<StartOutcome>) => Promise<StartReport>;
}

export async function reloadFleet(
	fleet: FleetSpec,
	world: ReloadWorld,
): Promise<readonly Reloaded[]> {
	const { agents, fleets, startOf } = world;
	const changes = fleets.diff(fleet);
	const wasUp = new Set(
		changes.map(({ id }) => id).filter((id) => agentOf(agents, id)?.desired === "up"),
	);
	const known = new Map(agents);
	const refused = await checkChanged(fleet, world);
	const leaving = changes.filter(
		({ id, change }) => change === "remove" || (change === "change" && !refused.has(id)),
	);
	const stopped = await stopAll(leaving, agents);
	const isUndone = (id: string) => refused.has(id) || stopped.get(id)?.outcome === "not_proven";
	// Another request may have changed the fleet while agents were stopping: only planned changes are
	// made.
	const planned = new Map(changes.map(({ id, change }) => [id, change]));
	const isDue = ({ id, change }: AgentChange) => planned.get(id) === change && !isUndone(id);
	await fleets.pin(fleet, isDue).catch((error: unknown) => {
		// Nothing stays stopped for settings that could not be recorded.
		for (const { id } of leaving) void agents.get(id)?.startHeld();
		throw error;
	});
	return Promise.all(
		changes.map(async (each) => {
			const { id, change } = each;
			const isLeft = change === "remove" && agents.has(id) && !isUndone(id);
			const report = { ...each, stopped: isLeft ? STARTED_AGAIN : (stopped.get(id) ?? null) };
			const problem = refused.get(id);
			if (problem !== undefined) {
				return { ...report, start: { outcome: "failed" as const, reason: problem } };
			}
			const runner = agents.get(id);
			const { spec, desired } = agentOf(agents, id) ?? {};
			const isWanted = wasUp.has(id) || desired === "up";
			const starts = change === "add" || (change === "change" && isWanted);
			if (!starts || isUndone(id) || runner === undefined || spec?.kind === "call") {
				return { ...report, start: null };
			}
			// An agent whose kind changed is a new one without any requests yet.
			const isNew = known.get(id) !== runner;
			const start = isNew ? runner.up("reeve") : runner.startChanged("reeve");
			return { ...report, start: await startOf(id, start) };
		}),
	);
}

/** Another request started the agent that the reload was about to remove. */
const STARTED_AGAIN: StopReport = {
	outcome: "not_proven",
	durationMs: 0,
	reason: "another request started it again, and it could not be stopped",
	killed: [],
};

const agentOf = (agents: ReloadWorld["agents"], id: string) => agents.get(id)?.snapshot().agent;

/** Running agents that could not be started with their new settings, with the reason. */
async function checkChanged(
	fleet: FleetSpec,
	{ agents, fleets, sessions }: ReloadWorld,
): Promise<ReadonlyMap<string, string>> {
	const specs = new Map(fleet.agents.map((spec) => [spec.id, spec]));
	const refused = new Map<string, string>();
	for (const { id, change } of fleets.diff(fleet)) {
		const spec = specs.get(id);
		const runs = (agents.get(id)?.snapshot().run ?? null) !== null;
		if (change !== "change" || spec === undefined || spec.kind === "call" || !runs) continue;
		const problem = await sessions.checkStart(spec);
		if (problem !== null) refused.set(id, problem);
	}
	return refused;
}

async function stopAll(
	leaving: readonly Pick<Reloaded, "id" | "change">[],
	agents: ReloadWorld["agents"],
): Promise<ReadonlyMap<string, StopReport>> {
	const graph = new Map([...agents].map(([id, { spec }]) => [id, dependsOn(spec)]));
	const removed = new Set(leaving.filter(({ change }) => change === "remove").map(({ id }) => id));
	const stop = async (id: string) => {
		const runner = agents.require(id);
		const report = removed.has(id) ? await runner.down("reeve") : await runner.stop("reeve");
		return [id, report] as const;
	};
	const ids = leaving.map(({ id }) => id).filter((id) => agents.has(id));
	return new Map(await stopInOrder(graph, ids, stop));
}
