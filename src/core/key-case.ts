/**
 * Keys of data that crosses a boundary: snake_case outside (wire, store), camelCase inside. The keys of `env` and what is
 * below `value` and `add` belong to users and stay as they are.
 */

const OPAQUE_KEYS = ["env", "value", "add"] as const;
type OpaqueKey = (typeof OPAQUE_KEYS)[number];

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}`
	? `${Head}${Capitalize<Camel<Tail>>}`
	: S;
type Snake<S extends string> = S extends `${infer Head}${infer Tail}`
	? `${Head extends Uppercase<Head> ? (Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`) : Head}${Snake<Tail>}`
	: S;

/** The same data with camelCase keys. */
export type CamelKeys<T> = T extends readonly (infer Item)[]
	? readonly CamelKeys<Item>[]
	: T extends object
		? {
				[Key in keyof T as Key extends string ? Camel<Key> : Key]: Key extends OpaqueKey
					? T[Key]
					: CamelKeys<T[Key]>;
			}
		: T;

/** The same data with snake_case keys. */
export type SnakeKeys<T> = T extends readonly (infer Item)[]
	? readonly SnakeKeys<Item>[]
	: T extends object
		? {
				[Key in keyof T as Key extends string ? Snake<Key> : Key]: Key extends OpaqueKey
					? T[Key]
					: SnakeKeys<T[Key]>;
			}
		: T;

export function toCamelKeys<T>(value: T): CamelKeys<T> {
	return renameKeys(value, toCamel) as CamelKeys<T>;
}

export function toSnakeKeys<T>(value: T): SnakeKeys<T> {
	return renameKeys(value, toSnake) as SnakeKeys<T>;
}

const toCamel = remember((key) =>
	key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
);
const toSnake = remember((key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

/** Far more than the keys of all specifications, and a bound for input that has other keys. */
const REMEMBERED_MAX = 1_000;

/** The same few keys come with every agent, and a pattern takes longer than everything else that is done with a key. */
function remember(rename: (key: string) => string): (key: string) => string {
	const known = new Map<string, string>();
	return (key) => {
		const found = known.get(key);
		if (found !== undefined) return found;
		const renamed = rename(key);
		if (known.size < REMEMBERED_MAX) known.set(key, renamed);
		return renamed;
	};
}

function renameKeys(value: unknown, rename: (key: string) => string): unknown {
	if (Array.isArray(value)) return value.map((each) => renameKeys(each, rename));
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).map(([key, each]) => [
			rename(key),
			(OPAQUE_KEYS as readonly string[]).includes(key) ? each : renameKeys(each, rename),
		]),
	);
}
