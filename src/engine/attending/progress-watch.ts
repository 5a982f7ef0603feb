/** Watches one run for stalls, and performs the steps of its spec. */

import type { SessionSpec } from "../../config/spec.js";
import type { AdapterProfile } from "../../core/adapter.js";
import { conversationText, KEY_BYTES, stillText } from "../../core/screen.js";
import type { AgentSign } from "../../core/sign.js";
import {
	type Connection,
	decideStall,
	haveStreamed,
	haveWorked,
	type StallStep,
	type ToolWork,
} from "../../core/stall.js";
import type { Activity } from "../../core/states.js";
import type { Instant } from "../../core/time.js";
import type { Backend, RunHandle } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent } from "../../ports/store.js";
import type { SessionWorld } from "../runs/session-world.js";
import { pass } from "../waiting.js";
import { type Inbox, wasSubmitted } from "./inbox.js";
import { typeMessage } from "./type-message.js";

/** Between the keys of an interrupt: the first may only arm the second. */
const KEY_GAP_MS = 500;
/** A step itself changes the screen for this long: queued text, a hint. */
const SETTLE_MS = 10_000;
const TAKES_UP_MS = 5_000;
/** How often tools and connections are checked before a stall is reported; each check reads all processes. */
const HIDDEN_LOOKS = 4;
/** A repeated screen is not progress: a menu that was opened and closed, a redraw. */
const SCREENS_KEPT = 8;

export interface WatchedRun {
	readonly spec: SessionSpec;
	readonly runId: string;
	readonly backend: Backend;
	readonly handle: RunHandle;
	readonly profile: AdapterProfile;
	readonly sessions: SessionWorld;
	readonly clock: Clock;
	readonly inbox: Inbox;
	readonly note: (events: readonly NewEvent[]) => Promise<void>;
	/** The configured step is a restart. */
	readonly onRestart: () => void;
}

/** Work that neither records nor the screen show. */
interface HiddenWork {
	readonly work: ToolWork;
	readonly connections: readonly Connection[];
	readonly atMs: number;
}

/** The result of one check. */
export interface ProgressObservation {
	readonly activity: Activity;
	readonly signs: readonly AgentSign[];
	readonly text: string | null;
	/** Whether the screen shows a running tool. */
	readonly inTool: boolean;
}

export class ProgressWatch {
	readonly #run: WatchedRun;
	#lastSign = "";
	/** The visible conversation of the last screens. */
	#shown: readonly string[] = [];
	/** Whether the screen of this turn has shown the line with which the CLI shows that it works. */
	#showsWork = false;
	#stall: { sinceMs: number; found: number };
	#hidden: HiddenWork | null = null;
	/** Until then, changes are effects of a step. */
	#settlesAtMs = 0;
	/** Whether it was nudged during this stall, so that the message is queued in the CLI itself. */
	#nudged = false;
	/** When it was interrupted with an unprocessed nudge. */
	#interrupted: Instant | null = null;

	#stalledSinceMs: number | null = null;

	constructor(run: WatchedRun) {
		this.#run = run;
		this.#stall = { sinceMs: this.#nowMs(), found: 0 };
	}

	/** Wall time of the last progress of a stalled agent; null if it is not stalled. */
	get stalledSinceMs(): number | null {
		return this.#stalledSinceMs;
	}

	async look(sight: ProgressObservation): Promise<void> {
		const { spec, runId, note } = this.#run;
		// Missing in a spec stored by an older daemon.
		if (spec.stall === undefined) return;
		const { activity, signs } = sight;
		if (activity !== "busy") this.#showsWork = false;
		await this.#nudgeAgain(signs);
		const progress = this.#hasProgress(sight) || (await this.#hasWorkedUnseen(activity));
		const reported = signs.findLast((sign) => sign.inTool !== undefined)?.inTool;
		const inTool = reported ?? sight.inTool;
		const facts = { activity, progress, inTool, nowMs: this.#nowMs() };
		const { state, step } = decideStall(this.#stall, facts, spec.stall);
		this.#stall = state;
		if (state.found === 0) this.#nudged = false;
		const stalledMs = this.#run.clock.now().wallMs - spec.stall.afterMs;
		this.#stalledSinceMs = state.found === 0 ? null : (this.#stalledSinceMs ?? stalledMs);
		if (step === null) return;
		const data = { step, after_ms: spec.stall.afterMs };
		await note([{ type: "agent.stalled", agent: spec.id, run_id: runId, data }]);
		await this.#take(step);
		this.#settlesAtMs = this.#nowMs() + Math.min(SETTLE_MS, spec.stall.afterMs / 2);
	}

	#nowMs(): number {
		return this.#run.clock.now().steadyMs;
	}

	#hasProgress({ signs, text }: ProgressObservation): boolean {
		// A failed or repeated request is not progress.
		const newest = signs.findLast(({ attempt, requested }) => attempt == null && !requested);
		const sign = `${newest?.name} ${newest?.atMs}`;
		const moved = sign !== this.#lastSign || this.#screenHasMoved(text);
		this.#lastSign = sign;
		if (moved) this.#hidden = null;
		return moved && this.#nowMs() >= this.#settlesAtMs;
	}

	/** Whether the screen shows a part of the conversation that it did not show recently. */
	#screenHasMoved(text: string | null): boolean {
		const { screen } = this.#run.profile;
		if (text === null || screen === null) return false;
		const conversation = conversationText(screen, text);
		// A screen that is being redrawn lacks the line that shows the work.
		if (conversation === null && this.#showsWork) return false;
		this.#showsWork = conversation !== null;
		const shown = conversation ?? stillText(text);
		if (this.#shown.includes(shown)) return false;
		this.#shown = [...this.#shown, shown].slice(-SCREENS_KEPT);
		return true;
	}

	/** A silent tool may be working, and a slow answer may arrive; checked only after a while without other progress. */
	async #hasWorkedUnseen(activity: Activity): Promise<boolean> {
		const { spec, runId, handle, sessions } = this.#run;
		if (activity !== "busy") return false;
		const nowMs = this.#nowMs();
		const before = this.#hidden;
		const sinceMs = Math.max(before?.atMs ?? 0, this.#stall.sinceMs);
		if (nowMs - sinceMs < spec.stall.afterMs / HIDDEN_LOOKS) return false;
		const [work, connections] = await Promise.all([
			sessions.toolWork(runId, handle.process),
			sessions.connections(runId, handle.process),
		]);
		this.#hidden = { work, connections, atMs: nowMs };
		if (before === null) return false;
		return (
			haveWorked(before.work, work, nowMs - before.atMs) ||
			haveStreamed(before.connections, connections)
		);
	}

	async #take(step: StallStep | "notice"): Promise<void> {
		const { backend, handle, profile, clock, onRestart } = this.#run;
		const { steps, nudge } = this.#run.spec.stall;
		switch (step) {
			case "notice":
				return;
			case "nudge":
				this.#nudged = await typeMessage({ backend, handle, profile, clock }, nudge);
				return;
			case "interrupt": {
				const before = clock.now();
				for (const key of interruptKeys(profile)) {
					await backend.input(handle, Buffer.from(KEY_BYTES[key]));
					await pass(clock, KEY_GAP_MS);
				}
				if (!this.#nudged) break;
				// Most CLIs process their queued nudge by themselves now.
				this.#interrupted = before;
				return;
			}
			case "restart":
				onRestart();
		}
		// It is idle after that, and should continue if `nudge` is a step.
		if (steps.includes("nudge")) await this.#sendOnce(nudge);
	}

	/** Some CLIs put the message back into their input when they are interrupted, and wait. */
	async #nudgeAgain(signs: readonly AgentSign[]): Promise<void> {
		const since = this.#interrupted;
		if (since === null || this.#nowMs() - since.steadyMs < TAKES_UP_MS) return;
		this.#interrupted = null;
		const { nudge } = this.#run.spec.stall;
		if (!wasSubmitted(nudge, since.wallMs, signs)) await this.#sendOnce(nudge);
	}

	async #sendOnce(text: string): Promise<void> {
		const { spec, inbox } = this.#run;
		if (inbox.head(spec.id)?.text !== text) await inbox.accept(spec.id, text);
	}
}

/** The keys that interrupt a turn in this CLI. */
function interruptKeys({ drain }: AdapterProfile): readonly ("esc" | "ctrl_c")[] {
	const keys = drain.filter((step) => step === "esc" || step === "ctrl_c");
	return keys.length === 0 ? ["esc"] : keys;
}
