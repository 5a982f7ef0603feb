/** Reads something from the API for as long as it is on the screen, and again after events that change it. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ReeveEvent } from "../../src/core/events.js";
import { explain } from "./act.js";
import { onEvent } from "./fleet.js";
import { connection } from "./live.js";

const READ_AGAIN_MS = 500;

export interface Reading<T> {
	readonly value: Signal<T | null>;
	/** Why it could not be read; null if it was. */
	readonly problem: Signal<string | null>;
	readonly again: () => void;
}

/**
 * @param read called at first, when `key` changes, after a lost connection, and when `changes` returns true
 */
export function useRead<T>(
	read: (signal: AbortSignal) => Promise<T>,
	key: string,
	changes: (event: ReeveEvent) => boolean,
): Reading<T> {
	const value = useSignal<T | null>(null);
	const problem = useSignal<string | null>(null);
	const turn = useSignal(0);
	const isLive = connection.value.type === "live";
	useEffect(() => {
		let timer: number | null = null;
		const ended = new AbortController();
		const load = () => {
			timer = null;
			read(ended.signal).then(
				(found) => {
					if (ended.signal.aborted) return;
					value.value = found;
					problem.value = null;
				},
				(error: unknown) => {
					if (!ended.signal.aborted) problem.value = explain(error);
				},
			);
		};
		load();
		const stop = onEvent((event) => {
			if (timer === null && changes(event)) timer = setTimeout(load, READ_AGAIN_MS);
		});
		return () => {
			ended.abort();
			stop();
			if (timer !== null) clearTimeout(timer);
		};
	}, [key, isLive, turn.value]);
	const again = () => {
		turn.value += 1;
	};
	return { value, problem, again };
}
