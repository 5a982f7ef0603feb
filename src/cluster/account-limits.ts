/**
 * The usage limits of accounts that agents of several hosts use. A limit that an agent hits parks the account on all
 * hosts; one agent of the cluster checks whether it has lifted. While the database does not answer, this host decides
 * with what it knows, and both sides are reconciled when it answers again.
 */

import type { Member } from "../core/cluster.js";
import {
	type AgreedLimit,
	adoptLimit,
	decideLimitStep,
	type LimitRow,
	shareLimit,
} from "../core/shared-limit.js";
import type { LimitTable, LocalLimits, SharedLimits } from "../ports/shared-limits.js";

const LOOK_EVERY_MS = 3_000;
/** A daemon that starts, or a database that restarts, is back within this time. */
const ALONE_AFTER_MS = 20_000;

export interface HostLimits extends SharedLimits {
	/** Shares limits until the signal aborts. */
	run(member: Member, table: LimitTable, signal: AbortSignal): Promise<void>;
}

export interface HostLimitsParts {
	readonly steadyMs: () => number;
	/** Whether this host belongs to no cluster. */
	readonly isOff: () => boolean;
	readonly random: () => number;
	/** Resolves after the time, or when the signal aborts. */
	readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export function createHostLimits(parts: HostLimitsParts): HostLimits {
	return new ClusterLimits(parts);
}

class ClusterLimits implements HostLimits {
	readonly #parts: HostLimitsParts;
	readonly #agreed = new Map<string, AgreedLimit>();
	/** The agents that ask to check an account. */
	readonly #requests = new Map<string, string>();
	#limits: LocalLimits | null = null;
	#answeredAtMs: number;
	#wake = () => {};

	constructor(parts: HostLimitsParts) {
		this.#parts = parts;
		this.#answeredAtMs = parts.steadyMs();
	}

	attach(limits: LocalLimits): void {
		this.#limits = limits;
	}

	changed(): void {
		this.#wake();
	}

	isAlone(): boolean {
		const { isOff, steadyMs } = this.#parts;
		if (isOff()) return true;
		return steadyMs() - this.#answeredAtMs > ALONE_AFTER_MS;
	}

	requestProbe(account: string, agent: string): void {
		if (this.#requests.has(account)) return;
		this.#requests.set(account, agent);
		this.#wake();
	}

	async run(member: Member, table: LimitTable, signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			const woken = new AbortController();
			this.#wake = () => woken.abort();
			try {
				await this.#tick(member, table);
				this.#answeredAtMs = this.#parts.steadyMs();
			} catch {
				// The next tick tries again; the membership reports a database that does not answer.
			}
			const ms = LOOK_EVERY_MS * (0.8 + 0.4 * this.#parts.random());
			await this.#parts.sleep(ms, AbortSignal.any([signal, woken.signal]));
		}
	}

	async #tick(member: Member, table: LimitTable): Promise<void> {
		const limits = this.#limits;
		const accounts = limits?.shared() ?? [];
		for (const account of [...this.#agreed.keys()]) {
			if (!accounts.includes(account)) this.#agreed.delete(account);
		}
		const requests = [...this.#requests];
		this.#requests.clear();
		if (limits === null || accounts.length === 0) return;
		const rows = await table.read(accounts, limits.nowMs());
		const found = new Map(rows.map((row) => [row.account, row]));
		for (const account of accounts) {
			await this.#reconcile(member, table, limits, account, found.get(account) ?? null);
		}
		for (const [account, agent] of requests) {
			if (accounts.includes(account)) await this.#probe(member, table, limits, account, agent);
		}
	}

	async #reconcile(
		member: Member,
		table: LimitTable,
		limits: LocalLimits,
		account: string,
		row: LimitRow | null,
	): Promise<void> {
		const { state, freedAtMs, members } = limits.read(account);
		const local = shareLimit(state, freedAtMs);
		switch (decideLimitStep(local, this.#agreed.get(account) ?? null, row)) {
			case "keep":
				if (row !== null) this.#agreed.set(account, { version: row.version, limit: local });
				return;
			case "adopt": {
				if (row === null) return;
				const me = { home: member.home, members, nowMs: limits.nowMs() };
				const after = adoptLimit(state, row, me);
				const limit = shareLimit(after, row.sinceMs);
				this.#agreed.set(account, { version: row.version, limit });
				limits.adopt(account, after);
				return;
			}
			case "push": {
				const nowMs = limits.nowMs();
				const version = await table.write(member, account, row?.version ?? 0, local, nowMs);
				// Otherwise another host was faster, and the next tick decides again.
				if (version !== null) this.#agreed.set(account, { version, limit: local });
			}
		}
	}

	async #probe(
		member: Member,
		table: LimitTable,
		limits: LocalLimits,
		account: string,
		agent: string,
	): Promise<void> {
		const { state, freedAtMs } = limits.read(account);
		const agreed = this.#agreed.get(account);
		if (state?.phase !== "probing" || state.probe !== null || agreed === undefined) return;
		const limit = { ...shareLimit(state, freedAtMs), probe: agent };
		const version = await table.write(member, account, agreed.version, limit, limits.nowMs());
		if (version === null) return;
		this.#agreed.set(account, { version, limit });
		limits.grantProbe(account, agent);
	}
}
