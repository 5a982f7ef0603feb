/**
 * Runs the parts of the daemon under the service policy of the core. The loop never blocks: a delay
 * is a timer, so a stop or another part's end is seen at once, also in the middle of a restart.
 */

import {
	DEFAULT_SERVICE,
	decideAfterServiceEnd,
	NEW_SERVICE,
	type ServiceEnding,
	type ServicePolicy,
	type ServiceState,
	SHUTDOWN,
} from "../core/service-policy.js";
import type { Clock } from "../ports/clock.js";

export interface Service {
	readonly name: string;
	readonly policy: ServicePolicy;
	/** Runs until the signal aborts. Calls `ready` once it serves. Returning early is an end too. */
	run(signal: AbortSignal, ready: () => void): Promise<void>;
}

export interface ServiceStatus extends ServiceState {
	readonly name: string;
	readonly policy: ServicePolicy;
	readonly ready: boolean;
	/** Why it last ended. */
	readonly reason: string | null;
}

export interface Supervisor {
	status(): readonly ServiceStatus[];
	/** Asks everything to end; `ended` resolves when it has, or when its time is up. */
	stop(): void;
	/** Resolves with the exit code of the whole. */
	readonly ended: Promise<number>;
}

interface Part {
	readonly service: Service;
	state: ServiceState;
	ready: boolean;
	reason: string | null;
	running: Promise<void> | null;
	cancel: () => void;
}

export function supervise(
	services: readonly Service[],
	clock: Clock,
	onEnd: (name: string, action: "restart" | "fatal" | "none", reason: string) => void,
): Supervisor {
	const stopping = new AbortController();
	const parts = services.map(
		(service): Part => ({
			...{ service, state: NEW_SERVICE, ready: false, reason: null, running: null },
			cancel: () => {},
		}),
	);
	let shutDown: (how: keyof typeof SHUTDOWN) => void = () => {};
	const ended = new Promise<number>((resolve) => {
		shutDown = (how) => {
			if (stopping.signal.aborted) return;
			stopping.abort();
			for (const part of parts) part.cancel();
			const { drainMs, exitCode } = SHUTDOWN[how];
			const cancel = clock.schedule(drainMs, () => resolve(exitCode));
			void Promise.allSettled(parts.map((part) => part.running)).then(() => {
				cancel();
				resolve(exitCode);
			});
		};
	});

	function start(part: Part): void {
		const { service } = part;
		const startedMs = clock.now().steadyMs;
		const life = new AbortController();
		const signal = AbortSignal.any([stopping.signal, life.signal]);
		let over = false;
		const end = (ending: ServiceEnding) => {
			if (over) return;
			over = true;
			part.cancel();
			part.ready = false;
			if (!stopping.signal.aborted) decide(part, ending);
			else if (ending.type === "threw")
				onEnd(service.name, "none", `failed to stop: ${ending.error}`);
		};
		part.state = { ...part.state, status: "running" };
		part.cancel = clock.schedule(DEFAULT_SERVICE.startTimeoutMs, () => {
			life.abort();
			end({ type: "start_timeout" });
		});
		const ready = () => {
			part.cancel();
			part.ready = !over;
		};
		const ranMs = () => clock.now().steadyMs - startedMs;
		part.running = service.run(signal, ready).then(
			() => end({ type: "returned", ranMs: ranMs() }),
			(error: unknown) => {
				const text = error instanceof Error ? error.message : String(error);
				end({ type: "threw", ranMs: ranMs(), error: text });
			},
		);
	}

	function decide(part: Part, ending: ServiceEnding): void {
		const { name, policy } = part.service;
		const { state, action, reason } = decideAfterServiceEnd(
			part.state,
			policy,
			ending,
			DEFAULT_SERVICE,
		);
		part.state = state;
		part.reason = reason;
		onEnd(name, action.type, reason);
		if (action.type === "fatal") shutDown("fatal");
		if (action.type === "restart") part.cancel = clock.schedule(action.afterMs, () => start(part));
	}

	for (const part of parts) start(part);
	return {
		ended,
		stop: () => shutDown("graceful"),
		status: () =>
			parts.map(({ service, state, ready, reason }) => ({
				...state,
				...{ name: service.name, policy: service.policy, ready, reason },
			})),
	};
}
