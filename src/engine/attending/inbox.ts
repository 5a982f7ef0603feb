/**
 * Messages that were accepted for agents, until they are delivered or fail. Each is stored, so it
 * survives the daemon; each agent's messages are delivered in order, one at a time.
 */

import { ReeveError } from "../../core/errors.js";
import { hasText, type Message } from "../../core/inbox.js";
import type { AgentSign } from "../../core/sign.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent, Store } from "../../ports/store.js";

/** Per agent, including undeliverable ones (A6). */
const MESSAGES_MAX = 200;

export class Inbox {
	readonly #store: Store;
	readonly #clock: Clock;
	readonly #newId: () => string;
	readonly #messages = new Map<string, Message>();

	constructor(store: Store, clock: Clock, newId: () => string) {
		this.#store = store;
		this.#clock = clock;
		this.#newId = newId;
	}

	/** Restores the messages that an earlier daemon accepted. */
	recover(): void {
		for (const message of this.#store.readMessages()) this.#messages.set(message.id, message);
	}

	list(): readonly Message[] {
		return [...this.#messages.values()];
	}

	async accept(agentId: string, text: string): Promise<Message> {
		if (this.list().filter((each) => each.agentId === agentId).length >= MESSAGES_MAX) {
			const hint = "Wait until some are delivered, or discard some: `reeve inbox --discard ID`.";
			throw new ReeveError(
				"inbox_full",
				`the limit of ${MESSAGES_MAX} queued messages for ${agentId} is reached`,
				hint,
			);
		}
		const atMs = this.#clock.now().wallMs;
		const message: Message = {
			...{ id: this.#newId(), agentId, text, acceptedAtMs: atMs, phase: "queued" },
			...{ attempts: 0, enters: 0, runId: null, atMs, typedAtMs: null, reason: null },
		};
		const bytes = Buffer.byteLength(text);
		await this.#put(message, { type: "inbox.accepted", data: { message: message.id, bytes } });
		return message;
	}

	/** The next message; null if there is none. */
	head(agentId: string): Message | null {
		return this.list().find((each) => each.agentId === agentId && each.phase !== "dead") ?? null;
	}

	/** How many messages for an agent could not be delivered. */
	undelivered(agentId: string): number {
		let count = 0;
		for (const each of this.#messages.values()) {
			if (each.agentId === agentId && each.phase === "dead") count++;
		}
		return count;
	}

	/** Processes the end of a run: a message that was submitted in it is not typed into the next one. */
	async settle(agentId: string, signs: readonly AgentSign[]): Promise<void> {
		const message = this.head(agentId);
		if (message === null || !isConfirmed(message, signs)) return;
		await this.delivered(message, true);
	}

	async save(message: Message): Promise<void> {
		await this.#put(message, null);
	}

	async delivered(message: Message, confirmed: boolean): Promise<void> {
		await this.#remove(message, {
			type: "inbox.delivered",
			data: { message: message.id, confirmed },
		});
	}

	async dead(message: Message, reason: string): Promise<void> {
		const event = { type: "inbox.dead", data: { message: message.id, reason } } as const;
		await this.#put({ ...message, phase: "dead", reason }, event);
	}

	async discard(id: string): Promise<void> {
		const message = this.#messages.get(id);
		if (message === undefined) throw new ReeveError("message_not_found", `unknown message ${id}`);
		await this.#remove(message, { type: "inbox.discarded", data: { message: id } });
	}

	/** An agent was removed, so its messages are discarded. */
	async forget(agentId: string): Promise<void> {
		for (const { id } of this.list().filter((each) => each.agentId === agentId)) {
			await this.discard(id);
		}
	}

	async #put(message: Message, event: InboxEvent | null): Promise<void> {
		await this.#store.commit((transaction) => {
			transaction.putMessage(message);
			if (event !== null) transaction.appendEvent(about(message, event), this.#clock.now().wallMs);
		});
		this.#messages.set(message.id, message);
	}

	async #remove(message: Message, event: InboxEvent): Promise<void> {
		await this.#store.commit((transaction) => {
			transaction.removeMessage(message.id);
			transaction.appendEvent(about(message, event), this.#clock.now().wallMs);
		});
		this.#messages.delete(message.id);
	}
}

type InboxEvent = {
	[Type in Extract<NewEvent["type"], `inbox.${string}`>]: Pick<
		Extract<NewEvent, { type: Type }>,
		"type" | "data"
	>;
}[Extract<NewEvent["type"], `inbox.${string}`>];

function about({ agentId }: Message, event: InboxEvent): NewEvent {
	return { ...event, agent: agentId } as NewEvent;
}

/**
 * Whether the CLI has reported this message as a submitted prompt since the daemon started to type it.
 */
export function isConfirmed(message: Message, signs: readonly AgentSign[]): boolean {
	if (message.phase === "queued") return false;
	return wasSubmitted(message.text, message.typedAtMs ?? message.atMs, signs);
}

/** Whether the CLI has reported this prompt since a time before its first key was pressed. */
export function wasSubmitted(text: string, sinceMs: number, signs: readonly AgentSign[]): boolean {
	return signs.some(
		({ prompt, atMs }) =>
			prompt !== undefined && atMs >= sinceMs - CLOCK_SLACK_MS && hasText(prompt, text),
	);
}

/** File times have a resolution of some milliseconds, so a record may seem older than the key. */
const CLOCK_SLACK_MS = 50;
