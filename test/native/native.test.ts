/** The shipped binary of this platform, or the one that `REEVE_SHIM` names. */

import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { shimPath } from "../../src/native/find-binary.js";
import { describeNative } from "./support/describe-native.js";
import { World } from "./support/world.js";

describeNative("the native program", shimPath);

const PAGE_KB = 4;
const onLinux = {
	skip: process.platform !== "linux",
	meta: { skipReason: "only Linux reports the memory of a process in /proc" },
};

let world: World;
beforeEach(() => {
	world = new World(shimPath());
});
afterEach(() => world.close());

test("a waiting shim has at most 44 kB of memory of its own", onLinux, async () => {
	const { started } = await world.run(["sleep", "100"]);
	const ownKb = () => {
		const [, resident = 0, shared = 0] = readFileSync(`/proc/${started.shim}/statm`, "utf8")
			.split(" ")
			.map(Number);
		return (resident - shared) * PAGE_KB;
	};
	// It reports the start, and then gives back what preparing has used.
	await expect.poll(ownKb, { timeout: 10_000 }).toBeLessThanOrEqual(44);
});
