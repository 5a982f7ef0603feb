import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sourceHash } from "../../scripts/lib/native.mjs";
import {
	describeShim,
	findShim,
	type Shim,
	type ShimMissing,
} from "../../src/native/find-binary.js";
import { describeIfAllowed } from "../support/needs.js";
import { whyNoCompiler } from "./support/compile.js";

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "reeve-find-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Looks in a copy of the sources. `prebuilt`: what is at the place of this platform's binary. */
function find(prebuilt: string | undefined, env: Record<string, string> = {}): Shim | ShimMissing {
	const copy = join(folder, "native");
	mkdirSync(copy);
	for (const name of readdirSync("src/native")) {
		if (/\.([ch]|json)$/.test(name)) cpSync(join("src/native", name), join(copy, name));
	}
	if (prebuilt !== undefined) {
		const place = join(copy, "prebuilt", `${process.platform}-${process.arch}`);
		mkdirSync(place, { recursive: true });
		writeFileSync(join(place, "reeve-shim"), prebuilt, { mode: 0o755 });
	}
	const PATH = process.env["PATH"] ?? "";
	return findShim({ folder: copy, env: { PATH, XDG_CACHE_HOME: join(folder, "cache"), ...env } });
}

describe("finding the native program", () => {
	test("uses the shipped binary, which was built from the sources beside it", () => {
		const shim = describeShim();
		if (process.env["REEVE_SHIM"] === undefined) expect(shim).toMatchObject({ origin: "prebuilt" });
		expect(shim).toMatchObject({ oldest: 1, newest: 4 });
		if (process.env["REEVE_SHIM"] === undefined) expect((shim as Shim).source).toBe(sourceHash());
	});

	test("uses the one in REEVE_SHIM, and reports why it cannot be used", () => {
		const version = "#!/bin/sh\necho reeve-shim protocol 1-3 source abc\n";
		const path = join(folder, "named");
		writeFileSync(path, version, { mode: 0o755 });
		expect(find(undefined, { REEVE_SHIM: path })).toEqual({
			path,
			origin: "environment",
			oldest: 1,
			newest: 3,
			source: "abc",
		});
	});

	test("names a REEVE_SHIM that does not run, and uses no other", () => {
		expect(find(undefined, { REEVE_SHIM: "/nowhere/shim" })).toEqual({
			path: null,
			reason: "REEVE_SHIM: /nowhere/shim does not run here.",
		});
	});

	test("reports missing parts if no binary fits and there is no compiler", () => {
		const missing = find("#!/bin/sh\nexit 1\n", { PATH: "/nowhere" }) as ShimMissing;
		expect(missing.path).toBeNull();
		expect(missing.reason).toMatch(/^There is no native binary for .*cc.*Install a C compiler/);
	});
});

const missing = whyNoCompiler();
const permission =
	missing === null ? ({ type: "run" } as const) : ({ type: "skip", reason: missing } as const);
describeIfAllowed(permission, "building the native program at first use", () => {
	test("builds where no binary runs, with the same hash, and keeps the result", {
		timeout: 120_000,
	}, () => {
		const built = find("not for this platform") as Shim;
		expect(built).toMatchObject({ origin: "built", source: sourceHash() });
		expect(built.path.startsWith(join(folder, "cache"))).toBe(true);
		expect(execFileSync(built.path, ["version"], { encoding: "utf8" })).toContain(built.source);
		expect(readdirSync(resolve(built.path, ".."))).toEqual(["reeve-shim"]);
	});
});
