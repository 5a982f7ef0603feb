/** What becomes of a daemon's doings when it is killed. */

/** The same object, whose methods never come back once its owner is dead. */
export function mortal<T extends object>(target: T, life: { alive: boolean }): T {
	return new Proxy(target, {
		get(object, name) {
			const value = Reflect.get(object, name, object);
			if (typeof value !== "function") return value;
			return (...args: unknown[]) => {
				if (!life.alive) return new Promise(() => {});
				const result = Reflect.apply(value, object, args);
				if (!(result instanceof Promise)) return result;
				return result.then((answer) => (life.alive ? answer : new Promise(() => {})));
			};
		},
	});
}
