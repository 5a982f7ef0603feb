/** The form of the conformance suites: lists of named tests that any test runner can run. */

import assert from "node:assert/strict";

/** One test of a conformance suite. */
export interface ConformanceTest {
	readonly name: string;
	/** Rejects if the implementation does not conform. Creates a world of its own and closes it. */
	run(): Promise<void>;
}

/** Creates the tests of a suite: each runs in a new world, which is closed afterwards. */
export function testsIn<World extends { close(): Promise<void> }>(
	createWorld: () => Promise<World>,
	bodies: Readonly<Record<string, (world: World) => Promise<void>>>,
): readonly ConformanceTest[] {
	return Object.entries(bodies).map(([name, body]) => ({
		name,
		async run() {
			const world = await createWorld();
			try {
				await body(world);
			} finally {
				await world.close();
			}
		},
	}));
}

/** Asserts that the object has these properties; it may have more. */
export function assertHas(actual: unknown, expected: Readonly<Record<string, unknown>>): void {
	assert.ok(typeof actual === "object" && actual !== null, `expected an object, found ${actual}`);
	const found = Object.fromEntries(
		Object.keys(expected).map((key) => [key, Reflect.get(actual, key)]),
	);
	assert.deepEqual(found, expected);
}
