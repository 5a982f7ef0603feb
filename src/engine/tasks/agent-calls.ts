/** Attempts at requests: uses a worker of the agent's pool, or runs one process for each. */

import type { AgentSpec } from "../../config/spec.js";
import { classifyDeadline, classifyProcessFailure } from "../../core/outcome.js";
import { redactDeep } from "../../core/redact.js";
import type { AttemptEnd, CallAdapter, Executor } from "../../ports/executor.js";
import type { Agents } from "../agents.js";
import type { Accounts } from "../limits/accounts.js";
import type { UsageBook } from "../limits/usage-book.js";
import type { LifeWorld } from "../runs/life-world.js";
import { NO_CONVERSATION } from "../runs/session-world.js";
import type { AttemptOrder, CallableSpec, TaskAgents } from "./tasks-world.js";

export interface CallWorld extends Pick<LifeWorld, "sessions" | "onError"> {
	readonly executor: Executor;
	/** How to call an agent CLI that does not speak the protocol itself; null for one that does. */
	readonly adapterFor: (spec: CallableSpec) => CallAdapter | null;
	readonly secrets: { redact(text: string): string };
}

export class AgentCalls implements TaskAgents {
	readonly #world: CallWorld;
	readonly #agents: Agents;
	readonly #usage: UsageBook;
	readonly #accounts: Accounts;

	constructor(world: CallWorld, agents: Agents, usage: UsageBook, accounts: Accounts) {
		this.#world = world;
		this.#agents = agents;
		this.#usage = usage;
		this.#accounts = accounts;
	}

	specOf(agentId: string): AgentSpec | null {
		return this.#agents.get(agentId)?.spec ?? null;
	}

	overBudget(agentId: string): string | null {
		const spec = this.specOf(agentId);
		return spec === null ? null : this.#usage.held(spec);
	}

	mayCall(agentId: string, underWay: number): boolean {
		const spec = this.specOf(agentId);
		return spec === null || this.#accounts.mayProceed(spec, underWay);
	}

	async perform(order: AttemptOrder, signal: AbortSignal): Promise<AttemptEnd> {
		const { spec, timeoutMs } = order;
		const end = await this.#attempt(order, signal);
		const deadline = { timeoutMs, agentTimeoutMs: spec.timeoutMs };
		const outcome = end.outcome === null ? null : classifyDeadline(end.outcome, deadline);
		await this.#countUsage(spec, end);
		await this.#accounts.called(spec, outcome);
		const { redact } = this.#world.secrets;
		// The result of a call belongs to its caller; everything about a failure is shown to others.
		const shown = outcome?.ok === false ? redactDeep(outcome, redact) : outcome;
		return { ...end, outcome: shown, log: redact(end.log) };
	}

	async #attempt(
		{ spec, runId, request, timeoutMs }: AttemptOrder,
		signal: AbortSignal,
	): Promise<AttemptEnd> {
		const { sessions, executor, adapterFor } = this.#world;
		const worker = this.#agents.get(spec.id)?.worker ?? null;
		if (worker !== null) return worker.ask(request, timeoutMs, signal);
		const prepared = await sessions.prepare(spec, NO_CONVERSATION);
		if (!prepared.ok) {
			const outcome = classifyProcessFailure({ type: "spawn_error", detail: prepared.detail });
			return { outcome, log: "" };
		}
		const program = { ...prepared.request, extraOutput: spec.extraOutput };
		return executor.call({ runId, program, adapter: adapterFor(spec), request, timeoutMs }, signal);
	}

	/** Counts the usage of an attempt before its result is reported. */
	async #countUsage(spec: CallableSpec, { used }: AttemptEnd): Promise<void> {
		if (spec.kind !== "call" || used === undefined) return;
		const { onError } = this.#world;
		// The response must not be lost because it could not be counted.
		await this.#usage.addCall(spec, used).catch((error: unknown) => onError(spec.id, error));
	}
}
