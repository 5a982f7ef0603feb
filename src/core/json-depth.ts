/** The nesting limit for JSON from outside. */

/** Parsing supports any depth, but validating the value and serializing it again would exhaust the stack. */
export const JSON_DEPTH_MAX = 500;

/** `textLength` is the length of the value as text, if known: short texts need no check. */
export function isTooDeep(value: unknown, textLength = Number.POSITIVE_INFINITY): boolean {
	// Every level needs a bracket at each end.
	if (textLength < 2 * JSON_DEPTH_MAX) return false;
	let level: object[] = isObject(value) ? [value] : [];
	for (let depth = 0; level.length > 0; depth++) {
		if (depth > JSON_DEPTH_MAX) return true;
		level = level.flatMap((each) => Object.values(each).filter(isObject));
	}
	return false;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
