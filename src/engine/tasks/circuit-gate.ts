/**
 * Whether the circuit of an agent lets the next attempt start, and which task is its probe. Requests
 * that were accepted before the circuit opened wait here; the gate checks again when the cooldown is
 * over.
 *
 * Keeps B1 to B3: an abandoned probe returns its permit.
 */

import { type Permit, refusesForMs } from "../../core/breaker.js";
import type { Clock } from "../../ports/clock.js";
import type { Breakers } from "./breakers.js";

/** The check interval while tasks wait for a circuit. */
const POLL_MS = 1_000;

export interface GateWorld {
	readonly clock: Clock;
	readonly breakers: Breakers;
	/** Whether the task is still unfinished. */
	readonly isOpen: (taskId: string) => boolean;
	/** Checks the waiting tasks, and starts those that may start. */
	readonly look: (agentId: string) => void;
}

export class CircuitGate {
	readonly #world: GateWorld;
	/** Permits of requests between two attempts, by task. */
	readonly #held = new Map<string, Permit>();
	/** The task that is the probe of a half-open circuit, by agent, and whether it waits for its turn. */
	readonly #probes = new Map<string, { readonly taskId: string; ready: boolean }>();
	/**
	 * Since when (steady time) an agent's tasks wait for its circuit, and how to cancel the next check.
	 */
	readonly #blocked = new Map<string, { readonly sinceMs: number; cancel: (() => void) | null }>();
	#closed = false;

	constructor(world: GateWorld) {
		this.#world = world;
	}

	/** Whether an attempt of one of the agent's tasks may start now. */
	mayStart(agentId: string): boolean {
		const { circuit, probing } = this.#world.breakers.state(agentId);
		if (circuit === "closed") {
			this.#blocked.get(agentId)?.cancel?.();
			this.#blocked.delete(agentId);
			return true;
		}
		if (circuit === "half_open" && (!probing || this.#probeMayStart(agentId))) return true;
		this.#scheduleCheck(agentId);
		return false;
	}

	/** Since when tasks of this agent wait for its circuit (steady time); null if they do not. */
	blockedSinceMs(agentId: string): number | null {
		return this.#blocked.get(agentId)?.sinceMs ?? null;
	}

	/** Requests an attempt of this task, with the permit that it may already hold. */
	admit(agentId: string, taskId: string) {
		const admission = this.#world.breakers.admit(agentId, this.#held.get(taskId) ?? null);
		this.#held.delete(taskId);
		if (admission.permit?.probe === true) this.#probes.set(agentId, { taskId, ready: false });
		return admission;
	}

	/** Its attempt failed and another follows: the request keeps its permit. */
	keep(taskId: string, permit: Permit | null): void {
		if (permit?.probe === true) this.#held.set(taskId, permit);
	}

	/** The task may run. Returns whether it is the probe, which goes before all others. */
	isProbe(agentId: string, taskId: string): boolean {
		const probe = this.#probes.get(agentId);
		if (probe?.taskId !== taskId || !this.#held.has(taskId)) return false;
		probe.ready = true;
		return true;
	}

	close(): void {
		this.#closed = true;
		for (const { cancel } of this.#blocked.values()) cancel?.();
	}

	#probeMayStart(agentId: string): boolean {
		const probe = this.#probes.get(agentId);
		if (probe === undefined) return false;
		if (this.#world.isOpen(probe.taskId)) return probe.ready;
		const permit = this.#held.get(probe.taskId);
		if (permit === undefined) return false;
		// It was cancelled between two attempts (B3).
		this.#held.delete(probe.taskId);
		this.#probes.delete(agentId);
		this.#world.breakers.settle(agentId, permit, null);
		return true;
	}

	#scheduleCheck(agentId: string): void {
		const { clock, breakers, look } = this.#world;
		const now = clock.now();
		const blocked = this.#blocked.get(agentId) ?? { sinceMs: now.steadyMs, cancel: null };
		this.#blocked.set(agentId, blocked);
		if (this.#closed || blocked.cancel !== null) return;
		const leftMs = refusesForMs(breakers.state(agentId), now) || POLL_MS;
		blocked.cancel = clock.schedule(Math.min(leftMs, POLL_MS), () => {
			blocked.cancel = null;
			look(agentId);
		});
	}
}
