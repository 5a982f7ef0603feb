/**
 * Sends notifications. The event log is the queue: a cursor marks how far it was read, and notifications are pending
 * effects that are stored in the same commit, so no crash loses one. A notification may be sent twice if the daemon
 * dies while sending it. Failed ones are retried for a while, and then become an event.
 */

import { backoffDelayMs } from "../core/backoff.js";
import {
	decideRoute,
	isState,
	type Notice,
	type NoticeRoute,
	noticeOf,
	REPEAT_MS,
	topicOf,
	withCount,
} from "../core/notice.js";
import type { Calendar, Clock } from "../ports/clock.js";
import type { Channel, SendResult } from "../ports/notifier.js";
import type { EffectOf, Store } from "../ports/store.js";
import { createSignal } from "./waiting.js";

export interface NotifierParts {
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly routes: readonly { readonly route: NoticeRoute; readonly channel: Channel }[];
	/** The address of the daemon's page; null if it has none. */
	readonly pageUrl: () => string | null;
	readonly calendar: Pick<Calendar, "minuteOfDay">;
}

const READER = "notify";
const PAGE = 200;
/** How far the stored cursor may lag behind without notifications; that much is read again after a crash. */
const CURSOR_LAG_MAX = 1_000;
const ATTEMPTS_MAX = 8;
const BACKOFF = Object.freeze({ initialMs: 1_000, capMs: 300_000, jitter: 0.2 });
const CHECK_MS_MAX = 60_000;
const REMEMBERED_MAX = 1_000;

const UNKNOWN_ROUTE: SendResult = { ok: false, reason: "unknown route", retryable: false };

/** A channel that throws must not stop the others, or get the same notification repeatedly. */
async function sendOver(channel: Channel, notice: Notice): Promise<SendResult> {
	try {
		return await channel.send(notice);
	} catch (error) {
		const { code = "unknown error" } = error as NodeJS.ErrnoException;
		return { ok: false, reason: `it cannot be sent: ${code}`, retryable: true };
	}
}

/** Keys of notifications that stand for several. */
const DIGEST = "notify-digest:";

type Notification = EffectOf<"notification">;

const digestKey = (route: string, notice: Notice) => `${DIGEST}${route}:${topicOf(notice)}`;

/** Runs until the signal aborts. */
export async function runNotifier(parts: NotifierParts, signal: AbortSignal): Promise<void> {
	const notifier = new Notifier(parts);
	const { clock } = parts;
	let wake = createSignal<void>();
	const stopListening = parts.store.onCommit(() => wake.resolve());
	const end = () => wake.resolve();
	signal.addEventListener("abort", end);
	/** Wall time of the next one to send. Stored effects are scanned only then. */
	let nextAtMs = 0;
	try {
		while (!signal.aborted) {
			wake = createSignal();
			const isNew = await notifier.readEvents();
			if (isNew || clock.now().wallMs >= nextAtMs) nextAtMs = await notifier.deliver();
			const waitMs = Math.max(0, Math.min(nextAtMs - clock.now().wallMs, CHECK_MS_MAX));
			const callOff = clock.schedule(waitMs, wake.resolve);
			if (!signal.aborted) await wake.promise;
			callOff();
		}
	} finally {
		stopListening();
		signal.removeEventListener("abort", end);
	}
}

/**
 * For a daemon without routes: drops what is still to be sent, and its place in the event log. Otherwise the first route
 * after days would report everything that happened in between.
 */
export async function forgetNotifications(
	store: Pick<Store, "commit" | "readCursor" | "readEffects">,
): Promise<void> {
	const waiting = store.readEffects("notification");
	if (waiting.length === 0 && store.readCursor(READER) === null) return;
	await store.commit((transaction) => {
		for (const { key } of waiting) transaction.removeEffect(key);
		transaction.removeCursor(READER);
	});
}

class Notifier {
	readonly #parts: NotifierParts;
	/** When each route was last notified of the same topic. */
	readonly #notified = new Map<string, number>();
	/** Stored notifications that stand for several, by key. */
	readonly #digests = new Map<string, Notification>();
	/** The last processed event, and the last stored cursor. */
	#seq: number | null = null;
	#stored = 0;

	constructor(parts: NotifierParts) {
		this.#parts = parts;
		for (const effect of parts.store.readEffects("notification")) {
			if (effect.key.startsWith(DIGEST)) this.#digests.set(effect.key, effect);
		}
	}

	/**
	 * Processes new events, and stores notifications together with the cursor. Returns whether there is
	 * anything new to send.
	 */
	async readEvents(): Promise<boolean> {
		const { store } = this.#parts;
		this.#seq ??= await this.#readCursor();
		let isNew = false;
		for (;;) {
			const afterSeq: number = Math.max(this.#seq, store.firstSeq() - 1);
			const events = store.readEvents({ afterSeq, limit: PAGE });
			const last = events.at(-1)?.seq ?? afterSeq;
			const notices = events.map(noticeOf).filter((notice) => notice !== null);
			const effects = notices.flatMap((notice) => this.#route(notice));
			if (notices.length > 0 || last - this.#stored >= CURSOR_LAG_MAX) {
				await this.#storeCursor(last, effects);
			}
			this.#seq = last;
			isNew ||= effects.length > 0;
			if (events.length < PAGE) return isNew;
		}
	}

	/** Sends due notifications; returns when the next one is due. */
	async deliver(): Promise<number> {
		const { store, clock } = this.#parts;
		const nowMs = clock.now().wallMs;
		const waiting = store.readEffects("notification");
		const due = waiting.filter(({ dueAtMs }) => dueAtMs <= nowMs);
		await Promise.all(due.map((effect) => this.#send(effect)));
		const later = store.readEffects("notification");
		return Math.min(...later.map(({ dueAtMs }) => dueAtMs));
	}

	/** The notifications to send for an event: routes and times. */
	#route(notice: Notice): Notification[] {
		const { routes, clock, calendar } = this.#parts;
		const nowMs = clock.now().wallMs;
		const minute = calendar.minuteOfDay(nowMs);
		return routes.flatMap(({ route }): Notification[] => {
			const topic = `${route.name} ${topicOf(notice)}`;
			const lastMs = this.#notified.get(topic);
			const lastSentAgoMs = lastMs === undefined ? null : nowMs - lastMs;
			const decision = decideRoute(route, notice, { minuteOfDay: minute, lastSentAgoMs });
			if (decision === "not_meant") return [];
			const quietMs = (((route.quiet?.toMinute ?? minute) - minute + 1_440) % 1_440) * 60_000;
			// One that is due counts this one, so that not both are sent.
			const isCounting = this.#digests.has(digestKey(route.name, notice));
			if (isState(notice) || (decision === "send" && !isCounting)) {
				if (decision === "send") this.#remember(topic, nowMs);
				const dueAtMs = nowMs + (decision === "quiet" ? quietMs : 0);
				const payload = { route: route.name, notice, attempts: 0 };
				return [
					{ key: `notify:${route.name}:${notice.seq}`, type: "notification", dueAtMs, payload },
				];
			}
			const dueAtMs = decision === "quiet" ? nowMs + quietMs : (lastMs ?? nowMs) + REPEAT_MS;
			return [this.#count(route.name, notice, dueAtMs)];
		});
	}

	/** The one notification that stands for all on its topic until it is sent. */
	#count(route: string, notice: Notice, dueAtMs: number): Notification {
		const key = digestKey(route, notice);
		const before = this.#digests.get(key);
		const more = before === undefined ? 0 : (before.payload.notice.more ?? 0) + 1;
		const digest: Notification = {
			key,
			type: "notification",
			dueAtMs: before?.dueAtMs ?? dueAtMs,
			payload: { route, notice: { ...notice, more }, attempts: before?.payload.attempts ?? 0 },
		};
		this.#digests.set(key, digest);
		return digest;
	}

	async #send(effect: Notification): Promise<void> {
		const { store, clock, routes, random } = this.#parts;
		const delivery = effect.payload;
		const found = routes.find(({ route }) => route.name === delivery.route);
		const notice = withCount(this.#linked(delivery.notice));
		const result = found === undefined ? UNKNOWN_ROUTE : await sendOver(found.channel, notice);
		const attempts = delivery.attempts + 1;
		const nowMs = clock.now().wallMs;
		await store.commit((transaction) => {
			if (!result.ok && result.retryable && attempts < ATTEMPTS_MAX) {
				const dueAtMs = nowMs + backoffDelayMs(BACKOFF, attempts, random());
				const again = { ...effect, dueAtMs, payload: { ...delivery, attempts } };
				transaction.putEffect(again);
				if (this.#digests.has(effect.key)) this.#digests.set(effect.key, again);
				return;
			}
			if (this.#digests.delete(effect.key)) {
				this.#remember(`${delivery.route} ${topicOf(delivery.notice)}`, nowMs);
			}
			transaction.removeEffect(effect.key);
			if (result.ok) return;
			const data = { route: delivery.route, kind: notice.kind, attempts, reason: result.reason };
			const about = notice.agent === null ? {} : { agent: notice.agent };
			transaction.appendEvent({ ...about, type: "notification.failed", data }, nowMs);
		});
	}

	/** With the address of the page as it is now. */
	#linked(notice: Notice): Notice {
		const page = this.#parts.pageUrl();
		// Missing in a notification that an earlier version stored.
		return { ...notice, link: page !== null && notice.link ? `${page}${notice.link}` : null };
	}

	/** With the first route, start at the newest event; do not replay history. */
	async #readCursor(): Promise<number> {
		const { store } = this.#parts;
		const seq = store.readCursor(READER);
		if (seq === null) await this.#storeCursor(store.lastSeq(), []);
		this.#stored = seq ?? store.lastSeq();
		return this.#stored;
	}

	async #storeCursor(seq: number, effects: readonly Notification[]): Promise<void> {
		await this.#parts.store.commit((transaction) => {
			for (const effect of effects) transaction.putEffect(effect);
			transaction.putCursor(READER, seq);
		});
		this.#stored = seq;
	}

	#remember(topic: string, nowMs: number): void {
		this.#notified.delete(topic);
		this.#notified.set(topic, nowMs);
		const [oldest] = this.#notified.keys();
		if (this.#notified.size > REMEMBERED_MAX && oldest !== undefined) this.#notified.delete(oldest);
	}
}
