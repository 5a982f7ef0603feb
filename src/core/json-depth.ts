/** How deeply JSON from outside may be nested. */

/** Parsing takes any depth, but checking the value and writing it again would exhaust the stack. */
export const JSON_DEPTH_MAX = 500;

/** `textLength` is the length of the value as text, where it is known: short texts need no look. */
export function isTooDeep(value: unknown, textLength = Number.POSITIVE_INFINITY): boolean {
	// Every level takes a bracket at each end.
	if (textLength < 2 * JSON_DEPTH_MAX) return false;
	let level: object[] = isObject(value) ? [value] : [];
	for (let depth = 0; level.length > 0; depth++) {
		if (depth > JSON_DEPTH_MAX) return true;
		level = level.flatMap((each) => Object.values(each).filter(isObject));
	}
	return false;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
