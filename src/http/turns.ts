/** Serializes calls by name: two messages sent at once must not be mixed. */

export interface Turns {
	inTurn<T>(name: string, act: () => Promise<T>): Promise<T>;
}

export function createTurns(): Turns {
	const last = new Map<string, Promise<unknown>>();
	return {
		async inTurn(name, act) {
			const turn = (last.get(name) ?? Promise.resolve()).then(act);
			const settled = turn.catch(() => {});
			last.set(name, settled);
			try {
				return await turn;
			} finally {
				if (last.get(name) === settled) last.delete(name);
			}
		},
	};
}
