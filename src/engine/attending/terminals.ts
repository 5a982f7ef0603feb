/** The terminals of running agents: input, messages, screens, viewers. */

import { ReeveError } from "../../core/errors.js";
import { messageOf } from "../../core/message-of.js";
import type { AgentKind } from "../../core/states.js";
import type {
	Backend,
	RunHandle,
	ScreenText,
	ScreenWatch,
	ScreenWatcher,
	TerminalConnection,
	TerminalSize,
	TerminalViewer,
} from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import type { Leases } from "../../ports/leases.js";
import type { Store } from "../../ports/store.js";
import type { Agents } from "../agents.js";
import { createMailbox, type Mailbox } from "../mailbox.js";
import { requireHere } from "../placement.js";
import type { SessionWorld } from "../runs/session-world.js";
import { acceptWhileWritable } from "../store-guard.js";
import { pass, withDeadline } from "../waiting.js";
import { isAttended } from "./attendant.js";
import type { Drafts } from "./drafts.js";
import type { Inbox } from "./inbox.js";
import { SUBMIT_AFTER_MS } from "./type-message.js";
import type { Typing } from "./typing.js";
import type { Viewers } from "./viewers.js";

/** Programs read what is typed at once; one that takes this long does not read at all. */
const INPUT_MS_MAX = 10_000;

interface TerminalsWorld {
	readonly agents: Agents;
	readonly sessions: Pick<SessionWorld, "adapterOf">;
	readonly inbox: Inbox;
	readonly drafts: Drafts;
	readonly typing: Typing;
	readonly viewers: Viewers;
	/** Starts an agent that hibernates; returns when that has happened. */
	readonly wake: (id: string) => Promise<void>;
	readonly store: Store;
	readonly clock: Clock;
	readonly leases: Leases;
}

export class Terminals {
	readonly #world: TerminalsWorld;
	/** Messages that are typed at once, one after another for each agent. */
	readonly #typing = new Map<string, Mailbox>();

	constructor(world: TerminalsWorld) {
		this.#world = world;
	}

	/**
	 * Sends a message. Returns its id where it waits in the agent's inbox until it can be typed; null where it was typed
	 * at once.
	 */
	send(id: string, message: string, submit: boolean): Promise<string | null> {
		const { spec } = this.#world.agents.require(id);
		const typing = this.#typing.get(id) ?? createMailbox();
		this.#typing.set(id, typing);
		return typing.run(async () => {
			refuseToType(id, spec.kind);
			requireHere(this.#world.leases, spec);
			if (submit && message !== "" && this.hasInbox(id)) {
				const { store, inbox } = this.#world;
				return (await acceptWhileWritable(store, () => inbox.accept(id, message))).id;
			}
			await this.input(id, Buffer.from(message, "utf8"));
			if (submit) {
				await pass(this.#world.clock, SUBMIT_AFTER_MS);
				await this.input(id, Buffer.from("\r"));
			}
			return null;
		});
	}

	/** Whether messages wait until they can be typed, rather than being typed at once. */
	hasInbox(id: string): boolean {
		const { agents, sessions } = this.#world;
		const { spec } = agents.require(id);
		return spec.kind === "session" && spec.terminal && isAttended(sessions.adapterOf(spec));
	}

	/** Types bytes, exactly as they are. */
	async input(id: string, bytes: Uint8Array): Promise<void> {
		await this.#world.wake(id);
		const { backend, handle } = this.#held(id);
		this.#noteTyping(id, bytes);
		const given = backend.input(handle, bytes).catch((error: unknown) => {
			// An agent that has exited meanwhile has no terminal.
			this.#held(id);
			throw notRead(id, messageOf(error));
		});
		if ((await withDeadline(this.#world.clock, given, INPUT_MS_MAX)) === "done") return given;
		throw notRead(id, `it did not read all of it within ${INPUT_MS_MAX / 1_000} s`);
	}

	/** The text on the screen. */
	async screen(id: string): Promise<ScreenText> {
		const { backend, handle } = this.#held(id);
		return backend.screen(handle);
	}

	/** Watches the screen with its styles, without changing its size. */
	async watchScreen(id: string, watcher: ScreenWatcher): Promise<ScreenWatch> {
		const { backend, handle } = this.#held(id);
		return backend.watchScreen(handle, watcher).catch((error: unknown) => {
			// An agent that has exited meanwhile has no terminal.
			this.#held(id);
			throw error;
		});
	}

	async attach(
		id: string,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection> {
		await this.#world.wake(id);
		const { backend, handle } = this.#held(id);
		// Before anything is awaited: an agent with a viewer does not hibernate.
		const leave = this.#world.viewers.add(id);
		const connection = await backend.attach(handle, viewer, size).catch((error: unknown) => {
			leave();
			throw error;
		});
		return {
			write: (bytes) => {
				this.#noteTyping(id, bytes);
				connection.write(bytes);
			},
			resize: (to) => connection.resize(to),
			close: () => {
				leave();
				connection.close();
			},
		};
	}

	/** Keys typed into a question answer it and are not part of the input. */
	#noteTyping(id: string, bytes: Uint8Array): void {
		const { known } = this.#world.agents.require(id).snapshot();
		this.#world.typing.note(id);
		if (known?.activity === "waiting_input") this.#world.drafts.forget(id);
		else this.#world.drafts.typed(id, bytes);
	}

	#held(id: string): { readonly backend: Backend; readonly handle: RunHandle } {
		const { spec, session } = this.#world.agents.require(id);
		if (spec.kind !== "session" || !spec.terminal) {
			throw new ReeveError("no_terminal", `${id} has no terminal`);
		}
		const held = session?.held() ?? null;
		if (held === null) requireHere(this.#world.leases, spec);
		if (held === null) throw new ReeveError("not_running", `${id} is not running`);
		return held;
	}
}

/** Call and worker agents have no terminal, and requests instead of messages. */
function refuseToType(id: string, kind: AgentKind): void {
	if (kind === "session") return;
	const hint = `Send it a request: \`reeve call ${id} ACTION\`.`;
	throw new ReeveError("no_terminal", `${id} is a ${kind} agent, which has no terminal`, hint);
}

function notRead(id: string, why: string): ReeveError {
	return new ReeveError("input_not_read", `the input for ${id} was not delivered: ${why}`);
}
