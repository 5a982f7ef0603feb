/** The schedules: which exist, and when the next slot of one is due. Each slot fires once, however often the daemon dies. */

import type { FleetSpec, ScheduleSpec } from "../../config/spec.js";
import { ReeveError } from "../../core/errors.js";
import { firstPlan } from "../../core/schedule.js";
import type { StoredSlot } from "../../ports/schedule-store.js";
import { createMailbox, type Mailbox } from "../mailbox.js";
import { createSignal } from "../waiting.js";
import { diffSchedules, hasSameTimes, type ScheduleChange } from "./diff-schedules.js";
import { agentOf, type Schedule, SlotBook, type SlotChange } from "./slot-book.js";
import { type FiringWorld, isForLater, SlotFiring } from "./slot-firing.js";
import { targetBlockReason } from "./targets.js";

export interface ScheduleWorld extends FiringWorld {
	readonly newRunId: () => string;
	/** The time zone of schedules without one. */
	readonly timezone: string;
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
	readonly #firing: SlotFiring;
	/** All changes of one schedule happen in order. */
	readonly #mailboxes = new Map<string, Mailbox>();
	readonly #pins = createMailbox();
	#wake = () => {};

	constructor(world: ScheduleWorld) {
		this.#world = world;
		this.#book = new SlotBook(world.store, world.timezone);
		this.#firing = new SlotFiring(world, this.#book, () => this.#wake());
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
				this.#firing.finish(slot, null);
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
			await this.#firing.decide(schedule, { slotMs, id: slotId, manual: true }, null);
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
					if (!signal.aborted) await this.#firing.check(id);
				});
				return true;
			} catch (error) {
				if (!isForLater(error)) this.#world.onError(id, error);
				return false;
			}
		});
		return (await Promise.all(looks)).every((isFine) => isFine);
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

function aboutAgent(spec: ScheduleSpec): { readonly agent?: string } {
	const agent = agentOf(spec);
	return agent === null ? {} : { agent };
}
