/**
 * Decides the slots of a schedule and carries them out. A slot is claimed in the commit that records what it starts (a
 * task, a plan, a message, or the restart that is still to be done), so neither exists without the other. The caller
 * decides the slots of one schedule one after another.
 */

import { ReeveError } from "../../core/errors.js";
import { messageOf } from "../../core/message-of.js";
import {
	type DueSlot,
	decideFiring,
	decideSlot,
	type FiringDecision,
	type MissedSlots,
	renderMissed,
	type SlotDecision,
} from "../../core/schedule.js";
import type { Leases } from "../../ports/leases.js";
import type { StoredSlot } from "../../ports/schedule-store.js";
import type { FinishedTurns } from "../attending/finished-turns.js";
import { type Schedule, type SlotBook, type SlotChange, slotIdOf } from "./slot-book.js";
import { type RecordSlot, type StartWorld, startAction } from "./start-action.js";
import { runningWork, targetBlockReason } from "./targets.js";

export interface RestartResult {
	readonly ok: boolean;
	readonly reason: string;
}

export interface FiringWorld extends StartWorld {
	readonly leases: Leases;
	readonly random: () => number;
	readonly finished: FinishedTurns;
	/** Restarts an agent unless a later run than this one exists. */
	readonly restart: (agentId: string, runId: string | null) => Promise<RestartResult>;
	/** Types a message into a running agent at once. */
	readonly type: (agentId: string, message: string) => Promise<void>;
	readonly onError: (about: string, error: unknown) => void;
}

type SlotEnd = readonly [status: "succeeded" | "failed", reason: string];

export class SlotFiring {
	readonly #world: FiringWorld;
	readonly #book: SlotBook;
	/** Called when work has ended, so that queued slots follow. */
	readonly #wake: () => void;

	constructor(world: FiringWorld, book: SlotBook, wake: () => void) {
		this.#world = world;
		this.#book = book;
		this.#wake = wake;
	}

	/** Fires the queued slots of a schedule and the one that is due, as far as its rules allow it. */
	async check(id: string): Promise<void> {
		const queued = this.#book.open(id, "queued");
		for (const slot of queued) {
			const schedule = this.#book.get(id);
			if (schedule === undefined || this.#runningWork(id) !== null) break;
			const blocked = targetBlockReason(this.#world, schedule.spec);
			if (blocked === null)
				await this.#fire(schedule, { ...slot, reason: "waited for the previous slot" }, null);
			else await this.#commit((change) => this.#book.endSlot(change, slot.id, "skipped", blocked));
		}
		const schedule = this.#book.get(id);
		if (schedule === undefined || schedule.pausedAtMs !== null) return;
		const now = { nowMs: this.#nowMs(), random: this.#world.random() };
		const decision = decideSlot(schedule.plan, schedule.spec, schedule.times, now);
		const { due, plan } = decision;
		if (due !== null) {
			const slotId = slotIdOf(id, due.slotMs, due.era);
			await this.decide(
				schedule,
				{ slotMs: due.slotMs, id: slotId, manual: false },
				{ ...decision, due },
			);
		} else if (plan !== schedule.plan) {
			await this.#commit((change) => this.#claim(change, schedule, decision));
		}
	}

	/** Decides a slot by the rules of its schedule. Null for one that an operator asked for. */
	async decide(
		schedule: Schedule,
		slot: Pick<StoredSlot, "id" | "slotMs" | "manual">,
		claimed: (SlotDecision & { readonly due: DueSlot }) | null,
	): Promise<void> {
		const { id, spec } = schedule;
		const firing = decideFiring({
			overlap: spec.overlap,
			due: claimed?.due ?? null,
			running: this.#runningWork(id),
			queued: this.#book.open(id, "queued").length,
			blocked: targetBlockReason(this.#world, spec),
		});
		const decided = this.#slotOf(schedule, slot, firing);
		if (firing.action === "fire" || firing.action === "replace") {
			const replaced = firing.action === "replace" ? this.#book.open(id, "fired") : [];
			return this.#fire(schedule, decided, claimed, replaced);
		}
		await this.#commit((change) => {
			this.#claim(change, schedule, claimed);
			this.#book.putSlot(change, decided);
		});
	}

	#slotOf(
		{ id, spec }: Schedule,
		slot: Pick<StoredSlot, "id" | "slotMs" | "manual">,
		{ action, reason }: FiringDecision,
	): StoredSlot {
		const nowMs = this.#nowMs();
		const status = action === "skip" ? "skipped" : action === "queue" ? "queued" : "fired";
		return {
			...slot,
			schedule: id,
			status,
			action: spec.action.type,
			reason,
			decidedAtMs: nowMs,
			endedAtMs: status === "skipped" ? nowMs : null,
			missed: null,
			started: null,
		};
	}

	/**
	 * Starts the action and records the slot, in one commit. An action that cannot be started is recorded as failed,
	 * unless it is the daemon that cannot start anything now.
	 */
	async #fire(
		schedule: Schedule,
		slot: StoredSlot,
		claimed: SlotDecision | null,
		replaced: readonly StoredSlot[] = [],
	): Promise<void> {
		let isRecorded = false;
		const record: RecordSlot = (change, started) => {
			this.#claim(change, schedule, claimed);
			this.#book.putSlot(change, { ...slot, status: "fired", started });
			isRecorded = true;
			change.transaction.onRollback(() => {
				isRecorded = false;
			});
		};
		try {
			const started = await startAction(this.#world, schedule.spec, slot, replaced, record);
			if (started !== null) {
				const { action } = schedule.spec;
				const message = action.type === "send" ? action.message : null;
				this.#world.store.detach(() => this.finish({ ...slot, started }, message));
			}
			if (!isRecorded) throw new Error("an earlier slot has used its idempotency key");
		} catch (error) {
			if (isRecorded || isForLater(error)) throw error;
			const reason = messageOf(error);
			await this.#commit((change) => {
				this.#claim(change, schedule, claimed);
				const failed = { ...slot, status: "failed", reason, endedAtMs: change.atMs } as const;
				this.#book.putSlot(change, failed);
			});
		}
	}

	/**
	 * Does the work of a fired slot that needs no commit of its own: a restart, perhaps one that an earlier daemon
	 * had recorded, or a message to a program that is no agent CLI. Nothing confirms such a message, so one that an
	 * earlier daemon may have typed is not typed again: `message` is null.
	 */
	finish(slot: StoredSlot, message: string | null): void {
		const { started } = slot;
		if (started?.type !== "restart" && started?.type !== "typed") return;
		const finish = async () => {
			const [status, reason] = await (started.type === "restart"
				? this.#restart(started.agent, started.runId)
				: this.#type(started.agent, message));
			await this.#commit((change) => this.#book.endSlot(change, slot.id, status, reason));
			this.#wake();
		};
		finish().catch((error: unknown) => this.#world.onError(started.agent, error));
	}

	async #restart(agent: string, runId: string | null): Promise<SlotEnd> {
		const { ok, reason } = await this.#world.restart(agent, runId);
		return [ok ? "succeeded" : "failed", reason];
	}

	async #type(agent: string, message: string | null): Promise<SlotEnd> {
		if (message === null) {
			return ["failed", "the daemon stopped while it typed the message, which may have arrived"];
		}
		try {
			await this.#world.type(agent, message);
			return ["succeeded", "typed; a program that is not an agent CLI cannot confirm it"];
		} catch (error) {
			return ["failed", messageOf(error)];
		}
	}

	/** Moves the plan of the schedule on, and records the slots that were missed. */
	#claim(change: SlotChange, schedule: Schedule, decision: SlotDecision | null): void {
		if (decision === null) return;
		const { plan, missed } = decision;
		if (missed !== null) this.#book.putSlot(change, this.#missedSlot(schedule, missed));
		this.#book.putPlan(change, schedule.id, plan);
	}

	#missedSlot(schedule: Schedule, missed: MissedSlots): StoredSlot {
		const { count, fromMs, untilMs } = missed;
		const slot = {
			id: slotIdOf(schedule.id, fromMs, schedule.plan.era),
			slotMs: fromMs,
			manual: false,
		};
		const decided = this.#slotOf(schedule, slot, { action: "skip", reason: renderMissed(missed) });
		return { ...decided, missed: { count, untilMs } };
	}

	#runningWork(id: string): string | null {
		const { agents, finished } = this.#world;
		return runningWork(this.#book, agents, finished, id);
	}

	#commit<T>(change: (change: SlotChange) => T): Promise<T> {
		return this.#world.store.commit((transaction) => change({ transaction, atMs: this.#nowMs() }));
	}

	#nowMs(): number {
		return Math.floor(this.#world.clock.now().wallMs);
	}
}

/** The daemon cannot start anything now: the slot stays due. */
export function isForLater(error: unknown): boolean {
	const codes: readonly string[] = ["daemon_stopping", "write_failed", "store_unavailable"];
	return error instanceof ReeveError && codes.includes(error.code);
}
