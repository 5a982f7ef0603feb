/** All suites over one binary. */

import { afterEach, beforeEach, describe } from "vitest";
import { logSuite } from "../suites/log.js";
import { protocolSuite } from "../suites/protocol.js";
import { startingSuite } from "../suites/starting.js";
import { terminalSuite } from "../suites/terminal.js";
import { treeSuite } from "../suites/tree.js";
import { World } from "./world.js";

export function describeNative(title: string, binary: () => string): void {
	let current: World;
	const world = () => current;
	describe(title, () => {
		beforeEach(() => {
			current = new World(binary());
		});
		afterEach(() => current.close());
		describe("starting", () => startingSuite(world));
		describe("terminal", () => terminalSuite(world));
		describe("log", () => logSuite(world));
		describe("tree", () => treeSuite(world));
		describe("protocol", () => protocolSuite(world));
	});
}
