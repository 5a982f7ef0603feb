/** Services that live as scripted, under `supervise()`, on a manual clock. */

import type { Clock } from "../../src/ports/clock.js";
import type { Service, SupervisionEnd, supervise } from "../../src/services/supervise.js";
import { createManualClock } from "../../src/testing/manual-clock.js";

/** One run of a service. */
export interface Life {
	/** Until it is ready; null when it never is. */
	readonly startMs: number | null;
	/** From ready until it ends by itself; null when it does not. */
	readonly runMs: number | null;
	readonly throws: boolean;
	/** Until it stops after it was asked to; null if it ignores that. */
	readonly obeyMs: number | null;
	readonly throwsWhenNotified: boolean;
}

export interface Script extends Pick<Service, "policy" | "settings"> {
	/** The last one is repeated. */
	readonly lives: readonly [Life, ...Life[]];
}

export interface Observed extends Omit<SupervisionEnd, "reason" | "failedToStop"> {
	readonly endedAtMs: number;
	/** When each service was started. */
	readonly starts: readonly (readonly number[])[];
	/** Names of those that failed to stop. */
	readonly failedToStop: readonly string[];
	/** The most runs of one service at the same moment. */
	readonly runsAtOnceMax: number;
}

/** A manual clock that can be moved from one due moment to the next, with promises settled in between. */
export function createSteppedClock(): {
	readonly clock: Clock;
	step(untilMs: number): Promise<boolean>;
} {
	const manual = createManualClock();
	const due = new Map<object, number>();
	const clock: Clock = {
		now: () => manual.now(),
		schedule(afterMs, task) {
			const key = {};
			due.set(key, manual.now().steadyMs + afterMs);
			const cancel = manual.schedule(afterMs, () => {
				due.delete(key);
				task();
			});
			return () => {
				due.delete(key);
				cancel();
			};
		},
	};
	return {
		clock,
		/** To the next due moment, but not beyond `untilMs`. False when it got there. */
		async step(untilMs) {
			await settled();
			const nowMs = manual.now().steadyMs;
			const nextMs = Math.min(untilMs, ...due.values());
			manual.advance(Math.max(0, nextMs - nowMs));
			await settled();
			return nextMs < untilMs;
		},
	};
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Runs the services, asks them to stop at `stopAtMs`, and returns the external observations. */
export async function observe(
	start: typeof supervise,
	scripts: readonly Script[],
	stopAtMs: number,
): Promise<Observed> {
	const { clock, step } = createSteppedClock();
	const starts: number[][] = scripts.map(() => []);
	let runsAtOnceMax = 0;
	const services = scripts.map((script, number): Service => {
		let runs = 0;
		return {
			...{ name: `s${number}`, policy: script.policy },
			...(script.settings === undefined ? {} : { settings: script.settings }),
			run(signal, ready) {
				const lived = starts[number] as number[];
				const life = script.lives[Math.min(lived.length, script.lives.length - 1)] as Life;
				lived.push(clock.now().steadyMs);
				runs++;
				runsAtOnceMax = Math.max(runsAtOnceMax, runs);
				return live(life, clock, signal, ready).finally(() => runs--);
			},
		};
	});
	const supervisor = start(services, { clock });
	let end: (SupervisionEnd & { readonly endedAtMs: number }) | null = null;
	void supervisor.ended.then((ended) => {
		end = { ...ended, endedAtMs: clock.now().steadyMs };
	});
	const isOver = () => end !== null;
	while (!isOver() && (await step(stopAtMs)));
	supervisor.stop();
	for (let steps = 0; !isOver(); steps++) {
		if (steps > 10_000) throw new Error("it does not end");
		await step(stopAtMs + 60_000);
	}
	const { exitCode, endedAtMs, failedToStop } = end as unknown as SupervisionEnd & {
		endedAtMs: number;
	};
	return {
		...{ exitCode, endedAtMs, starts, runsAtOnceMax },
		failedToStop: failedToStop.map(({ service }) => service),
	};
}

function live(life: Life, clock: Clock, signal: AbortSignal, ready: () => void): Promise<void> {
	return new Promise((resolve, reject) => {
		const end = (throws: boolean) => (throws ? reject(new Error("scripted")) : resolve());
		if (life.startMs !== null) {
			clock.schedule(life.startMs, () => {
				ready();
				if (life.runMs !== null) clock.schedule(life.runMs, () => end(life.throws));
			});
		}
		signal.addEventListener("abort", () => {
			if (life.obeyMs !== null) clock.schedule(life.obeyMs, () => end(life.throwsWhenNotified));
		});
	});
}
