/**
 * Text that users have typed at agents' terminals without submitting it. A message sent meanwhile would be appended to
 * it, and both would be submitted as one. Known only for users who type through this daemon.
 */

import { decideDraft } from "../../core/draft.js";
import type { AgentSign } from "../../core/sign.js";
import type { Clock } from "../../ports/clock.js";

export class Drafts {
	readonly #clock: Clock;
	/** When a user last typed into it, in wall time. */
	readonly #typedAtMs = new Map<string, number>();
	/** Agents of whose input this daemon knows everything. */
	readonly #known = new Set<string>();
	readonly #sinceMs: number;

	constructor(clock: Clock) {
		this.#clock = clock;
		this.#sinceMs = clock.now().wallMs;
	}

	typed(agentId: string, bytes: Uint8Array): void {
		const has = decideDraft(this.#typedAtMs.has(agentId), Buffer.from(bytes).toString("utf8"));
		if (has) this.#typedAtMs.set(agentId, this.#clock.now().wallMs);
		else this.#typedAtMs.delete(agentId);
	}

	/** Whether there is a draft, as far as known: a prompt that the CLI has reported since then is no longer a draft. */
	has(agentId: string, signs: readonly AgentSign[]): boolean {
		// Its input was empty then.
		const prompted = signs.some(({ atMs, prompt }) => atMs > this.#sinceMs && prompt !== undefined);
		if (prompted) this.#known.add(agentId);
		const typedAtMs = this.#typedAtMs.get(agentId);
		if (typedAtMs === undefined) return false;
		const isTaken = signs.some(({ atMs, prompt }) => atMs > typedAtMs && prompt !== undefined);
		if (isTaken) this.#typedAtMs.delete(agentId);
		return !isTaken;
	}

	/** Whether all drafts are known: no earlier daemon can have seen one that this one has not. */
	isKnown(agentId: string): boolean {
		return this.#known.has(agentId);
	}

	/** A new process has an empty input. */
	started(agentId: string): void {
		this.#known.add(agentId);
		this.forget(agentId);
	}

	/** The typed keys were no draft. */
	forget(agentId: string): void {
		this.#typedAtMs.delete(agentId);
	}
}
