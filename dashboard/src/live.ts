/**
 * The connection to the daemon. While it is lost, the page keeps what it knows, says since when, and tries again; on
 * return it continues after the last event that it has seen.
 */

import { computed, signal } from "@preact/signals";
import type { ReeveEvent } from "../../src/core/events.js";
import type { LiveResources } from "../../src/http/contract/streams.js";
import { ApiError } from "./api.js";
import { now, setClock } from "./clock.js";
import { readAll, resources, takeEvent } from "./fleet.js";
import { countOf } from "./format.js";
import { announce } from "./parts/announcer.js";
import { readSse } from "./sse.js";

export type Connection =
	| { readonly type: "connecting" }
	| { readonly type: "live" }
	/** Not connected since then; the next try is at `retryAtMs`. */
	| { readonly type: "stale"; readonly sinceMs: number; readonly retryAtMs: number }
	/** The login is missing or has ended. */
	| { readonly type: "locked"; readonly wasOpen: boolean };

export const connection = signal<Connection>({ type: "connecting" });
export const isLive = computed(() => connection.value.type === "live");
/** The number of events that were caught up after a lost connection, as text; empty otherwise. */
export const caughtUp = signal("");

/** The daemon sends something at least every 15 seconds. */
const SILENT_MS_MAX = 30_000;
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000];
const CAUGHT_UP_MS = 6_000;
/** Events that arrive this soon after a return were missed. */
const CATCHING_UP_MS = 1_000;

let onProblems: (problems: readonly string[]) => void = () => {};
/** Calls this with the problems of the daemon, every few seconds. */
export function followProblems(listener: typeof onProblems): void {
	onProblems = listener;
}

let seq: number | null = null;
let wake = () => {};

/** Tries to connect now instead of after the delay. */
export function retryNow(): void {
	wake();
}

/** Keeps the page connected for as long as it is open. */
export async function stayConnected(): Promise<never> {
	for (let failures = 0; ; ) {
		try {
			await connectOnce(() => {
				failures = 0;
			});
			failures = Math.max(failures, 1);
			lose(RETRY_MS[0] ?? 0);
		} catch (error) {
			if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
				const { value } = connection;
				const wasOpen = value.type === "locked" ? value.wasOpen : value.type !== "connecting";
				connection.value = { type: "locked", wasOpen };
				await pause(null);
				continue;
			}
			// The history was replaced or removed: begin with a new snapshot.
			if (error instanceof ApiError && error.code === "events_pruned") seq = null;
			lose(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0);
			failures += 1;
		}
		const { value } = connection;
		if (value.type === "stale") await pause(value.retryAtMs - now.peek());
	}
}

function lose(delayMs: number): void {
	const { value } = connection;
	const sinceMs = value.type === "stale" ? value.sinceMs : now.peek();
	connection.value = { type: "stale", sinceMs, retryAtMs: now.peek() + delayMs };
}

/** Waits for the delay, without an end if it is null, or until `retryNow`. */
function pause(delayMs: number | null): Promise<void> {
	return new Promise((resolve) => {
		const timer = delayMs === null ? null : setTimeout(resolve, Math.max(0, delayMs));
		wake = () => {
			if (timer !== null) clearTimeout(timer);
			resolve();
		};
	});
}

async function connectOnce(onOpen: () => void): Promise<void> {
	const wasLost = connection.value.type === "stale";
	seq ??= await readAll();
	let missed = 0;
	let catchingUp = wasLost;
	await readSse("/api/v1/events?follow=1&live=resources", {
		headers: { "last-event-id": String(seq) },
		signal: new AbortController().signal,
		silentMsMax: SILENT_MS_MAX,
		onOpen(response) {
			setClock(response.headers.get("date"));
			onOpen();
			if (!wasLost) {
				connection.value = { type: "live" };
				return;
			}
			// Missed events arrive first; only then the page is live again.
			setTimeout(() => {
				catchingUp = false;
				void readAll().then(
					() => comeBack(missed),
					() => {},
				);
			}, CATCHING_UP_MS);
		},
		onMessage({ event, id, data }) {
			if (id !== null) seq = Number(id);
			if (data === "") return;
			if (event === "resources") {
				const { agents, problems } = JSON.parse(data) as LiveResources;
				resources.value = { ...resources.value, ...agents };
				if (problems !== undefined) onProblems(problems);
			} else if (event === "message") {
				if (catchingUp) missed += 1;
				takeEvent(JSON.parse(data) as ReeveEvent);
			}
		},
	});
}

function comeBack(missed: number): void {
	connection.value = { type: "live" };
	caughtUp.value = `Live again, ${countOf(missed, "event")} caught up`;
	announce(caughtUp.value);
	setTimeout(() => {
		caughtUp.value = "";
	}, CAUGHT_UP_MS);
}
