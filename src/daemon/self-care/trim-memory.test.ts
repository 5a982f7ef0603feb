import { describe, expect, test } from "vitest";
import { createTrimmer } from "./trim-memory.js";

const MIB = 1_048_576;

function createWorld() {
	const world = { heapMib: 20, busy: 0, collections: 0 };
	const trim = createTrimmer({
		heapBytes: () => world.heapMib * MIB,
		busyness: () => world.busy,
		collect: () => {
			world.collections += 1;
			world.heapMib = Math.max(18, world.heapMib - 20);
		},
	});
	const look = (times: number) => {
		for (let n = 0; n < times; n++) trim();
		return world.collections;
	};
	return { world, look };
}

describe("memory", () => {
	test("is collected in a few passes, then left alone until the heap has grown", () => {
		const { world, look } = createWorld();
		expect(look(10)).toBe(3);
		world.heapMib = 21;
		expect(look(10)).toBe(3);
		world.heapMib = 60;
		expect(look(10)).toBe(6);
		expect(world.heapMib).toBe(18);
	});

	test("is not collected while the daemon is busy", () => {
		const { world, look } = createWorld();
		world.busy = 0.5;
		expect(look(10)).toBe(0);
		world.busy = 0.01;
		expect(look(1)).toBe(1);
	});
});
