/**
 * The queue of runnable tasks, by agent. Within one agent, tasks are ordered by priority, then by
 * arrival. Agents take turns, so that one with many tasks cannot starve the others.
 */

/** A task's position in the queue. */
export interface Waiting {
	readonly taskId: string;
	readonly agentId: string;
	readonly priority: number;
	/** Increases with every accepted task. */
	readonly number: number;
	/** Since when it waits, in steady time. */
	readonly sinceMs: number;
}

export class ReadyQueue {
	/** In the order of their turns. */
	readonly #agents = new Map<string, Waiting[]>();
	#size = 0;

	get size(): number {
		return this.#size;
	}

	add(waiting: Waiting): void {
		const heap = this.#agents.get(waiting.agentId) ?? [];
		if (heap.length === 0) this.#agents.set(waiting.agentId, heap);
		heap.push(waiting);
		siftUp(heap);
		this.#size += 1;
	}

	/** Removes the tasks of an agent that are no longer `wanted`, and returns them. */
	removeUnless(agentId: string, wanted: (waiting: Waiting) => boolean): readonly Waiting[] {
		const all = this.#agents.get(agentId) ?? [];
		const removed = all.filter((each) => !wanted(each));
		if (removed.length === 0) return [];
		const heap: Waiting[] = [];
		for (const each of all.filter(wanted)) {
			heap.push(each);
			siftUp(heap);
		}
		this.#size -= removed.length;
		if (heap.length > 0) this.#agents.set(agentId, heap);
		else this.#agents.delete(agentId);
		return removed;
	}

	/** The next task of the next agent that may be served; null if there is none. */
	take(mayServe: (agentId: string) => boolean): Waiting | null {
		for (const [agentId, heap] of this.#agents) {
			if (!mayServe(agentId)) continue;
			const first = takeFirst(heap);
			this.#size -= 1;
			// Moved to the end, or removed until it has tasks again.
			this.#agents.delete(agentId);
			if (heap.length > 0) this.#agents.set(agentId, heap);
			return first;
		}
		return null;
	}
}

/** Whether `a` goes before `b`. */
function precedes(a: Waiting, b: Waiting): boolean {
	return a.priority === b.priority ? a.number < b.number : a.priority > b.priority;
}

function siftUp(heap: Waiting[]): void {
	let at = heap.length - 1;
	while (at > 0) {
		const parent = (at - 1) >> 1;
		if (!precedes(heap[at] as Waiting, heap[parent] as Waiting)) return;
		swap(heap, at, parent);
		at = parent;
	}
}

function takeFirst(heap: Waiting[]): Waiting {
	const first = heap[0] as Waiting;
	const last = heap.pop() as Waiting;
	if (heap.length === 0) return first;
	heap[0] = last;
	let at = 0;
	for (;;) {
		let best = at;
		for (const child of [2 * at + 1, 2 * at + 2]) {
			const candidate = heap[child];
			if (candidate !== undefined && precedes(candidate, heap[best] as Waiting)) best = child;
		}
		if (best === at) return first;
		swap(heap, at, best);
		at = best;
	}
}

function swap(heap: Waiting[], a: number, b: number): void {
	const held = heap[a] as Waiting;
	heap[a] = heap[b] as Waiting;
	heap[b] = held;
}
