/** The operations of a daemon that is killed. */

/**
 * The same object, whose methods never return once its owner is dead. `lookups` return immediately and
 * change nothing, so they must keep working: their callers cannot wait.
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
