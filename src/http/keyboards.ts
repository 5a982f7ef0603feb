/**
 * Who types into the terminal of each agent. At most one viewer has the keyboard: it gets it if it is free, or by
 * explicit request. When that viewer leaves, the keyboard returns to the one that had it before.
 */

import type { KeyboardJson } from "./contract/agent-parts.js";

/** Learns who types. */
export interface Watcher {
	/** Called at the start and after every change. `holder` is null while the keyboard is free. */
	notify(isMine: boolean, holder: KeyboardJson | null): void;
}

/** One that may type. */
export interface Viewer extends Watcher {
	readonly by: KeyboardJson["by"];
	readonly who: string;
	readonly label: string;
}

interface Desk {
	readonly watchers: Set<Watcher>;
	/** Everyone who has had the keyboard and not left; the last one has it. */
	readonly holders: Viewer[];
	since: string;
}

export interface Keyboards {
	/** Null while the keyboard is free. */
	holderOf(agent: string): KeyboardJson | null;
	has(agent: string, watcher: Watcher): boolean;
	watch(agent: string, watcher: Watcher): void;
	/** Takes the keyboard if it is free, else only watches. */
	join(agent: string, viewer: Viewer): void;
	/** Takes the keyboard from the viewer that has it. For viewers that have joined. */
	take(agent: string, viewer: Viewer): void;
	leave(agent: string, watcher: Watcher): void;
}

/** @param now the wall time, in ISO format */
export function createKeyboards(now: () => string): Keyboards {
	const desks = new Map<string, Desk>();

	function holderOf(agent: string): KeyboardJson | null {
		const desk = desks.get(agent);
		const holder = desk?.holders.at(-1);
		if (desk === undefined || holder === undefined) return null;
		const { by, who, label } = holder;
		return { by, who, label, since: desk.since };
	}

	const has = (agent: string, watcher: Watcher) => desks.get(agent)?.holders.at(-1) === watcher;

	function notifyAll(agent: string): void {
		const holder = holderOf(agent);
		for (const watcher of desks.get(agent)?.watchers ?? [])
			watcher.notify(has(agent, watcher), holder);
	}

	function openDesk(agent: string): Desk {
		const desk = desks.get(agent) ?? { watchers: new Set(), holders: [], since: now() };
		desks.set(agent, desk);
		return desk;
	}

	function watch(agent: string, watcher: Watcher): void {
		openDesk(agent).watchers.add(watcher);
		watcher.notify(false, holderOf(agent));
	}

	function take(agent: string, viewer: Viewer): void {
		const desk = openDesk(agent);
		if (has(agent, viewer)) return;
		desk.watchers.add(viewer);
		removeFrom(desk.holders, viewer);
		desk.holders.push(viewer);
		desk.since = now();
		notifyAll(agent);
	}

	return {
		holderOf,
		has,
		watch,
		take,
		join(agent, viewer) {
			if (holderOf(agent) === null) take(agent, viewer);
			else watch(agent, viewer);
		},
		leave(agent, watcher) {
			const desk = desks.get(agent);
			if (desk === undefined) return;
			const had = has(agent, watcher);
			desk.watchers.delete(watcher);
			removeFrom(desk.holders, watcher);
			if (desk.watchers.size === 0) desks.delete(agent);
			if (!had) return;
			desk.since = now();
			notifyAll(agent);
		},
	};
}

function removeFrom(holders: Watcher[], watcher: Watcher): void {
	const at = holders.indexOf(watcher);
	if (at !== -1) holders.splice(at, 1);
}
