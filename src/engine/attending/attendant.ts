/**
 * Attends one running session: reads the reports of its CLI, answers its startup questions, determines
 * its activity and source, and detects stalls. It has no state that a later daemon would need, so an
 * adopted run is handled like a new one.
 */

import type { SessionSpec } from "../../config/spec.js";
import { decideActivity, type KnownActivity, type Retrying } from "../../core/activity.js";
import type { DialogProfile, ScreenProfile } from "../../core/adapter.js";
import { decideAttention, NO_ATTENTION, needsFix } from "../../core/attention.js";
import {
	AFTER_ADOPTION,
	type DialogState,
	decideDialogKey,
	NO_DIALOG_KEYS,
} from "../../core/dialog-keys.js";
import { lastTurn } from "../../core/last-turn.js";
import {
	findLimit,
	isLoading,
	KEY_BYTES,
	nextKey,
	readScreen,
	type ScreenReading,
} from "../../core/screen.js";
import { type AgentSign, failedAttempts } from "../../core/sign.js";
import { DEFAULT_TURN_RETRY, decideTurnRetry, type TurnRetry } from "../../core/turn-retry.js";
import type { AgentAdapter } from "../../ports/adapter.js";
import type { Backend, RunHandle } from "../../ports/backend.js";
import type { Clock } from "../../ports/clock.js";
import type { NewEvent } from "../../ports/store.js";
import type { Accounts } from "../limits/accounts.js";
import type { SessionWorld } from "../runs/session-world.js";
import { deliver } from "./deliver.js";
import type { Drafts } from "./drafts.js";
import type { Inbox } from "./inbox.js";
import { ProgressWatch } from "./progress-watch.js";
import { type People, questionOn, reportFinish } from "./report-to-people.js";

const POLL_MS = 1_000;
/** If a resumed conversation is not recognized on the screen by then, messages are delivered anyway. */
const LOADED_WITHIN_MS = 10_000;
/** Keys pressed for the questions of one start, or for one later menu; more questions need a person. */
const DIALOG_KEYS_MAX = 40;

export interface AttendedRun {
	readonly spec: SessionSpec;
	readonly runId: string;
	readonly backend: Backend;
	readonly handle: RunHandle;
	/** The conversation, if known. */
	readonly conversation: () => string | null;
	readonly sessions: SessionWorld;
	readonly clock: Clock;
	readonly inbox: Inbox;
	readonly drafts: Drafts;
	readonly accounts: Accounts;
	readonly people: People;
	/** Whether it has resumed a conversation and shows its history. */
	readonly isResumed: boolean;
	/** Whether an earlier daemon has watched it. */
	readonly isAdopted: boolean;
	/** Whether the agent has been seen ready before. */
	readonly wasReady: boolean;
	readonly note: (events: readonly NewEvent[]) => Promise<void>;
	readonly onReady: () => void;
	/** Whether it is being stopped: what is typed now would be lost or repeated. */
	readonly isEnding: () => boolean;
	/** At the end of each check. */
	readonly onLooked: (known: KnownActivity, signs: readonly AgentSign[]) => Promise<void>;
	/** The CLI has reported its conversation. */
	readonly onConversation: (id: string) => void;
	/** It is stalled, and the configured step is a restart. */
	readonly onRestart: () => void;
	readonly onError: (error: unknown) => void;
}

const NOT_KNOWN: KnownActivity = {
	activity: "unknown",
	source: null,
	atMs: 0,
	failure: null,
	failedTurn: null,
	detail: null,
};

/** Whether there is anything to observe. */
export function isAttended({ profile, readRecord, readTranscript }: AgentAdapter): boolean {
	return profile.screen !== null || readRecord !== undefined || readTranscript !== undefined;
}

/** A number in [0, 1) that is the same for every daemon that attends the run. */
function spreadOf(runId: string): number {
	const sum = [...runId].reduce((hash, char) => (hash * 31 + char.charCodeAt(0)) % 1_000, 7);
	return sum / 1_000;
}

export class Attendant {
	readonly #run: AttendedRun;
	readonly #adapter: AgentAdapter;
	#known = NOT_KNOWN;
	#attention = NO_ATTENTION;
	#seenReady: boolean;
	/** Steady time at which the input was first visible without the resumed conversation. */
	#inputSeenMs: number | null = null;
	#dialogKeys = 0;
	#dialog: DialogState;
	#notedTurnMs = 0;
	/** When the turn failed after which the agent was last asked to continue. */
	#continuedMs = 0;
	/** Spreads the retries of agents that failed together. */
	readonly #spread: number;
	/** The screen at which the conversation was last searched. */
	#searchedAt: string | null | undefined = undefined;
	readonly #progress: ProgressWatch;
	#stopped = false;
	#cancel = () => {};

	constructor(run: AttendedRun) {
		this.#run = run;
		this.#adapter = run.sessions.adapterOf(run.spec);
		this.#seenReady = run.wasReady;
		this.#dialog = run.isAdopted ? AFTER_ADOPTION : NO_DIALOG_KEYS;
		this.#spread = spreadOf(run.runId);
		this.#progress = new ProgressWatch({ ...run, profile: this.#adapter.profile });
		this.#cancel = run.clock.schedule(0, () => void this.#poll());
	}

	get known(): KnownActivity {
		return { ...this.#known, stalledSinceMs: this.#progress.stalledSinceMs };
	}

	stop(): void {
		this.#stopped = true;
		this.#cancel();
	}

	async #poll(): Promise<void> {
		try {
			await this.#observe();
		} catch (error) {
			// A failed check proves nothing; an ending run has nothing more to show.
			if (!this.#stopped) this.#run.onError(error);
		}
		if (this.#stopped) return;
		this.#cancel = this.#run.clock.schedule(POLL_MS, () => void this.#poll());
	}

	async #observe(): Promise<void> {
		const { spec, sessions, handle, backend } = this.#run;
		const { screen: shown } = this.#adapter.profile;
		const mark = this.#run.people.questions.mark(spec.id);
		const signs = await sessions.signs(spec, this.#run.conversation(), handle.startedAtMs);
		const seen = shown === null || !spec.terminal ? null : await backend.screen(handle);
		const text = seen === null || seen.isIncomplete ? null : seen.text;
		if (this.#stopped) return;
		const reading = shown === null || text === null ? null : this.#read(shown, text);
		if (text !== null && reading !== null) await this.#answer(text, reading, signs);
		await this.#readConversation(signs, text);
		const isIncomplete = seen?.isIncomplete ?? false;
		// A screen with a gap does not show whether its question is still there.
		if (!isIncomplete) await this.#reportQuestion(mark, signs, text, reading);
		await this.#decide(signs, reading, isIncomplete);
		await this.#noteLimit(signs, text);
		await this.#continueTurn(signs);
		const { activity: now } = this.#known;
		await this.#progress.look({ activity: now, signs, text, inTool: reading?.inTool ?? false });
		if (!this.#run.isEnding()) await this.#deliver(signs, reading);
		if (!this.#stopped) await this.#run.onLooked(this.known, signs);
	}

	async #deliver(signs: readonly AgentSign[], reading: ScreenReading | null): Promise<void> {
		const { spec, runId, backend, handle, inbox, clock, accounts } = this.#run;
		const { profile } = this.#adapter;
		const world = { inbox, agentId: spec.id, runId, backend, handle, clock, profile };
		const { activity, source } = this.#known;
		// After a turn that hit a limit it is idle too; its account decides how long that lasts.
		const prompts = source !== "screen" || reading?.besidesLimit === "ready";
		const idle = activity === "ready" || (activity === "rate_limited" && prompts);
		const asksToGo = idle && inbox.head(spec.id) !== null;
		const reports = await this.#reportsOnHead(signs);
		if (!asksToGo) return deliver(world, activity, reports);
		// A person is typing into its input, or the next message would fail like the last turn.
		const isHeld = this.#run.drafts.has(spec.id, signs) || this.#needsOperator(signs);
		if (isHeld) return deliver(world, "waiting_input", reports);
		await deliver(world, accounts.mayProceed(spec) ? "ready" : "rate_limited", reports);
	}

	/**
	 * The reports that may confirm the next message. A process of an earlier run may have recorded it after the run's
	 * exit was handled; to type it again would duplicate it.
	 */
	async #reportsOnHead(signs: readonly AgentSign[]): Promise<readonly AgentSign[]> {
		const { inbox, spec, runId, sessions } = this.#run;
		const head = inbox.head(spec.id);
		if (head === null || head.phase === "queued" || head.runId === runId) return signs;
		return sessions.signs(spec, this.#run.conversation(), head.typedAtMs ?? head.atMs, true);
	}

	/** The screen reading, in which an input counts only once the resumed conversation is visible too. */
	#read(shown: ScreenProfile, text: string): ScreenReading {
		const reading = readScreen(shown, text);
		if (this.#seenReady || !this.#run.isResumed || reading.activity !== "ready") return reading;
		if (!isLoading(shown, text)) return reading;
		const nowMs = this.#run.clock.now().steadyMs;
		this.#inputSeenMs ??= nowMs;
		if (nowMs - this.#inputSeenMs >= LOADED_WITHIN_MS) return reading;
		return { ...reading, activity: "unknown", besidesLimit: "unknown" };
	}

	async #reportQuestion(
		mark: number,
		signs: readonly AgentSign[],
		text: string | null,
		reading: ScreenReading | null,
	): Promise<void> {
		const { spec, runId, people } = this.#run;
		const { screen } = this.#adapter.profile;
		if (screen === null || text === null || reading === null) return;
		const answersItself = reading.dialog !== null && this.#mayAnswer(reading.dialog, signs);
		const shown = answersItself ? null : await questionOn(this.#run, screen, reading, text);
		await people.questions.observe({ agentId: spec.id, runId, mark, shown, signs });
	}

	/** Whether every turn fails until a person fixes something, and the agent was not resumed since. */
	#needsOperator(signs: readonly AgentSign[]): boolean {
		const { failure } = this.#known;
		if (!needsFix(failure)) return false;
		const failed = signs.findLast((sign) => sign.failure?.cause === failure);
		const { accounts, spec } = this.#run;
		return failed !== undefined && failed.atMs > accounts.resumedAtMs(spec);
	}

	#retryOf(signs: readonly AgentSign[]): TurnRetry | null {
		const { spec } = this.#run;
		// Without confirmations it is unknown whether the agent was already asked.
		if (!this.#adapter.profile.confirmsPrompts) return null;
		return decideTurnRetry(signs, spec.turnRetry ?? DEFAULT_TURN_RETRY, this.#spread);
	}

	#retryInMs(signs: readonly AgentSign[]): number | null {
		const retry = this.#retryOf(signs);
		return retry === null ? null : Math.max(0, retry.atMs - this.#run.clock.now().wallMs);
	}

	/** Asks the agent to continue a turn that failed for external reasons, once per failure. */
	async #continueTurn(signs: readonly AgentSign[]): Promise<void> {
		const { spec, inbox, clock } = this.#run;
		const retry = this.#retryOf(signs);
		if (retry === null || this.#isRetrying() || clock.now().wallMs < retry.atMs) return;
		if (retry.failedAtMs === this.#continuedMs || inbox.head(spec.id) !== null) return;
		await inbox.accept(spec.id, (spec.turnRetry ?? DEFAULT_TURN_RETRY).prompt);
		this.#continuedMs = retry.failedAtMs;
	}

	#isRetrying(): boolean {
		return this.#known.retrying != null;
	}

	async #noteLimit(signs: readonly AgentSign[], text: string | null): Promise<void> {
		const { spec, sessions, accounts } = this.#run;
		const { screen } = this.#adapter.profile;
		const turn = lastTurn(signs, this.#known, () => {
			const line = screen === null ? null : findLimit(screen, text ?? "");
			return line === null ? null : sessions.readReset(spec, line, this.#known.atMs);
		});
		// A limit that the CLI retries by itself does not concern the account yet.
		if (turn?.limit && this.#isRetrying()) return;
		if (turn === null || turn.atMs === this.#notedTurnMs) return;
		await accounts.noteTurn(spec, turn);
		this.#notedTurnMs = turn.atMs;
	}

	/**
	 * Moves the selection to the choice that the adapter defines, one key per change of the screen, and
	 * confirms only that choice.
	 */
	async #answer(
		text: string,
		{ dialog }: ScreenReading,
		signs: readonly AgentSign[],
	): Promise<void> {
		const { spec, runId, backend, handle, note, clock } = this.#run;
		if (dialog === null) this.#dialogKeys = this.#seenReady ? 0 : this.#dialogKeys;
		if (dialog === null || !this.#mayAnswer(dialog, signs)) return;
		const next = nextKey(text, dialog);
		if (next === null || this.#dialogKeys >= DIALOG_KEYS_MAX) return;
		const look = { ...next, nowMs: clock.now().steadyMs };
		const { state, key } = decideDialogKey(this.#dialog, look);
		this.#dialog = state;
		if (key === null) return;
		this.#dialogKeys++;
		await backend.input(handle, Buffer.from(KEY_BYTES[key]));
		if (key !== "enter") return;
		const data = { dialog: dialog.name };
		await note([{ type: "agent.dialog_answered", agent: spec.id, run_id: runId, data }]);
	}

	#mayAnswer({ at = "start" }: DialogProfile, signs: readonly AgentSign[]): boolean {
		// After the start, text that looks like a startup question is part of the conversation.
		if (at === "start") return this.#run.spec.seed && !this.#seenReady;
		// Its own records must report a failed request; text on the screen alone proves nothing.
		if (at === "failure") return failedAttempts(signs).length > 0;
		return signs.findLast(({ failure }) => failure !== undefined)?.failure?.cause === "usage_limit";
	}

	async #readConversation(signs: readonly AgentSign[], text: string | null): Promise<void> {
		const { conversation, onConversation, sessions, spec, runId, handle } = this.#run;
		if (conversation() !== null) return;
		// Some CLIs also report background conversations: the one with a transcript is used.
		const reported = new Set(signs.flatMap((sign) => sign.conversation ?? []));
		for (const id of reported) onConversation(id);
		if (!this.#adapter.profile.conversation.heldOpen || text === this.#searchedAt) return;
		// Reads all processes; skipped while the screen is unchanged.
		const held = await sessions.heldConversation(spec, runId, handle.process);
		this.#searchedAt = text;
		if (held !== null) onConversation(held);
	}

	async #decide(
		signs: readonly AgentSign[],
		reading: ScreenReading | null,
		lacksOutput: boolean,
	): Promise<void> {
		const { spec, runId, clock, note, onReady } = this.#run;
		const before = this.#known;
		const nowMs = clock.now().wallMs;
		const { tellsTurnEnds, confirmsPrompts: hasRecords } = this.#adapter.profile;
		const facts = { signs, screen: reading, lacksOutput, hasRecords, tellsTurnEnds, nowMs };
		this.#known = decideActivity(before, facts);
		const { activity, source, detail } = this.#known;
		const about = { agent: spec.id, run_id: runId };
		const news = this.#attend(about, signs);
		if (news.length > 0) await note(news);
		await reportFinish(this.#run.people, about, before, this.#known, signs);
		if (activity === before.activity) return;
		const data = { from: before.activity, to: activity, source, detail };
		await note([{ ...about, type: "agent.activity", data }]);
		if (this.#seenReady || (activity !== "ready" && activity !== "busy")) return;
		this.#seenReady = true;
		onReady();
	}

	/** Notifies a person if necessary. */
	#attend(
		about: { readonly agent: string; readonly run_id: string },
		signs: readonly AgentSign[],
	): readonly NewEvent[] {
		const { activity, failure, failedTurn, detail, retrying = null } = this.#known;
		const { clock, isAdopted } = this.#run;
		const nowMs = clock.now().steadyMs;
		const facts = { activity, failedTurn, failure, retrying, isAdopted, nowMs };
		const { state, asks, failed, retries } = decideAttention(this.#attention, facts);
		this.#attention = state;
		const retry = { retry_in_ms: failure === "usage_limit" ? null : this.#retryInMs(signs) };
		return [
			...(asks ? [asksEvent(about, detail, this.#run.people)] : []),
			...(retries && retrying !== null ? [retryingEvent(about, retrying, detail)] : []),
			...(failed && failure !== null
				? [
						{
							...about,
							type: "agent.turn_failed",
							data: { cause: failure, detail, ...retry },
						} as const,
					]
				: []),
		];
	}
}

function asksEvent(
	about: { readonly agent: string; readonly run_id: string },
	detail: string | null,
	{ questions }: People,
): NewEvent {
	const {
		id = null,
		kind = null,
		text = null,
		choices = [],
	} = questions.of(about.agent, about.run_id) ?? {};
	const labels = choices.map(({ label }) => label);
	const data = { detail, question: id, kind, text, choices: labels };
	return { ...about, type: "agent.asks", data };
}

function retryingEvent(
	about: { readonly agent: string; readonly run_id: string },
	{ cause, count, sinceMs, lastMs }: Retrying,
	detail: string | null,
): NewEvent {
	const data = { cause, detail, attempts: count, for_ms: lastMs - sinceMs };
	return { ...about, type: "agent.retrying", data };
}
