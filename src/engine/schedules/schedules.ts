/**
 * The schedules: fires their slots, each once, however often the daemon dies. A slot is claimed in the commit that
 * records what it starts (a task, a plan, a message, or the restart that is still to be done), so there is no moment at
 * which one
 * exists without the other.
 */

import type { FleetSpec, ScheduleSpec } from "../../config/spec.js";
import { ReeveError } from "../../core/errors.js";
import {
	type DueSlot,
	decideFiring,
	decideSlot,
	type FiringDecision,
	firstPlan,
	type MissedSlots,
	renderMissed,
	type SlotDecision,
} from "../../core/schedule.js";
import type { Leases } from "../../ports/leases.js";
import type { StoredSlot } from "../../ports/schedule-store.js";
import type { FinishedTurns } from "../attending/finished-turns.js";
import { createMailbox, type Mailbox } from "../mailbox.js";
import { createSignal } from "../waiting.js";
import { diffSchedules, hasSameTimes, type ScheduleChange } from "./diff-schedules.js";
import { agentOf, type Schedule, SlotBook, type SlotChange, slotIdOf } from "./slot-book.js";
import { type RecordSlot, type StartWorld, startAction } from "./start-action.js";
import { runningWork, targetBlockReason } from "./targets.js";

export interface RestartResult {
	readonly ok: boolean;
	readonly reason: string;
}

export interface ScheduleWorld extends StartWorld {
	readonly leases: Leases;
	readonly random: () => number;
	readonly newRunId: () => string;
	/** The time zone of schedules without one. */
	readonly timezone: string;
	readonly finished: FinishedTurns;
	/** Restarts an agent unless a later run than this one exists. */
	readonly restart: (agentId: string, runId: string | null) => Promise<RestartResult>;
	/** Types a message into a running agent at once. */
	readonly type: (agentId: string, message: string) => Promise<void>;
	readonly onError: (about: string, error: unknown) => void;
}

export interface ScheduleView {
	readonly spec: ScheduleSpec;
	readonly fleetFile: string;
	readonly pausedAtMs: number | null;
	/** The time zone that applies. */
	readonly timezone: string;
	/** The next slot; null if it is paused or has none. */
	readonly nextMs: number | null;
	/** The newest decided slot. */
	readonly last: StoredSlot | null;
	/** Slots that are queued or in progress. */
	readonly open: readonly StoredSlot[];
	/** Why a slot would not fire now, as text. */
	readonly blocked: string | null;
}

/** The clock may be set at any time, and the end of a turn is not reported here. */
const CHECK_MS_MAX = 15_000;
const RETRY_MS = 1_000;

export class Schedules {
	readonly #world: ScheduleWorld;
	readonly #book: SlotBook;
	/** All changes of one schedule happen in order. */
	readonly #mailboxes = new Map<string, Mailbox>();
	readonly #pins = createMailbox();
	#wake = () => {};

	constructor(world: ScheduleWorld) {
		this.#world = world;
		this.#book = new SlotBook(world.store, world.timezone);
		world.inbox.listen((transaction, { id }, end) => {
			this.#book.messageEnded({ transaction, atMs: this.#nowMs() }, id, end);
			this.#wake();
		});
		world.tasks.listen((change, ended) => {
			this.#book.workEnded(change, ended);
			change.after(() => this.#wake());
		});
	}

	/** Restores the schedules of an earlier daemon. */
	recover(): void {
		for (const [id, problem] of this.#book.load()) {
			this.#world.onError(id, new Error(`stored schedule: ${problem}`));
		}
	}

	/** Fires slots until the signal aborts. Restarts that an earlier daemon had claimed are done first. */
	async run(signal: AbortSignal): Promise<void> {
		const { clock } = this.#world;
		for (const { id } of this.#book.all()) {
			for (const slot of this.#book.open(id, "fired")) {
				this.#finishRestart(slot);
				this.#finishTyped(slot, null);
			}
		}
		while (!signal.aborted) {
			const woken = createSignal<unknown>();
			this.#wake = () => woken.resolve(null);
			signal.addEventListener("abort", woken.resolve);
			const isFine = await this.#checkAll(signal);
			const cancel = clock.schedule(Math.max(this.#waitMs(), isFine ? 0 : RETRY_MS), this.#wake);
			if (!signal.aborted) await woken.promise;
			cancel();
			signal.removeEventListener("abort", woken.resolve);
		}
	}

	list(): readonly ScheduleView[] {
		return this.#book.all().map((schedule) => this.#view(schedule));
	}

	get(id: string): ScheduleView {
		return this.#view(this.#require(id));
	}

	/** The newest decided slots of a schedule, newest first. */
	slots(id: string, limit: number): readonly StoredSlot[] {
		this.#require(id);
		return this.#world.store.readSlots(id, limit);
	}

	/** Fires a schedule now, whatever its times are. Its other rules apply. */
	async fire(id: string): Promise<StoredSlot> {
		const slotMs = this.#nowMs();
		const slotId = `${id}@${new Date(slotMs).toISOString()}#${this.#world.newRunId()}`;
		await this.#serialize(id, async () => {
			const schedule = this.#require(id);
			await this.#decide(schedule, { slotMs, id: slotId, manual: true }, null);
		});
		const slot = this.#world.store.readSlots(id, 50).find((each) => each.id === slotId);
		if (slot === undefined) throw new Error(`slot ${slotId} was not recorded`);
		return slot;
	}

	/** Pauses a schedule. Its queued slots are skipped. False if it is paused already. */
	pause(id: string): Promise<boolean> {
		return this.#change(id, (schedule, change) => {
			if (schedule.pausedAtMs !== null) return false;
			this.#book.put(change, { ...schedule, pausedAtMs: change.atMs });
			for (const { id: slot } of this.#book.open(id, "queued")) {
				this.#book.endSlot(change, slot, "skipped", "the schedule was paused");
			}
			this.#append(change, schedule.spec, "schedule.paused");
			return true;
		});
	}

	/** Slots that came in the meantime have passed. False if it is not paused. */
	resume(id: string): Promise<boolean> {
		return this.#change(id, (schedule, change) => {
			if (schedule.pausedAtMs === null) return false;
			const { spec, times, plan } = schedule;
			const now = { nowMs: change.atMs, random: this.#world.random() };
			const next = plan.slotMs === null || plan.slotMs > now.nowMs ? plan : null;
			const fresh = next ?? { ...firstPlan(spec, times, now), lastMs: plan.lastMs, era: plan.era };
			this.#book.put(change, { ...schedule, plan: fresh, pausedAtMs: null });
			this.#append(change, spec, "schedule.resumed");
			return true;
		});
	}

	/** The changes of a fleet. Changes nothing. */
	diff(fleet: FleetSpec): readonly ScheduleChange[] {
		return diffSchedules(this.#book.all(), fleet);
	}

	/** Records the schedules of a fleet. A schedule whose times have not changed keeps its next slot. */
	pin(
		fleet: FleetSpec,
		{ removes }: { readonly removes: boolean },
	): Promise<readonly ScheduleChange[]> {
		return this.#pins.run(async () => {
			const changes = this.diff(fleet);
			const specs = new Map((fleet.schedules ?? []).map((spec, at) => [spec.id, { spec, at }]));
			for (const { id, change } of changes) {
				const found = specs.get(id);
				if (found === undefined && removes) await this.#remove(id);
				if (found !== undefined) await this.#put(fleet.file, found.spec, found.at, change);
			}
			this.#wake();
			return changes;
		});
	}

	#put(
		fleetFile: string,
		spec: ScheduleSpec,
		position: number,
		kind: ScheduleChange["change"],
	): Promise<void> {
		return this.#serialize(spec.id, () =>
			this.#commit((change) => {
				const known = this.#book.get(spec.id);
				if (known !== undefined && kind === "keep" && known.position === position) return;
				const fresh = this.#book.scheduleOf(
					{
						id: spec.id,
						fleetFile,
						position,
						pausedAtMs: known?.pausedAtMs ?? null,
						plan: { slotMs: null, dueAtMs: 0, lastMs: null, era: 0 },
					},
					spec,
				);
				const now = { nowMs: change.atMs, random: this.#world.random() };
				const plan =
					known !== undefined && hasSameTimes(known.spec, spec)
						? known.plan
						: firstPlan(spec, fresh.times, now, known?.plan ?? null);
				this.#book.put(change, { ...fresh, plan });
				if (known === undefined) {
					const data = { schedule: spec.id, fleet_file: fleetFile };
					const event = { ...aboutAgent(spec), type: "schedule.added", data } as const;
					change.transaction.appendEvent(event, change.atMs);
				} else if (kind === "change") this.#append(change, spec, "schedule.changed");
			}),
		);
	}

	#remove(id: string): Promise<void> {
		return this.#serialize(id, () =>
			this.#commit((change) => {
				const schedule = this.#book.get(id);
				if (schedule === undefined) return;
				this.#book.remove(change, id);
				this.#append(change, schedule.spec, "schedule.removed");
			}),
		);
	}

	/** False if something has failed and is tried again. */
	async #checkAll(signal: AbortSignal): Promise<boolean> {
		const looks = this.#book.all().map(async ({ id }) => {
			try {
				await this.#serialize(id, async () => {
					if (!signal.aborted) await this.#check(id);
				});
				return true;
			} catch (error) {
				if (!isForLater(error)) this.#world.onError(id, error);
				return false;
			}
		});
		return (await Promise.all(looks)).every((isFine) => isFine);
	}

	async #check(id: string): Promise<void> {
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
			await this.#decide(
				schedule,
				{ slotMs: due.slotMs, id: slotId, manual: false },
				{ ...decision, due },
			);
		} else if (plan !== schedule.plan) {
			await this.#commit((change) => this.#claim(change, schedule, decision));
		}
	}

	/** Decides a slot by the rules of its schedule. Null for one that an operator asked for. */
	async #decide(
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
	 * unless it is
	 * the daemon that cannot start anything now.
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
			if (started?.type === "restart") {
				this.#world.store.detach(() => this.#finishRestart({ ...slot, started }));
			}
			if (started?.type === "typed" && schedule.spec.action.type === "send") {
				const { message } = schedule.spec.action;
				this.#world.store.detach(() => this.#finishTyped({ ...slot, started }, message));
			}
			if (!isRecorded) throw new Error("an earlier slot has used its idempotency key");
		} catch (error) {
			if (isRecorded || isForLater(error)) throw error;
			const reason = error instanceof Error ? error.message : String(error);
			await this.#commit((change) => {
				this.#claim(change, schedule, claimed);
				const failed = { ...slot, status: "failed", reason, endedAtMs: change.atMs } as const;
				this.#book.putSlot(change, failed);
			});
		}
	}

	/** Does a restart that is recorded, perhaps by an earlier daemon, and records its outcome. */
	#finishRestart({ id, started }: StoredSlot): void {
		if (started?.type !== "restart") return;
		const finish = async () => {
			const { ok, reason } = await this.#world.restart(started.agent, started.runId);
			await this.#commit((change) =>
				this.#book.endSlot(change, id, ok ? "succeeded" : "failed", reason),
			);
			this.#wake();
		};
		finish().catch((error: unknown) => this.#world.onError(started.agent, error));
	}

	/**
	 * Types a message into a program that is no agent CLI, and records the outcome. Nothing confirms it, so a message
	 * that an earlier daemon may have typed is not typed again: `message` is null.
	 */
	#finishTyped({ id, started }: StoredSlot, message: string | null): void {
		if (started?.type !== "typed") return;
		const { agent } = started;
		const type = async (): Promise<readonly ["succeeded" | "failed", string]> => {
			if (message === null) {
				return ["failed", "the daemon stopped while it typed the message, which may have arrived"];
			}
			try {
				await this.#world.type(agent, message);
				return ["succeeded", "typed; a program that is not an agent CLI cannot confirm it"];
			} catch (error) {
				return ["failed", error instanceof Error ? error.message : String(error)];
			}
		};
		const finish = async () => {
			const [status, reason] = await type();
			await this.#commit((change) => this.#book.endSlot(change, id, status, reason));
			this.#wake();
		};
		finish().catch((error: unknown) => this.#world.onError(agent, error));
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

	#view(schedule: Schedule): ScheduleView {
		const { id, spec, fleetFile, pausedAtMs, plan } = schedule;
		return {
			spec,
			fleetFile,
			pausedAtMs,
			timezone: spec.timezone ?? this.#world.timezone,
			nextMs: pausedAtMs === null ? plan.slotMs : null,
			last: this.#world.store.readSlots(id, 1)[0] ?? null,
			open: this.#book.open(id),
			blocked: targetBlockReason(this.#world, spec),
		};
	}

	#require(id: string): Schedule {
		const schedule = this.#book.get(id);
		if (schedule !== undefined) return schedule;
		const known = this.#book.all().map((each) => each.id);
		const hint = known.length === 0 ? "There are no schedules." : `Known: ${known.join(", ")}.`;
		throw new ReeveError("schedule_not_found", `unknown schedule ${id}`, hint);
	}

	async #change(
		id: string,
		act: (schedule: Schedule, change: SlotChange) => boolean,
	): Promise<boolean> {
		this.#require(id);
		const isChanged = await this.#serialize(id, () =>
			this.#commit((change) => {
				const schedule = this.#book.get(id);
				return schedule === undefined ? false : act(schedule, change);
			}),
		);
		this.#wake();
		return isChanged;
	}

	#append(
		{ transaction, atMs }: SlotChange,
		spec: ScheduleSpec,
		type: "schedule.changed" | "schedule.removed" | "schedule.paused" | "schedule.resumed",
	): void {
		transaction.appendEvent({ ...aboutAgent(spec), type, data: { schedule: spec.id } }, atMs);
	}

	#commit<T>(change: (change: SlotChange) => T): Promise<T> {
		return this.#world.store.commit((transaction) => change({ transaction, atMs: this.#nowMs() }));
	}

	#serialize<T>(id: string, task: () => Promise<T>): Promise<T> {
		const mailbox = this.#mailboxes.get(id) ?? createMailbox();
		this.#mailboxes.set(id, mailbox);
		return mailbox.run(task);
	}

	#waitMs(): number {
		const nowMs = this.#nowMs();
		const dueMs = this.#book
			.all()
			.filter(({ pausedAtMs, plan }) => pausedAtMs === null && plan.slotMs !== null)
			.map(({ plan }) => plan.dueAtMs - nowMs);
		return Math.max(0, Math.min(CHECK_MS_MAX, ...dueMs));
	}

	#nowMs(): number {
		return Math.floor(this.#world.clock.now().wallMs);
	}
}

/** The daemon cannot start anything now: the slot stays due. */
function isForLater(error: unknown): boolean {
	const codes: readonly string[] = ["daemon_stopping", "write_failed", "store_unavailable"];
	return error instanceof ReeveError && codes.includes(error.code);
}

function aboutAgent(spec: ScheduleSpec): { readonly agent?: string } {
	const agent = agentOf(spec);
	return agent === null ? {} : { agent };
}
