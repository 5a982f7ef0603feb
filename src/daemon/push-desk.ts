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
	let all = await store.readSubscriptions().catch(() => []);
	let changed = new AbortController();
	let keys: Promise<PushKeys> | null = null;

	async function readKeys(): Promise<PushKeys> {
		const known = await store.readKeys();
		if (known !== null) return known;
		const made = createPushKeys();
		await store.writeKeys(made);
		return made;
	}

	const useKeys = () => {
		keys ??= readKeys().catch((error: unknown) => {
			keys = null;
			throw error;
		});
		return keys;
	};

	async function change(
		next: (all: readonly PushSubscription[]) => readonly PushSubscription[],
	): Promise<void> {
		const wasUsed = all.length > 0;
		all = await store.change(next);
		if (all.length > 0 === wasUsed) return;
		changed.abort();
		changed = new AbortController();
	}

	/** Subscriptions whose session is still valid, and that may see the agent. */
	function meant(agent: string | null): readonly PushSubscription[] {
		const valid = new Map(tokens.list().map(({ id, scope }) => [id, scope]));
		return all.filter(({ tokenId }) => {
			if (tokenId === null) return true;
			const scope = valid.get(tokenId);
			return (
				scope !== undefined && (agent === null || canSeeAgent({ type: "scope", scope }, agent))
			);
		});
	}

	async function deliver(to: PushSubscription, notice: Notice): Promise<SendResult> {
		const result = await sendPush(to, notice, await useKeys());
		if (result.ok && to.failures === 0) return result;
		const isGone = "gone" in result;
		if (!result.ok && !isGone && result.retryable) return result;
		const failures = result.ok ? 0 : to.failures + 1;
		const isOver = isGone || failures >= REFUSALS_MAX;
		await change((each) =>
			each.flatMap((one) => {
				if (one.id !== to.id) return [one];
				return isOver ? [] : [{ ...one, failures }];
			}),
		);
		return isGone ? { ok: true } : result;
	}

	return {
		get isUsed() {
			return all.length > 0;
		},
		get untilUsed() {
			return changed.signal;
		},
		key: async () => (await useKeys()).publicKey,
		async subscribe({ endpoint, keys: own }, tokenId) {
			const id = randomBytes(8).toString("hex");
			const entry = { id, endpoint, keys: own, tokenId, createdAtMs: nowMs(), failures: 0 };
			await change((each) =>
				[...each.filter((one) => one.endpoint !== endpoint), entry].slice(-SUBSCRIPTIONS_MAX),
			);
			return id;
		},
		async unsubscribe(id, tokenId) {
			const isOwn = (one: PushSubscription) =>
				one.id === id && (tokenId === null || one.tokenId === tokenId);
			if (!all.some(isOwn)) {
				throw new ReeveError("subscription_not_found", `unknown subscription ${id}`);
			}
			await change((each) => each.filter((one) => !isOwn(one)));
		},
		async send(notice) {
			try {
				const valid = new Set(tokens.list().map(({ id }) => id));
				const isOver = ({ tokenId }: PushSubscription) => tokenId !== null && !valid.has(tokenId);
				if (all.some(isOver)) await change((each) => each.filter((one) => !isOver(one)));
				const results = await Promise.all(meant(notice.agent).map((to) => deliver(to, notice)));
				// A retry would repeat the notification in browsers that have it.
				if (results.length === 0 || results.some(({ ok }) => ok)) return { ok: true };
				return results[0] ?? { ok: true };
			} catch (error) {
				const reason = error instanceof ReeveError ? error.message : "cannot prepare the message";
				return { ok: false, reason, retryable: true };
			}
		},
	};
}
