/**
 * The accepted fleets as recorded: their agents in the store, the values of their environments in the
 * vault. Changes are serialized, otherwise two requests could add the same agent.
 */

import { type AgentChange, type ComparedFleet, compareFleet } from "../config/diff.js";
import type { AgentSpec, FleetSpec } from "../config/spec.js";
import { NEW_AGENT } from "../core/crash-state.js";
import { ReeveError } from "../core/errors.js";
import { type AgentEnv, envKey, type StoredEnvs } from "../ports/env-vault.js";
import type { Agents } from "./agents.js";
import type { EngineParts } from "./engine-parts.js";
import { createMailbox } from "./mailbox.js";
import { putAgent } from "./runs/agent-record.js";
import type { Agent } from "./runs/agent-state.js";

export interface PinnedFleetsWorld
	extends Pick<EngineParts, "store" | "clock" | "vault" | "onError"> {
	readonly agents: Agents;
	/** A new agent was added. */
	added(agent: Agent): void;
	/** An agent was removed, together with its data. */
	removed(id: string): Promise<void>;
}

export class PinnedFleets {
	readonly #world: PinnedFleetsWorld;
	readonly #pins = createMailbox();

	constructor(world: PinnedFleetsWorld) {
		this.#world = world;
	}

	/** Removes the values of earlier settings, which a daemon left that died while it recorded a change. */
	async removeUnused(envs: StoredEnvs): Promise<void> {
		const current = new Map(this.#agents().map(({ id, revision }) => [id, envKey(id, revision)]));
		const unused = Object.keys(envs).filter((key) => {
			const used = current.get(key.split("#")[0] ?? key);
			return used !== undefined && used !== key && Object.hasOwn(envs, used);
		});
		await this.#forget(unused);
	}

	/** The changes of this fleet. Changes nothing. */
	diff(sent: FleetSpec): readonly AgentChange[] {
		return this.#compare(sent).changes;
	}

	/** Records the selected changes of this fleet, and returns all of them. */
	pin(
		sent: FleetSpec,
		chosen: (change: AgentChange) => boolean,
		{ unlessRunning = false }: { readonly unlessRunning?: boolean } = {},
	): Promise<readonly AgentChange[]> {
		return this.#pins.run(async () => {
			const { fleet, changes } = this.#compare(sent);
			const taken = changes.filter((each) => each.change !== "keep" && chosen(each));
			await this.#record(fleet, taken, unlessRunning);
			return changes;
		});
	}

	async #record(
		fleet: FleetSpec,
		taken: readonly AgentChange[],
		unlessRunning: boolean,
	): Promise<void> {
		const specs = new Map(fleet.agents.map((spec) => [spec.id, spec]));
		const kept = taken.filter(({ change }) => change !== "remove");
		// The commit of an agent's settings decides which values apply: those of its new revision are
		// written before, and those of its old one are removed after. A daemon that dies in between
		// leaves the old settings with the old values.
		const revisions = new Map(taken.map(({ id }) => [id, this.#revisionOf(id)]));
		const next = (id: string) => (revisions.get(id) ?? 0) + 1;
		const old = taken.filter(({ change }) => change !== "add");
		const unused = new Map(old.map(({ id }) => [id, envKey(id, revisions.get(id))]));
		await this.#updateVault(kept.map(({ id }) => [envKey(id, next(id)), specs.get(id)?.env ?? {}]));
		const positions = new Map(fleet.agents.map(({ id }, position) => [id, position]));
		const added: Agent[] = [];
		for (const { id, change, keys } of taken) {
			const spec = specs.get(id);
			const position = positions.get(id) ?? -1;
			const runner = this.#world.agents.get(id);
			if (change === "remove") {
				if (!(await this.#remove(id, unlessRunning))) unused.delete(id);
			} else if (change === "change" && spec && runner) {
				if (runner.spec.kind === spec.kind) {
					const settings = { spec, position, revision: next(id) };
					const isMade = await runner.change(settings, keys, unlessRunning);
					if (!isMade) unused.set(id, envKey(id, next(id)));
					continue;
				}
				// Another kind needs a new lifecycle: the old state does not apply.
				if (await this.#remove(id, unlessRunning)) {
					added.push(newAgent(spec, fleet.file, position, next(id)));
				} else unused.set(id, envKey(id, next(id)));
			} else if (change === "add" && spec) {
				added.push(newAgent(spec, fleet.file, position, next(id)));
			}
		}
		if (added.length > 0) await recordAdded(this.#world, added);
		for (const agent of added) this.#world.added(agent);
		await this.#forget([...unused.values()]);
	}

	#revisionOf(id: string): number {
		return this.#world.agents.get(id)?.snapshot().agent.revision ?? 0;
	}

	async #updateVault(changes: readonly (readonly [string, AgentEnv | null])[]): Promise<void> {
		if (changes.length > 0) await this.#world.vault.update(Object.fromEntries(changes));
	}

	/** Values that no settings use. If they cannot be removed, everything else is still done. */
	async #forget(keys: readonly string[]): Promise<void> {
		await this.#updateVault(keys.map((key) => [key, null])).catch((error: unknown) =>
			this.#world.onError(keys.join(", "), error),
		);
	}

	async #remove(id: string, unlessRunning: boolean): Promise<boolean> {
		const record = () => recordRemoved(this.#world, id);
		const isRemoved = await this.#world.agents.require(id).remove(record, unlessRunning);
		if (isRemoved) await this.#world.removed(id);
		return isRemoved;
	}

	#agents(): readonly Agent[] {
		return [...this.#world.agents.values()].map((runner) => runner.snapshot().agent);
	}

	#compare(sent: FleetSpec): ComparedFleet {
		this.#refuseForeign(sent);
		return compareFleet(recordedFleet(this.#agents(), sent.file), sent);
	}

	#refuseForeign(fleet: FleetSpec): void {
		for (const { id } of fleet.agents) {
			const owner = this.#world.agents.get(id)?.snapshot().agent.fleetFile ?? fleet.file;
			if (owner === fleet.file) continue;
			throw new ReeveError("agent_taken", `agent ${id} is already defined in ${owner}`);
		}
	}
}

function newAgent(spec: AgentSpec, fleetFile: string, position: number, revision: number): Agent {
	return {
		id: spec.id,
		fleetFile,
		position,
		spec,
		revision,
		// A call agent is always available.
		desired: spec.kind === "call" ? "up" : "down",
		crash: NEW_AGENT,
		waiting: false,
		reason: "new",
		restarts: 0,
	};
}

/** All in one commit: a fleet of hundreds must not wait for the disk once per agent. */
async function recordAdded(
	{ store, clock }: PinnedFleetsWorld,
	agents: readonly Agent[],
): Promise<void> {
	const atMs = clock.now().wallMs;
	await store.commit((transaction) => {
		for (const agent of agents) {
			putAgent(transaction, agent);
			const data = { fleet_file: agent.fleetFile };
			transaction.appendEvent({ type: "agent.added", agent: agent.id, data }, atMs);
		}
	});
}

async function recordRemoved({ store, clock }: PinnedFleetsWorld, id: string): Promise<void> {
	await store.commit((transaction) => {
		transaction.removeAgent(id);
		transaction.appendEvent({ type: "agent.removed", agent: id, data: {} }, clock.now().wallMs);
	});
}

/** The recorded fleet of a file. */
export function recordedFleet(agents: readonly Agent[], file: string): FleetSpec {
	const own = agents
		.filter((agent) => agent.fleetFile === file)
		.sort((a, b) => a.position - b.position);
	return { file, agents: own.map(({ spec }) => spec) };
}
