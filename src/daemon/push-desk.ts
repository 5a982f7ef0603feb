/**
 * Push notifications to browsers: who subscribed, and the sending. A subscription ends with the browser
 * session that made it, with the browser's own withdrawal, or after several refusals in a row (A6).
 */

import { randomBytes } from "node:crypto";
import { canSeeAgent } from "../core/access.js";
import { ReeveError } from "../core/errors.js";
import type { Notice } from "../core/notice.js";
import type { Tokens } from "../http/auth/tokens.js";
import type { PushDesk } from "../http/handler.js";
import { createPushKeys, sendPush } from "../notify/web-push.js";
import type { Channel, SendResult } from "../ports/notifier.js";
import type { PushKeys, PushStore, PushSubscription } from "../ports/push-store.js";

/** Above this number, a new browser replaces the oldest one. */
const SUBSCRIPTIONS_MAX = 50;
/** Refusals in a row after which a browser is forgotten. A host without a network is no refusal. */
const REFUSALS_MAX = 8;

export interface Push extends PushDesk, Channel {
	/** Whether any browser gets notifications. */
	readonly isUsed: boolean;
	/** Aborts when `isUsed` changes. */
	readonly untilUsed: AbortSignal;
}

export async function openPush(
	store: PushStore,
	tokens: Pick<Tokens, "list">,
	nowMs: () => number,
): Promise<Push> {
	const subscriptions = await store.readSubscriptions().catch(() => []);
	return new PushService(store, tokens, nowMs, subscriptions);
}

class PushService implements Push {
	readonly #store: PushStore;
	readonly #tokens: Pick<Tokens, "list">;
	readonly #nowMs: () => number;
	#all: readonly PushSubscription[];
	#changed = new AbortController();
	#keys: Promise<PushKeys> | null = null;

	constructor(
		store: PushStore,
		tokens: Pick<Tokens, "list">,
		nowMs: () => number,
		all: readonly PushSubscription[],
	) {
		this.#store = store;
		this.#tokens = tokens;
		this.#nowMs = nowMs;
		this.#all = all;
	}

	get isUsed(): boolean {
		return this.#all.length > 0;
	}

	get untilUsed(): AbortSignal {
		return this.#changed.signal;
	}

	async key(): Promise<string> {
		return (await this.#useKeys()).publicKey;
	}

	async subscribe(
		{ endpoint, keys }: Pick<PushSubscription, "endpoint" | "keys">,
		tokenId: string | null,
	): Promise<string> {
		const id = randomBytes(8).toString("hex");
		const entry = { id, endpoint, keys, tokenId, createdAtMs: this.#nowMs(), failures: 0 };
		await this.#change((each) =>
			[...each.filter((one) => one.endpoint !== endpoint), entry].slice(-SUBSCRIPTIONS_MAX),
		);
		return id;
	}

	async unsubscribe(id: string, tokenId: string | null): Promise<void> {
		const isOwn = (one: PushSubscription) =>
			one.id === id && (tokenId === null || one.tokenId === tokenId);
		if (!this.#all.some(isOwn)) {
			throw new ReeveError("subscription_not_found", `unknown subscription ${id}`);
		}
		await this.#change((each) => each.filter((one) => !isOwn(one)));
	}

	async send(notice: Notice): Promise<SendResult> {
		try {
			const valid = new Set(this.#tokens.list().map(({ id }) => id));
			const isOver = ({ tokenId }: PushSubscription) => tokenId !== null && !valid.has(tokenId);
			if (this.#all.some(isOver)) {
				await this.#change((each) => each.filter((one) => !isOver(one)));
			}
			const receivers = this.#receivers(notice.agent);
			const results = await Promise.all(receivers.map((to) => this.#deliver(to, notice)));
			// A retry would repeat the notification in browsers that have it.
			if (results.length === 0 || results.some(({ ok }) => ok)) return { ok: true };
			return results[0] ?? { ok: true };
		} catch (error) {
			const reason = error instanceof ReeveError ? error.message : "cannot prepare the message";
			return { ok: false, reason, retryable: true };
		}
	}

	/** Subscriptions whose session is still valid, and that may see the agent. */
	#receivers(agent: string | null): readonly PushSubscription[] {
		const valid = new Map(this.#tokens.list().map(({ id, scope }) => [id, scope]));
		return this.#all.filter(({ tokenId }) => {
			if (tokenId === null) return true;
			const scope = valid.get(tokenId);
			if (scope === undefined) return false;
			return agent === null || canSeeAgent({ type: "scope", scope }, agent);
		});
	}

	async #deliver(to: PushSubscription, notice: Notice): Promise<SendResult> {
		const result = await sendPush(to, notice, await this.#useKeys());
		if (result.ok && to.failures === 0) return result;
		const isGone = "gone" in result;
		if (!result.ok && !isGone && result.retryable) return result;
		const failures = result.ok ? 0 : to.failures + 1;
		const isOver = isGone || failures >= REFUSALS_MAX;
		await this.#change((each) =>
			each.flatMap((one) => {
				if (one.id !== to.id) return [one];
				return isOver ? [] : [{ ...one, failures }];
			}),
		);
		return isGone ? { ok: true } : result;
	}

	async #change(
		next: (all: readonly PushSubscription[]) => readonly PushSubscription[],
	): Promise<void> {
		const wasUsed = this.isUsed;
		this.#all = await this.#store.change(next);
		if (this.isUsed === wasUsed) return;
		this.#changed.abort();
		this.#changed = new AbortController();
	}

	#useKeys(): Promise<PushKeys> {
		this.#keys ??= this.#readKeys().catch((error: unknown) => {
			this.#keys = null;
			throw error;
		});
		return this.#keys;
	}

	async #readKeys(): Promise<PushKeys> {
		const known = await this.#store.readKeys();
		if (known !== null) return known;
		const made = createPushKeys();
		await this.#store.writeKeys(made);
		return made;
	}
}
