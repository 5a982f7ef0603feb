/**
 * Grants starts. Agents that request a start wait here until their dependencies are ready, and the rate
 * limit of the host allows another start.
 *
 * Keeps S4 (starts in a window ≤ burst, manual ones included) and S7 (start order follows
 * `depends_on`).
 */

import { DEFAULT_START_LIMIT, decideStart, type StartLog } from "../core/start-limit.js";
import type { Clock } from "../ports/clock.js";
import type { Store } from "../ports/store.js";

/** Starts under way at the same time; the starter of `pty` takes as many. */
const LAUNCHING_MAX = 64;

export interface Startable {
	readonly id: string;
	readonly dependsOn: readonly string[];
	/** Whether its account permits it; checked only if nothing else holds it. */
	mayGo(): boolean;
	launch(): Promise<void>;
}

export interface StartGate {
	/** An agent requests a start or became ready: check all waiting agents again. */
	pump(): void;
	/**
	 * Admits a start that follows an exit in the same commit; null when it has to wait like any other. The result is to be
	 * called when the start is over.
	 */
	admit(agent: Omit<Startable, "launch">): (() => void) | null;
	/** The dependencies that an agent still waits for. */
	missing(dependsOn: readonly string[]): readonly string[];
	close(): void;
}

export function createStartGate(
	clock: Clock,
	/** Those that want to start. */
	agents: () => Iterable<Startable>,
	isReady: (id: string) => boolean,
	/** Starts belong to no request: another request, or a timer, may have triggered them. */
	detach: Store["detach"],
	onError: (id: string, error: unknown) => void,
): StartGate {
	const launching = new Set<string>();
	let log: StartLog = [];
	let cancelPump: (() => void) | null = null;
	let closed = false;

	const missing = (dependsOn: readonly string[]) => dependsOn.filter((id) => !isReady(id));

	const isFull = () => closed || launching.size >= LAUNCHING_MAX;

	/** Whether it may start now; how long the host's limit keeps it, if it is only that. */
	function enter(agent: Omit<Startable, "launch">): boolean | number {
		if (launching.has(agent.id) || missing(agent.dependsOn).length > 0) return false;
		if (!agent.mayGo()) return false;
		const decision = decideStart(log, clock.now().steadyMs, DEFAULT_START_LIMIT);
		if (decision.type === "wait") return decision.forMs;
		log = decision.log;
		launching.add(agent.id);
		return true;
	}

	function leave(id: string): void {
		launching.delete(id);
		pump();
	}

	function pump(): void {
		for (const agent of agents()) {
			if (isFull()) return;
			const entered = enter(agent);
			if (entered === true) {
				detach(() => agent.launch())
					.catch((error: unknown) => onError(agent.id, error))
					.finally(() => leave(agent.id));
			} else if (entered !== false) {
				cancelPump ??= clock.schedule(entered, () => {
					cancelPump = null;
					pump();
				});
				return;
			}
		}
	}

	return {
		pump,
		admit: (agent) => (!isFull() && enter(agent) === true ? () => leave(agent.id) : null),
		missing,
		close() {
			closed = true;
			cancelPump?.();
		},
	};
}
