/** The terminals of running agents: input, screen and viewers. */

import { ReeveError } from "../core/errors.js";
import type {
	Backend,
	RunHandle,
	TerminalConnection,
	TerminalSize,
	TerminalViewer,
} from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import { isAttended } from "./attendant.js";
import type { Drafts } from "./drafts.js";
import type { Life } from "./life.js";
import type { SessionWorld } from "./life-world.js";
import { withDeadline } from "./waiting.js";

/** Programs read their input immediately; after this time, a program does not read at all. */
const INPUT_MS_MAX = 10_000;

export class Terminals {
	readonly #lifeOf: (id: string) => Life;
	readonly #sessions: Pick<SessionWorld, "adapterOf">;

	readonly #drafts: Drafts;
	readonly #clock: Clock;

	constructor(
		lifeOf: (id: string) => Life,
		sessions: Pick<SessionWorld, "adapterOf">,
		drafts: Drafts,
		clock: Clock,
	) {
		this.#clock = clock;
		this.#lifeOf = lifeOf;
		this.#sessions = sessions;
		this.#drafts = drafts;
	}

	/** Whether messages to an agent are queued in its inbox until they can be typed. */
	hasInbox(id: string): boolean {
		const { spec } = this.#lifeOf(id).snapshot().agent;
		return spec.kind === "session" && spec.terminal && isAttended(this.#sessions.adapterOf(spec));
	}

	/** Types bytes unchanged. */
	async input(id: string, bytes: Uint8Array): Promise<void> {
		const { backend, handle } = this.#held(id);
		this.#noteTyping(id, bytes);
		const given = backend.input(handle, bytes).catch((error: unknown) => {
			// An agent that has exited in the meantime has no terminal.
			this.#held(id);
			throw notRead(id, error instanceof Error ? error.message : String(error));
		});
		if ((await withDeadline(this.#clock, given, INPUT_MS_MAX)) === "done") return given;
		throw notRead(id, `it did not read all of it within ${INPUT_MS_MAX / 1_000} s`);
	}

	/** The text on the screen. */
	async screen(id: string): Promise<string> {
		const { backend, handle } = this.#held(id);
		return backend.screen(handle);
	}

	async attach(
		id: string,
		viewer: TerminalViewer,
		size: TerminalSize | null,
	): Promise<TerminalConnection> {
		const { backend, handle } = this.#held(id);
		const connection = await backend.attach(handle, viewer, size);
		return {
			write: (bytes) => {
				this.#noteTyping(id, bytes);
				connection.write(bytes);
			},
			resize: (to) => connection.resize(to),
			close: () => connection.close(),
		};
	}

	/** Input during a question answers it, and is not a draft. */
	#noteTyping(id: string, bytes: Uint8Array): void {
		const { known } = this.#lifeOf(id).snapshot();
		if (known?.activity === "waiting_input") this.#drafts.forget(id);
		else this.#drafts.typed(id, bytes);
	}

	#held(id: string): { readonly backend: Backend; readonly handle: RunHandle } {
		const life = this.#lifeOf(id);
		const { spec } = life.snapshot().agent;
		if (spec.kind !== "session" || !spec.terminal) {
			throw new ReeveError("no_terminal", `${id} has no terminal`);
		}
		const held = life.held();
		if (held === null) throw new ReeveError("not_running", `${id} is not running`);
		return held;
	}
}

function notRead(id: string, why: string): ReeveError {
	return new ReeveError("input_not_read", `the input for ${id} was not delivered: ${why}`);
}
