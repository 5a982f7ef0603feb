import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolvePath } from "./paths.js";

const folders = { baseDir: "/srv/fleet", homeDir: "/home/ada" };

describe("resolvePath", () => {
	it.each([
		["./web", "/srv/fleet/web"],
		[".", "/srv/fleet"],
		["../other", "/srv/other"],
		["/abs//dir/", "/abs/dir"],
		["~", "/home/ada"],
		["~/x/../y", "/home/ada/y"],
		["./~x", "/srv/fleet/~x"],
		["../../../..", "/"],
	])("reads %s as %s", (written, absolute) => {
		expect(resolvePath(written, folders)).toBe(absolute);
	});

	it("agrees with node on every path without a tilde", () => {
		const path = fc
			.array(fc.constantFrom("a", "..", ".", "", "b c"), { minLength: 1 })
			.map((steps) => steps.join("/"));
		fc.assert(
			fc.property(path, (written) => {
				expect(resolvePath(written, folders)).toBe(resolve(folders.baseDir, written));
			}),
		);
	});
});
