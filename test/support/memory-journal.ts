/** Undoes the writes of a change that failed, for stores in memory. */

export interface Journal {
	set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void;
	delete<Key, Value>(map: Map<Key, Value>, key: Key): void;
	/** Called if the change fails, newest first. */
	onUndo(undo: () => void): void;
	/** Runs a change; if it throws, undoes its writes. */
	run<T>(change: () => T): T;
}

export function createJournal(): Journal {
	let undos: (() => void)[] = [];
	const restore = <Key, Value>(map: Map<Key, Value>, key: Key) => {
		const had = map.has(key);
		const before = map.get(key) as Value;
		undos.push(() => (had ? map.set(key, before) : map.delete(key)));
	};
	return {
		set(map, key, value) {
			restore(map, key);
			map.set(key, value);
		},
		delete(map, key) {
			restore(map, key);
			map.delete(key);
		},
		onUndo: (undo) => void undos.push(undo),
		run(change) {
			undos = [];
			try {
				return change();
			} catch (error) {
				for (const undo of undos.toReversed()) undo();
				throw error;
			}
		},
	};
}
