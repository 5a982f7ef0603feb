/**
 * The breaker under many requests at once, each with one or more attempts: some succeed, some fail, some
 * are cancelled, some answer long after the circuit has changed, while the wall clock jumps. The world
 * counts permits and failed requests by itself and never reads the breaker's own bookkeeping to judge it.
 */

import { isDeepStrictEqual } from "node:util";
import type {
	admit,
	BreakerSettings,
	BreakerState,
	decideClose,
	Permit,
	recordAttempt,
	recordCancelled,
	recoverBreaker,
} from "../../src/core/breaker.js";
import { NEW_BREAKER } from "../../src/core/breaker.js";
import { ATTEMPT_ERRORS, type Outcome } from "../../src/core/outcome.js";
import type { RetryDecision } from "../../src/core/retry.js";
import type { Instant } from "../../src/core/time.js";
import { createManualClock } from "../../src/testing/manual-clock.js";
import type { SeededRandom } from "../../src/testing/random.js";
import type { Trace, World } from "./simulate.js";

export interface Breaker {
	readonly admit: typeof admit;
	readonly recordAttempt: typeof recordAttempt;
	readonly recordCancelled: typeof recordCancelled;
	readonly decideClose: typeof decideClose;
	readonly recoverBreaker: typeof recoverBreaker;
}

const STEPS_PER_LIFE = 200;
const DAY_MS = 86_400_000;

export const breakerWorld: World<Breaker> = (breaker, random, trace) => {
	const settings = { failureThreshold: random.int(1, 5), cooldownMs: random.int(1, 120_000) };
	trace.note(() => JSON.stringify(settings));
	const life = createLife(breaker, settings, random, trace);
	for (let step = 0; step < STEPS_PER_LIFE; step++) {
		const roll = random.next();
		if (roll < 0.45) life.call();
		else if (roll < 0.8) life.finish();
		else if (roll < 0.87) life.cancel();
		else if (roll < 0.97) life.wait();
		else if (roll < 0.98) life.daemonDies();
		else life.closeByHand();
	}
	return STEPS_PER_LIFE;
};

/** A request between its first attempt and its end. */
interface Call {
	permit: Permit;
	/** The circuit's period in which its current attempt was let through, as the world counts periods. */
	period: number;
	/** Its last attempt failed and another follows. */
	waiting: boolean;
}

function createLife(
	breaker: Breaker,
	settings: BreakerSettings,
	random: SeededRandom,
	trace: Trace,
) {
	const clock = createManualClock({ steadyMs: 0, wallMs: 1_700_000_000_000 });
	const under: Call[] = [];
	let state: BreakerState = NEW_BREAKER;
	// The same breaker with a wall clock that is never set: it must behave alike (B7).
	let twin: BreakerState = NEW_BREAKER;
	// The world's own state of the circuit.
	let period = 0;
	let mode: "closed" | "open" | "half_open" = "closed";
	let failures = 0;
	let openUntilMs = 0;

	const twinNow = (): Instant => ({ steadyMs: clock.now().steadyMs, wallMs: 0 });
	const enter = (next: typeof mode) => {
		mode = next;
		period++;
	};
	const store = (next: BreakerState) => {
		state = JSON.parse(JSON.stringify(next)) as BreakerState;
	};
	const decides = (of: BreakerState) => [
		of.circuit,
		of.consecutiveFailures,
		of.generation,
		of.probing,
		of.openUntil?.steadyMs ?? null,
	];
	const compareTwin = () =>
		trace.check(
			isDeepStrictEqual(decides(state), decides(twin)),
			"B7 wall-clock steps change nothing",
			() => `${JSON.stringify(state)} with steps, ${JSON.stringify(twin)} without`,
		);

	function call(): void {
		if (mode === "open" && clock.now().steadyMs >= openUntilMs) enter("half_open");
		const [retried] = random.chance(0.5) ? under.filter(({ waiting }) => waiting) : [];
		const held = retried?.permit ?? null;
		const isProbe = mode === "half_open" && retried?.period === period;
		const probes = under.filter((other) => other.period === period && other !== retried).length;
		const expected = mode === "closed" || (mode === "half_open" && probes === 0);
		const admission = breaker.admit(state, clock.now(), held);
		twin = breaker.admit(twin, twinNow(), held).state;
		trace.note(
			() => `${retried ? "retry" : "call"}${isProbe ? " of the probe" : ""}: ${admission.reason}`,
		);
		const invariant =
			mode === "open"
				? "B2 open admits none"
				: probes > 0
					? "B1 half-open admits at most one probe"
					: "B3 and B4 a free permit is given out, and open always reaches half-open";
		trace.check(
			(admission.permit !== null) === expected,
			invariant,
			() =>
				`${mode} with ${probes} running probes, yet permit is ${JSON.stringify(admission.permit)}`,
		);
		store(admission.state);
		compareTwin();
		if (admission.permit === null) return;
		const { permit } = admission;
		if (retried === undefined) under.push({ permit, period, waiting: false });
		else Object.assign(retried, { permit, period, waiting: false });
	}

	function finish(): void {
		const call = takeOne(({ waiting }) => !waiting);
		if (call === undefined) return;
		const outcome = randomOutcome(random);
		const isRetried = !outcome.ok && random.chance(0.5);
		const decision = randomDecision(outcome, isRetried);
		const ended = { outcome, decision };
		const change = breaker.recordAttempt(state, call.permit, ended, clock.now(), settings);
		twin = breaker.recordAttempt(twin, call.permit, ended, twinNow(), settings).state;
		trace.note(
			() => `${decision.type} after ${outcome.ok ? "ok" : outcome.error}: ${change.reason}`,
		);
		if (isRetried) {
			under.push({ ...call, waiting: true });
			trace.check(
				isDeepStrictEqual(change.state, state),
				"B6 an attempt that is retried changes nothing",
				() => `${JSON.stringify(state)} became ${JSON.stringify(change.state)}`,
			);
		} else if (call.period !== period) {
			trace.check(
				isDeepStrictEqual(change.state, state),
				"B5 results from before the last transition are ignored",
				() => `${JSON.stringify(state)} became ${JSON.stringify(change.state)}`,
			);
		} else {
			account(outcome);
		}
		store(change.state);
		compareTwin();
		trace.check(
			state.circuit === mode && state.consecutiveFailures === failures,
			"B6 the circuit follows exactly the results that count",
			() =>
				`${state.circuit} with ${state.consecutiveFailures} failures; should be ${mode} with ${failures}`,
		);
	}

	/** The effect of a result, computed by the world itself. */
	function account(outcome: Outcome): void {
		if (outcome.ok) {
			failures = 0;
			if (mode !== "closed") enter("closed");
			return;
		}
		if (
			[
				"invalid_request",
				"action_not_supported",
				"internal",
				"usage_limit",
				"host_exhausted",
			].includes(outcome.error)
		)
			return;
		failures++;
		if (mode === "half_open" || failures >= settings.failureThreshold) {
			enter("open");
			openUntilMs = clock.now().steadyMs + settings.cooldownMs;
		}
	}

	function cancel(): void {
		const call = takeOne(() => true);
		if (call === undefined) return;
		trace.note(() => `cancelled a call of period ${call.period}`);
		store(breaker.recordCancelled(state, call.permit).state);
		twin = breaker.recordCancelled(twin, call.permit).state;
		compareTwin();
	}

	function wait(): void {
		clock.advance(random.int(0, settings.cooldownMs));
		if (random.chance(0.3)) clock.stepWall(random.int(-DAY_MS, DAY_MS));
		trace.note(() => `time passed, now ${JSON.stringify(clock.now())}`);
	}

	/** A new daemon restores the breaker; running requests are lost. */
	function daemonDies(): void {
		under.length = 0;
		store(breaker.recoverBreaker(state, clock.now(), settings));
		// The rest was computed from a wall clock that may have been set, so the twin restarts.
		twin = state;
		const { steadyMs } = clock.now();
		const leftMs = (state.openUntil?.steadyMs ?? steadyMs) - steadyMs;
		trace.note(() => `daemon died, ${leftMs} ms of the cooldown are left`);
		trace.check(
			leftMs >= 0 && leftMs <= settings.cooldownMs,
			"B4 open always reaches half-open",
			() => `${leftMs} ms are left of a cooldown of ${settings.cooldownMs} ms`,
		);
		openUntilMs = steadyMs + leftMs;
	}

	function closeByHand(): void {
		store(breaker.decideClose(state).state);
		twin = breaker.decideClose(twin).state;
		failures = 0;
		enter("closed");
		trace.note(() => "operator: closed the circuit");
	}

	function takeOne(wanted: (call: Call) => boolean): Call | undefined {
		const candidates = under.filter(wanted);
		const call = candidates[random.int(0, Math.max(0, candidates.length - 1))];
		if (call !== undefined) under.splice(under.indexOf(call), 1);
		return call;
	}

	return { call, finish, cancel, wait, daemonDies, closeByHand };
}

function randomDecision(outcome: Outcome, isRetried: boolean): RetryDecision {
	if (outcome.ok) return { type: "succeed", reason: "simulated" };
	if (isRetried) return { type: "retry", afterMs: 1, reason: "simulated" };
	return { type: "dead_letter", reason: "simulated" };
}

function randomOutcome(random: SeededRandom): Outcome {
	if (random.chance(0.35)) return { ok: true, result: null };
	const error = random.pick(ATTEMPT_ERRORS);
	return { ok: false, error, reason: "simulated", retryAfterMs: null };
}
