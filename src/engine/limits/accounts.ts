/**
 * Accounts that have hit a usage limit. Consulted before an agent starts or gets work, and notified of
 * every limit that is hit. Each account is stored, so it survives the daemon.
 */

import type { AccountedSpec, AgentSpec } from "../../config/spec.js";
import {
	type AccountState,
	DEFAULT_USAGE_LIMIT,
	decideAccountResume,
	decideAdvance,
	decideGoodTurn,
	decideLimit,
	decideProbe,
	isHeld,
	type LimitHit,
	readAccountState,
	renderHold,
	withoutProbe,
} from "../../core/account.js";
import type { CrashAction } from "../../core/crash-state.js";
import type { ExitReport } from "../../core/exit.js";
import type { Turn } from "../../core/last-turn.js";
import type { Outcome } from "../../core/outcome.js";
import type { Calendar, Clock } from "../../ports/clock.js";
import type { Leases } from "../../ports/leases.js";
import type { LocalLimits, SharedLimits } from "../../ports/shared-limits.js";
import type { Store, StoreTransaction } from "../../ports/store.js";
import type { Inbox } from "../attending/inbox.js";
import { isForbiddenHere, isPlaced } from "../placement.js";
import { isHeldDown, type KnownAgents } from "../runs/agent-state.js";
import { changeEvents, isoTime } from "./account-events.js";
import type { UsageBook } from "./usage-book.js";

const POLL_MS = 1_000;
/** A CLI may report the limit of a turn this long after its operator has resumed the agent. */
const LATE_MS = 15_000;

export interface AccountsWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly calendar: Calendar;
	readonly agents: KnownAgents;
	readonly inbox: Inbox;
	readonly usage: UsageBook;
	readonly leases: Leases;
	readonly sharedLimits: SharedLimits;
	readonly onError: (agentId: string, error: unknown) => void;
}

/** Why an agent waits, as text, and until when if known. */
export interface Hold {
	readonly reason: string;
	readonly untilMs: number | null;
}

export interface AccountView {
	readonly account: string;
	readonly agents: readonly string[];
	/** Null if none of its agents is held. */
	readonly hold: Hold | null;
}

/** An agent that waits for its account after an exit: the account decides for how long. */
export interface Parked {
	/** Null if only the operator ends the wait. */
	readonly afterMs: number | null;
	readonly reason: string;
	/** Stored together with the exit. */
	readonly write: (transaction: StoreTransaction) => void;
}

/** Whether the agent is logged in to an account, as far as Reeve knows. */
function isAccounted(spec: AgentSpec): spec is AccountedSpec {
	return spec.kind === "session" || (spec.kind === "call" && spec.adapter !== "generic");
}

/** An agent without `account` has its own. */
function accountOf(spec: AgentSpec): string | null {
	return isAccounted(spec) ? (spec.account ?? spec.id) : null;
}

/** Whether agents of other hosts may use its account: by its name, or as the same agent on another host. */
function isShared(spec: AgentSpec): boolean {
	return isAccounted(spec) && (spec.account !== null || isPlaced(spec));
}

export class Accounts implements LocalLimits {
	readonly #world: AccountsWorld;
	readonly #states = new Map<string, AccountState>();
	/** When accounts were released: turns from before that may still be read, and are ignored. */
	readonly #freedAtMs = new Map<string, number>();
	readonly #resumedAtMs = new Map<string, number>();
	#onRelease = () => {};
	#cancelCheck: (() => void) | null = null;
	#closed = false;

	constructor(world: AccountsWorld) {
		this.#world = world;
		world.sharedLimits.attach(this);
	}

	/** Restores the state of an earlier daemon. */
	recover(): void {
		for (const { account, state, freedAtMs } of this.#world.store.readAccounts()) {
			if (state === null) this.#freedAtMs.set(account, freedAtMs);
			else this.#states.set(account, readAccountState(state));
		}
		this.#scheduleCheck();
	}

	/** Calls back when an agent may continue that was held before. */
	onRelease(listener: () => void): void {
		this.#onRelease = listener;
	}

	close(): void {
		this.#closed = true;
		this.#cancelCheck?.();
	}

	/**
	 * Whether an agent may do its next action, in addition to its `underWay` ones. The first agent after
	 * a limit is the probe, and does one thing at a time until the limit is known to have lifted.
	 */
	mayProceed(spec: AgentSpec, underWay = 0): boolean {
		const account = accountOf(spec);
		if (account === null || !this.#states.has(account)) return true;
		this.#advance(account);
		const state = this.#states.get(account) ?? null;
		if (isHeld(state, spec.id, this.nowMs())) return false;
		if (state?.phase === "probing" && underWay > 0) return false;
		const after = decideProbe(state, spec.id);
		const { sharedLimits } = this.#world;
		if (after !== state && isShared(spec) && !sharedLimits.isAlone()) {
			sharedLimits.requestProbe(account, spec.id);
			return false;
		}
		this.#change(account, spec.id, after);
		return true;
	}

	shared(): readonly string[] {
		const accounts = new Set<string>();
		for (const { spec } of this.#world.agents.values()) {
			const account = isShared(spec) ? accountOf(spec) : null;
			if (account !== null) accounts.add(account);
		}
		return [...accounts];
	}

	read(account: string): ReturnType<LocalLimits["read"]> {
		const state = this.#states.get(account) ?? null;
		const freedAtMs = this.#freedAtMs.get(account) ?? 0;
		return { state, freedAtMs, members: this.#membersOf(account) };
	}

	adopt(account: string, state: AccountState | null): void {
		this.#change(account, null, state);
		this.#onRelease();
	}

	grantProbe(account: string, agent: string): void {
		this.#change(account, agent, decideProbe(this.#states.get(account) ?? null, agent));
		this.#onRelease();
	}

	holdOf(spec: AgentSpec): Hold | null {
		const account = accountOf(spec);
		const state = account === null ? undefined : this.#states.get(account);
		if (state === undefined || !isHeld(state, spec.id, this.nowMs())) return null;
		const { reason, untilMs } = renderHold(state, spec.id);
		const whose = account === spec.id ? "" : `account ${account}, `;
		const until = untilMs === null ? "" : ` (${isoTime(untilMs)})`;
		return { reason: `waits for ${whose}${reason}${until}`, untilMs };
	}

	/** All accounts with their agents, and why and until when they are limited. */
	describe(): readonly AccountView[] {
		const accounts = new Map<string, string[]>();
		for (const { spec } of this.#world.agents.values()) {
			const account = accountOf(spec);
			if (account === null) continue;
			accounts.set(account, [...(accounts.get(account) ?? []), spec.id]);
		}
		return [...accounts].map(([account, agents]) => {
			const state = this.#states.get(account) ?? null;
			const held = agents.filter((id) => isHeld(state, id, this.nowMs()));
			const hold = state === null || held[0] === undefined ? null : renderHold(state, held[0]);
			return { account, agents: agents.sort(), hold };
		});
	}

	/**
	 * A run has ended. Null unless it hit a limit: then its account waits, and the agent requests a start
	 * that is granted in time. The change is stored together with the exit.
	 */
	ended(
		spec: AgentSpec,
		{ type }: CrashAction,
		{ resetInMs }: ExitReport,
		atMs: number,
	): Parked | null {
		if (spec.kind !== "session" || type !== "park") return null;
		const resetAtMs = resetInMs === null ? null : atMs + resetInMs;
		const write = this.#limitHit(spec, { by: "exit", atMs, resetAtMs });
		const hold = this.holdOf(spec);
		const untilMs = hold === null ? this.nowMs() : hold.untilMs;
		return {
			write,
			reason: `${hold?.reason ?? "usage limit"}; not counted`,
			afterMs: untilMs === null ? null : Math.max(0, untilMs - this.nowMs()),
		};
	}

	/** Processes the outcome of a turn of a running agent. */
	async noteTurn(spec: AccountedSpec, turn: Turn): Promise<void> {
		const account = accountOf(spec) ?? spec.id;
		if (turn.limit === null) {
			const state = this.#states.get(account) ?? null;
			const facts = { members: this.#membersOf(account), nowMs: this.nowMs() };
			this.#change(account, spec.id, decideGoodTurn(state, spec.id, turn, facts));
			return;
		}
		const resumedAtMs = this.resumedAtMs(spec);
		const isOld = turn.beganAtMs !== null && turn.beganAtMs <= resumedAtMs;
		if (isOld && turn.atMs - resumedAtMs < LATE_MS) return;
		const { resetAtMs } = turn.limit;
		await this.#world.store.commit(
			this.#limitHit(spec, { by: "turn", atMs: turn.atMs, resetAtMs }),
		);
	}

	/** Processes the outcome of a call. A failure to store it must not affect the caller. */
	async called(spec: AgentSpec, outcome: Outcome | null): Promise<void> {
		if (!isAccounted(spec) || outcome === null) return;
		const isLimited = !outcome.ok && outcome.error === "usage_limit";
		if (!outcome.ok && !isLimited) return;
		const atMs = this.nowMs();
		const resetAtMs =
			outcome.ok || outcome.retryAfterMs === null ? null : atMs + outcome.retryAfterMs;
		const begin = { beganAtMs: null, afterLimit: false };
		const turn = { ...begin, atMs, limit: isLimited ? { resetAtMs } : null };
		await this.noteTurn(spec, turn).catch((error: unknown) => this.#world.onError(spec.id, error));
	}

	/** When the operator last resumed this agent, in wall time; 0 for never. */
	resumedAtMs({ id }: Pick<AgentSpec, "id">): number {
		return this.#resumedAtMs.get(id) ?? 0;
	}

	/** The operator ends the wait for this agent; its result shows whether the others may follow. */
	async resume(spec: AgentSpec): Promise<void> {
		const account = accountOf(spec);
		if (account === null || !this.#states.has(account)) return;
		await this.#world.store.commit((transaction) => {
			const before = this.#states.get(account);
			if (before === undefined) return;
			const freedAtMs = this.#freedAtMs.get(account) ?? 0;
			const after = decideAccountResume(before, spec.id, this.nowMs());
			const write = this.#replaceState(account, spec.id, before, after);
			transaction.onRollback(() => {
				this.#states.set(account, before);
				this.#freedAtMs.set(account, freedAtMs);
			});
			write(transaction);
		});
	}

	/** The operator has resumed this agent; earlier reports of its turns no longer count. */
	noteResumed(spec: AgentSpec): void {
		this.#resumedAtMs.set(spec.id, this.nowMs());
	}

	nowMs(): number {
		return this.#world.clock.now().wallMs;
	}

	#limitHit(spec: AccountedSpec, hit: LimitHit): (transaction: StoreTransaction) => void {
		const { calendar, random } = this.#world;
		const { minuteOfDay } = calendar;
		const account = accountOf(spec) ?? spec.id;
		const before = this.#states.get(account) ?? null;
		const freedAtMs = this.#freedAtMs.get(account) ?? 0;
		if (before === null && hit.by === "turn" && hit.atMs <= freedAtMs) return () => {};
		// Missing in a spec stored by an older daemon.
		const settings = spec.usageLimit ?? DEFAULT_USAGE_LIMIT;
		const context = { settings, nowMs: this.nowMs(), minuteOfDay, random: random() };
		const after = decideLimit(before, hit, context);
		return this.#replaceState(account, spec.id, before, after);
	}

	/** Agents with work to do first. */
	#membersOf(account: string): readonly string[] {
		const { agents, inbox } = this.#world;
		const members = [...agents.values()].filter(({ spec }) => accountOf(spec) === account);
		const isWaiting = members.map(({ id, wantsStart }) => wantsStart || inbox.head(id) !== null);
		const waiting = members.filter((_, index) => isWaiting[index]);
		const others = members.filter((_, index) => !isWaiting[index]);
		return [...waiting, ...others].map(({ id }) => id);
	}

	readonly #lookAt = (id: string): "ready" | "not_ready" | "gone" => {
		const { agents, usage, leases } = this.#world;
		const agent = agents.get(id);
		// A call agent is ready whenever it is called.
		if (agent?.spec.kind === "call") return "ready";
		if (isHeldDown(agents, id, usage)) return "gone";
		// It has no work, so the others do not wait for it.
		if (agent?.snapshot().agent.hibernation) return "gone";
		const isAway = agent !== undefined && isForbiddenHere(leases, agent.spec);
		if (isAway && agent.snapshot().run === null) return "gone";
		return agent?.snapshot().ready === true ? "ready" : "not_ready";
	};

	#advance(account: string): void {
		const state = this.#states.get(account);
		if (state === undefined) return;
		const { minuteOfDay } = this.#world.calendar;
		const facts = { nowMs: this.nowMs(), members: this.#membersOf(account) };
		// The host of the probe can no longer report its result.
		const isElsewhere = state.phase === "probing" && state.host !== undefined;
		const own = isElsewhere && this.#world.sharedLimits.isAlone() ? withoutProbe(state) : state;
		const after = decideAdvance(own, { ...facts, minuteOfDay, lookAt: this.#lookAt });
		this.#change(account, null, after);
	}

	/**
	 * Stores a change without waiting for it. Commits keep their order, so it is stored before later
	 * ones.
	 */
	#change(account: string, agent: string | null, after: AccountState | null): void {
		const before = this.#states.get(account) ?? null;
		if (after === before) return;
		const write = this.#replaceState(account, agent, before, after);
		this.#world.store
			.commit(write)
			.catch((error: unknown) => this.#world.onError(agent ?? account, error));
	}

	#replaceState(
		account: string,
		agent: string | null,
		before: AccountState | null,
		after: AccountState | null,
	): (transaction: StoreTransaction) => void {
		if (after === before) return () => {};
		const atMs = this.nowMs();
		if (after === null) {
			this.#states.delete(account);
			this.#freedAtMs.set(account, atMs);
		} else this.#states.set(account, after);
		this.#scheduleCheck();
		this.#world.sharedLimits.changed();
		return (transaction) => {
			transaction.putAccount({ account, state: after, freedAtMs: atMs });
			for (const event of changeEvents(account, agent, before, after)) {
				transaction.appendEvent(event, atMs);
			}
		};
	}

	/**
	 * While an agent waits, the wall clock is checked regularly, because hosts sleep and clocks are set.
	 */
	#scheduleCheck(): void {
		if (this.#closed || this.#states.size === 0) return;
		this.#cancelCheck ??= this.#world.clock.schedule(POLL_MS, () => {
			this.#cancelCheck = null;
			for (const account of [...this.#states.keys()]) this.#advance(account);
			this.#onRelease();
			this.#scheduleCheck();
		});
	}
}
