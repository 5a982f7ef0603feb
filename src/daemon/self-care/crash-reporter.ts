/** Collects the data for a crash report of this daemon, and reports once. */

import type { ReeveEvent } from "../../core/events.js";
import type { CrashCause, CrashEvent, CrashReport } from "../../home/crash-reports.js";
import type { Store } from "../../ports/store.js";
import type { ServiceStatus } from "../../services/supervise.js";
import { type CrashFacts, type CrashHome, writeCrashReport } from "./crash-file.js";
import type { Marker } from "./running-marker.js";

const EVENTS_MAX = 50;

export class CrashReporter {
	readonly #home: CrashHome;
	readonly #identity: { readonly version: string; readonly startedAt: string };
	#events: readonly CrashEvent[] = [];
	#services: () => readonly ServiceStatus[] = () => [];
	#hasReported = false;

	constructor(home: CrashHome, identity: { readonly version: string; readonly startedAt: string }) {
		this.#home = home;
		this.#identity = identity;
	}

	/** Remembers the last events, including earlier ones. */
	watchEvents(store: Store): void {
		const before = store.readEvents({
			afterSeq: Math.max(0, store.lastSeq() - EVENTS_MAX),
			limit: EVENTS_MAX,
		});
		this.#events = before.map(withoutData);
		store.onCommit((events) => {
			const newest = events.slice(-EVENTS_MAX).map(withoutData);
			this.#events = [...this.#events, ...newest].slice(-EVENTS_MAX);
		});
	}

	watchServices(services: () => readonly ServiceStatus[]): void {
		this.#services = services;
	}

	/** The current state of this daemon, without the cause of a crash. */
	snapshot(): Omit<CrashFacts, "cause" | "message" | "stack" | "at"> {
		const { version, startedAt } = this.#identity;
		return {
			pid: process.pid,
			uptime_ms: Math.round(process.uptime() * 1_000),
			started_at: startedAt,
			versions: versionsOf(version),
			services: this.#services().map(({ name, status: state, ready, restarts, reason }) => ({
				name,
				state,
				ready,
				restarts,
				reason,
			})),
			events: this.#events,
		};
	}

	/** Reports its own crash. Only the first counts: later ones are consequences. */
	report(cause: CrashCause, error: unknown): void {
		if (this.#hasReported) return;
		this.#hasReported = true;
		const { message, stack } =
			error instanceof Error ? error : { message: String(error), stack: undefined };
		const at = new Date().toISOString();
		writeCrashReport(this.#home, { ...this.snapshot(), at, cause, message, stack: stack ?? null });
	}

	/** Reports the crash of the previous daemon. */
	reportLeft(left: Marker, found: { readonly cause: CrashCause; readonly message: string }): void {
		const last = this.#events.at(-1)?.at;
		// The time of its death is unknown, and may be days ago.
		const message =
			last === undefined ? found.message : `${found.message}; its last event was at ${last}`;
		writeCrashReport(this.#home, {
			cause: found.cause,
			message,
			at: new Date().toISOString(),
			stack: null,
			pid: left.pid,
			uptime_ms: null,
			started_at: left.startedAt,
			versions: versionsOf(left.version),
			services: [],
			events: this.#events,
		});
	}
}

function versionsOf(reeve: string): CrashReport["versions"] {
	return { reeve, node: process.versions.node, platform: `${process.platform} ${process.arch}` };
}

function withoutData({ seq, at, type, agent }: ReeveEvent): CrashEvent {
	return { seq, at, type, ...(agent === undefined ? {} : { agent }) };
}
