/** What becomes of a daemon's doings when it is killed. */

/**
 * The same object, whose methods never come back once its owner is dead. `lookups` answer at once and
 * change nothing, so they have to go on: whoever asks cannot be made to wait.
 */
export function mortal<T extends object>(
	target: T,
	life: { alive: boolean },
	lookups: readonly (string & keyof T)[] = [],
): T {
	return new Proxy(target, {
		get(object, name) {
			const value = Reflect.get(object, name, object);
			const isLookup = (lookups as readonly unknown[]).includes(name);
			if (typeof value !== "function" || isLookup) return value;
			return (...args: unknown[]) => {
				if (!life.alive) return new Promise(() => {});
				const result = Reflect.apply(value, object, args);
				if (!(result instanceof Promise)) return result;
				return result.then((answer) => (life.alive ? answer : new Promise(() => {})));
			};
		},
	});
}
