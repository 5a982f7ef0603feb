/**
 * Runs the services of a program under the service policy of the core. The loop never blocks: a delay is a timer, so a
 * stop or another service's failure takes effect immediately, even during a restart or a hanging start.
 *
 * A service never runs next to its own successor. If it was asked to stop and does not, its restart waits for it, and
 * every further `startTimeoutMs` costs one more restart of its budget, so a service that never stops eventually becomes
 * fatal.
 */

import { messageOf } from "../core/message-of.js";
import {
	DEFAULT_SERVICE,
	decideAfterServiceEnd,
	NEW_SERVICE,
	type ServiceEnding,
	type ServicePolicy,
	type ServiceSettings,
	type ServiceState,
	SHUTDOWN,
} from "../core/service-policy.js";
import type { Clock } from "../ports/clock.js";
import { realClock } from "./real-clock.js";

/** A service: a part of a program that runs until it is asked to stop. */
export interface Service {
	readonly name: string;
	readonly policy: ServicePolicy;
	/** Settings that differ from `DEFAULT_SERVICE`. */
	readonly settings?: Partial<ServiceSettings>;
	/**
	 * Runs until the signal aborts; `drainMsOf(signal)` is how long it may take to stop then. Calls
	 * `ready` when it is ready to serve. Returning early counts as a failure.
	 */
	run(signal: AbortSignal, ready: () => void): Promise<void>;
}

/** A service as it is now. */
export interface ServiceStatus extends ServiceState {
	readonly name: string;
	readonly policy: ServicePolicy;
	/** It is ready to serve. */
	readonly ready: boolean;
	/** It was asked to stop and has not stopped. */
	readonly lingering: boolean;
	/** Why it last stopped. */
	readonly reason: string | null;
}

/** An unexpected stop of a service and the action that follows. */
export interface ServiceEnd {
	readonly service: string;
	readonly action: "restart" | "fatal" | "none";
	readonly reason: string;
}

/** Options of `supervise()`. */
export interface SuperviseOptions {
	readonly onEnd?: (end: ServiceEnd) => void;
	/** By default the host's. */
	readonly clock?: Clock;
}

/** How supervision ended. */
export interface SupervisionEnd {
	/** 0 on a requested stop, 1 after a fatal failure of a service. */
	readonly exitCode: number;
	/** Why it ended. */
	readonly reason: string;
	/** Services that threw while stopping, or did not stop in time. */
	readonly failedToStop: readonly { readonly service: string; readonly reason: string }[];
}

/** A running set of services. */
export interface Supervisor {
	status(): readonly ServiceStatus[];
	/** Whether all services were asked to stop. */
	readonly stopping: boolean;
	/** Asks all services to stop; `ended` resolves when they have, or after a timeout. */
	stop(): void;
	/** Stops everything as after a fatal failure: with a short timeout and exit code 1. */
	fail(reason: string): void;
	readonly ended: Promise<SupervisionEnd>;
}

/** Why the signal aborts when everything stops. */
interface Shutdown {
	readonly drainMs: number;
}

/** How long a service may take to stop if its own signal aborted for another reason, such as a restart. */
const RESTART_DRAIN_MS = 2_000;

/** How long a service may take to finish its work after its signal aborted. */
export function drainMsOf(signal: AbortSignal): number {
	const { drainMs } = (signal.reason ?? {}) as Partial<Shutdown>;
	return drainMs ?? RESTART_DRAIN_MS;
}

/** Starts and supervises the services. Throws if two have the same name. */
export function supervise(
	services: readonly Service[],
	options: SuperviseOptions = {},
): Supervisor {
	const names = services.map(({ name }) => name);
	const twice = names.find((name, place) => names.indexOf(name) !== place);
	if (twice !== undefined) throw new Error(`duplicate service name ${twice}`);
	return new Supervision(services, options);
}

interface Part {
	readonly service: Service;
	readonly settings: ServiceSettings;
	state: ServiceState;
	ready: boolean;
	lingering: boolean;
	reason: string | null;
	/** Settles, without failing, when the last run has stopped. Null if none is running. */
	running: Promise<void> | null;
	/** The error that it threw while stopping. */
	stopError: string | null;
	/** Cancels the service's pending timer: its start timeout, or its restart. */
	cancel: () => void;
}

class Supervision implements Supervisor {
	readonly ended: Promise<SupervisionEnd>;
	readonly #parts: readonly Part[];
	readonly #clock: Clock;
	readonly #onEnd: (end: ServiceEnd) => void;
	readonly #stopping = new AbortController();
	#resolve: (end: SupervisionEnd) => void = () => {};

	constructor(services: readonly Service[], { clock = realClock, onEnd }: SuperviseOptions) {
		this.#clock = clock;
		this.#onEnd = onEnd ?? (() => {});
		this.ended = new Promise((resolve) => {
			this.#resolve = resolve;
		});
		this.#parts = services.map((service) => ({
			service,
			settings: { ...DEFAULT_SERVICE, ...service.settings },
			state: NEW_SERVICE,
			ready: false,
			lingering: false,
			reason: null,
			running: null,
			stopError: null,
			cancel: () => {},
		}));
		for (const part of this.#parts) this.#start(part);
	}

	status(): readonly ServiceStatus[] {
		return this.#parts.map(({ service: { name, policy }, state, ready, lingering, reason }) => ({
			...state,
			name,
			policy,
			ready,
			lingering,
			reason,
		}));
	}

	get stopping(): boolean {
		return this.#stopping.signal.aborted;
	}

	stop(): void {
		this.#shutDown("graceful", "stop requested");
	}

	fail(reason: string): void {
		this.#shutDown("fatal", reason);
	}

	#start(part: Part): void {
		const life = new AbortController();
		const signal = AbortSignal.any([this.#stopping.signal, life.signal]);
		let readyMs: number | null = null;
		let over = false;
		const end = (ending: ServiceEnding) => {
			if (over) return;
			over = true;
			part.cancel();
			part.ready = false;
			life.abort();
			if (!this.#stopping.signal.aborted) this.#decide(part, ending);
			else if (ending.type === "threw") part.stopError = ending.error;
		};
		part.state = { ...part.state, status: "running" };
		part.cancel = this.#clock.schedule(part.settings.startTimeoutMs, () => {
			part.lingering = true;
			end({ type: "start_timeout" });
		});
		const ready = () => {
			if (over || readyMs !== null) return;
			part.cancel();
			readyMs = this.#clock.now().steadyMs;
			part.ready = true;
		};
		const ranMs = () => (readyMs === null ? null : this.#clock.now().steadyMs - readyMs);
		const release = (ending: ServiceEnding) => {
			part.running = null;
			part.lingering = false;
			end(ending);
		};
		// Inside an async function, so that a synchronous exception is handled like any other failure.
		part.running = (async () => part.service.run(signal, ready))().then(
			() => release({ type: "returned", ranMs: ranMs() }),
			(error: unknown) => release({ type: "threw", ranMs: ranMs(), error: messageOf(error) }),
		);
	}

	#decide(part: Part, ending: ServiceEnding): void {
		const { name, policy } = part.service;
		const decision = decideAfterServiceEnd(part.state, policy, ending, part.settings);
		const { action, reason } = decision;
		part.state = decision.state;
		part.reason = reason;
		this.#report({ service: name, action: action.type, reason });
		if (action.type === "fatal") this.#shutDown("fatal", `${name}: ${reason}`);
		if (action.type === "restart" && !this.#stopping.signal.aborted) {
			part.cancel = this.#clock.schedule(action.afterMs, () => this.#startWhenFree(part));
		}
	}

	/** Starts it once its last run has stopped, and counts a timeout of that as another failure. */
	#startWhenFree(part: Part): void {
		if (part.running === null) {
			this.#start(part);
			return;
		}
		let over = false;
		const cancel = this.#clock.schedule(part.settings.startTimeoutMs, () => {
			over = true;
			this.#decide(part, { type: "lingered" });
		});
		part.cancel = () => {
			over = true;
			cancel();
		};
		void part.running.then(() => {
			if (over) return;
			part.cancel();
			this.#start(part);
		});
	}

	#shutDown(how: keyof typeof SHUTDOWN, reason: string): void {
		if (this.#stopping.signal.aborted) return;
		for (const part of this.#parts) part.cancel();
		const { drainMs, exitCode } = SHUTDOWN[how];
		this.#stopping.abort({ drainMs } satisfies Shutdown);
		const finish = () => this.#resolve({ exitCode, reason, failedToStop: this.#failedToStop() });
		const cancel = this.#clock.schedule(drainMs, finish);
		void Promise.all(this.#parts.map(({ running }) => running)).then(() => {
			cancel();
			finish();
		});
	}

	#failedToStop(): SupervisionEnd["failedToStop"] {
		return this.#parts.flatMap(({ service, running, stopError }) => {
			if (running !== null) return [{ service: service.name, reason: "did not stop in time" }];
			return stopError === null ? [] : [{ service: service.name, reason: stopError }];
		});
	}

	#report(end: ServiceEnd): void {
		try {
			this.#onEnd(end);
		} catch (error) {
			// A listener must not be able to stop the supervision.
			process.emitWarning(`onEnd of supervise() threw: ${messageOf(error)}`);
		}
	}
}
