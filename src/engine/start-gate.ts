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

/** The maximum number of simultaneous starts. */
const LAUNCHING_MAX = 16;

export interface Startable {
	readonly id: string;
	readonly wantsToLaunch: boolean;
	readonly dependsOn: readonly string[];
	/** Whether its account permits it; checked only if nothing else holds it. */
	mayGo(): boolean;
	launch(): Promise<void>;
}

export interface StartGate {
	/** An agent requests a start or became ready: check all waiting agents again. */
	pump(): void;
	/** The unmet dependencies of an agent. */
	missing(dependsOn: readonly string[]): readonly string[];
	close(): void;
}

export function createStartGate(
	clock: Clock,
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

	function launch(agent: Startable): void {
		launching.add(agent.id);
		detach(() => agent.launch())
			.catch((error: unknown) => onError(agent.id, error))
			.finally(() => {
				launching.delete(agent.id);
				pump();
			});
	}

	function pump(): void {
		for (const agent of agents()) {
			if (closed || launching.size >= LAUNCHING_MAX) return;
			if (!agent.wantsToLaunch || launching.has(agent.id)) continue;
			if (missing(agent.dependsOn).length > 0) continue;
			if (!agent.mayGo()) continue;
			const decision = decideStart(log, clock.now().steadyMs, DEFAULT_START_LIMIT);
			if (decision.type === "wait") {
				cancelPump ??= clock.schedule(decision.forMs, () => {
					cancelPump = null;
					pump();
				});
				return;
			}
			log = decision.log;
			launch(agent);
		}
	}

	return {
		pump,
		missing,
		close() {
			closed = true;
			cancelPump?.();
		},
	};
}
