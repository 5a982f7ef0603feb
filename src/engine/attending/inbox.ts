/**
 * Messages that were accepted for agents, until they are delivered or fail. Each is stored, so it
 * survives the daemon; each agent's messages are delivered in order, one at a time.
 */

import { ReeveError } from "../../core/errors.js";
import { hasText, type Message } from "../../core/inbox.js";
import type { AgentSign } from "../../core/sign.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent, Store, StoreTransaction } from "../../ports/store.js";

/** Per agent, including undeliverable ones (A6). */
const MESSAGES_MAX = 200;

/** How a message has left the inbox, or that it never will. */
export type MessageEnd =
	| { readonly type: "delivered"; readonly confirmed: boolean }
	| { readonly type: "dead"; readonly reason: string }
	| { readonly type: "discarded" };

/** Writes in the commit of the end of a message. */
type EndListener = (transaction: StoreTransaction, message: Message, end: MessageEnd) => void;

export interface AcceptOptions {
	/** Another message that is discarded for it, unless the daemon has begun to type it. */
	readonly replaces?: string | null;
	/** Writes in the commit that accepts the message. */
	readonly alongside?: (transaction: StoreTransaction, message: Message) => void;
}

export class Inbox {
	readonly #store: Store;
	readonly #clock: Clock;
	readonly #newId: () => string;
	readonly #messages = new Map<string, Message>();
	#onAccepted: (agentId: string) => void = () => {};
	#onEnd: EndListener = () => {};

	constructor(store: Store, clock: Clock, newId: () => string) {
		this.#store = store;
		this.#clock = clock;
		this.#newId = newId;
	}

	/** Calls back when an agent has a new message. */
	onAccepted(listener: (agentId: string) => void): void {
		this.#onAccepted = listener;
	}

	/** Restores the messages that an earlier daemon accepted. */
	recover(): void {
		for (const message of this.#store.readMessages()) this.#messages.set(message.id, message);
	}

	/** There is one listener. */
	listen(onEnd: EndListener): void {
		this.#onEnd = onEnd;
	}

	list(): readonly Message[] {
		return [...this.#messages.values()];
	}

	async accept(
		agentId: string,
		text: string,
		{ replaces = null, alongside = () => {} }: AcceptOptions = {},
	): Promise<Message> {
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
			id: this.#newId(),
			agentId,
			text,
			acceptedAtMs: atMs,
			phase: "queued",
			attempts: 0,
			enters: 0,
			runId: null,
			atMs,
			typedAtMs: null,
			reason: null,
		};
		const bytes = Buffer.byteLength(text);
		await this.#store.commit((transaction) => {
			const replaced = replaces === null ? undefined : this.#messages.get(replaces);
			if (replaced?.phase === "queued") this.#end(transaction, replaced, { type: "discarded" });
			this.#write(transaction, message);
			const event = { type: "inbox.accepted", data: { message: message.id, bytes } } as const;
			transaction.appendEvent(about(message, event), atMs);
			alongside(transaction, message);
		});
		this.#onAccepted(agentId);
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

	/**
	 * Processes the end of a run: a message that was submitted in it is not typed into the next one. With a CLI that saves
	 * prompts later, an unsaved one is lost with its process, so it is typed again.
	 */
	async settle(
		agentId: string,
		signs: readonly AgentSign[],
		savesLater: boolean | undefined,
	): Promise<void> {
		const message = this.head(agentId);
		if (message === null || confirmationOf(message, signs, savesLater)?.isSaved !== true) return;
		await this.delivered(message, true);
	}

	/** False if it was discarded in the meantime. */
	save(message: Message): Promise<boolean> {
		return this.#store.commit((transaction) => {
			const isHere = this.#messages.has(message.id);
			if (isHere) this.#write(transaction, message);
			return isHere;
		});
	}

	async delivered(message: Message, confirmed: boolean): Promise<void> {
		await this.#store.commit((transaction) =>
			this.#end(transaction, message, { type: "delivered", confirmed }),
		);
	}

	async dead(message: Message, reason: string): Promise<void> {
		await this.#store.commit((transaction) =>
			this.#end(transaction, message, { type: "dead", reason }),
		);
	}

	/** None of its messages can be delivered here. */
	async allDead(agentId: string, reason: string): Promise<void> {
		for (const message of this.list()) {
			if (message.agentId === agentId && message.phase !== "dead") await this.dead(message, reason);
		}
	}

	async discard(id: string): Promise<void> {
		const message = this.#messages.get(id);
		if (message === undefined) throw new ReeveError("message_not_found", `unknown message ${id}`);
		await this.#store.commit((transaction) =>
			this.#end(transaction, message, { type: "discarded" }),
		);
	}

	/** An agent was removed, so its messages are discarded. */
	async forget(agentId: string): Promise<void> {
		for (const { id } of this.list().filter((each) => each.agentId === agentId)) {
			await this.discard(id);
		}
	}

	/** Ends a message once: the row, the memory and the event belong to one commit. */
	#end(transaction: StoreTransaction, message: Message, end: MessageEnd): void {
		if (!this.#messages.has(message.id)) return;
		const { id } = message;
		if (end.type === "dead") {
			this.#write(transaction, { ...message, phase: "dead", reason: end.reason });
		} else {
			transaction.removeMessage(id);
			this.#messages.delete(id);
			transaction.onRollback(() => this.#messages.set(id, message));
		}
		transaction.appendEvent(about(message, eventOf(id, end)), this.#clock.now().wallMs);
		this.#onEnd(transaction, message, end);
	}

	#write(transaction: StoreTransaction, message: Message): void {
		const { id } = message;
		const before = this.#messages.get(id);
		transaction.putMessage(message);
		this.#messages.set(id, message);
		transaction.onRollback(() => {
			if (before === undefined) this.#messages.delete(id);
			else this.#messages.set(id, before);
		});
	}
}

function eventOf(id: string, end: MessageEnd): InboxEvent {
	switch (end.type) {
		case "delivered":
			return { type: "inbox.delivered", data: { message: id, confirmed: end.confirmed } };
		case "dead":
			return { type: "inbox.dead", data: { message: id, reason: end.reason } };
		case "discarded":
			return { type: "inbox.discarded", data: { message: id } };
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

export interface Confirmation {
	/** Whether the conversation contains it for certain. */
	readonly isSaved: boolean;
	/** When the CLI first reported it. */
	readonly atMs: number;
}

/**
 * The CLI's report of this message as a submitted prompt since the daemon started to type it; null if there is none.
 */
export function confirmationOf(
	message: Message,
	signs: readonly AgentSign[],
	savesLater: boolean | undefined,
): Confirmation | null {
	if (message.phase === "queued") return null;
	const reports = reportsOf(message.text, message.typedAtMs ?? message.atMs, signs);
	const [first] = reports;
	if (first === undefined) return null;
	const isSaved = savesLater !== true || reports.some(({ source }) => source === "transcript");
	return { isSaved, atMs: first.atMs };
}

/** Whether the CLI has reported this prompt since a time before its first key was pressed. */
export function wasSubmitted(text: string, sinceMs: number, signs: readonly AgentSign[]): boolean {
	return reportsOf(text, sinceMs, signs).length > 0;
}

function reportsOf(
	text: string,
	sinceMs: number,
	signs: readonly AgentSign[],
): readonly AgentSign[] {
	return signs.filter(
		({ prompt, atMs }) =>
			prompt !== undefined && atMs >= sinceMs - CLOCK_SLACK_MS && hasText(prompt, text),
	);
}

/** File times have a resolution of some milliseconds, so a record may seem older than the key. */
const CLOCK_SLACK_MS = 50;
