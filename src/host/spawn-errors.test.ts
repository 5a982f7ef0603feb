import { describe, expect, test } from "vitest";
import { checkLaunch, explainSpawnError } from "./spawn-errors.js";

const launch = {
	argv: ["sh", "-c", "true"] as [string, ...string[]],
	cwd: "/",
	env: { PATH: "/usr/bin:/bin" },
};
const failWith = (code: string) =>
	explainSpawnError(Object.assign(new Error(code), { code }), launch);

describe("a launch", () => {
	test("that can work is accepted", () => {
		expect(checkLaunch(launch)).toBeNull();
		expect(checkLaunch({ ...launch, argv: ["/bin/sh"] })).toBeNull();
	});

	test("is looked up on the agent's own PATH, not on ours", () => {
		expect(checkLaunch({ ...launch, env: { PATH: "/nowhere" } })).toMatchObject({
			permanent: true,
		});
		expect(checkLaunch({ ...launch, env: {} })).toBeNull();
	});

	test("with a NUL in it is refused", () => {
		for (const bad of [
			{ ...launch, argv: ["sh", "a\0b"] as [string, ...string[]] },
			{ ...launch, env: { ...launch.env, A: "\0" } },
		]) {
			expect(checkLaunch(bad)?.detail).toMatch(/NUL/);
		}
	});
});

describe("an error of the attempt", () => {
	test.each(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM", "EIO"])("%s passes", (code) => {
		expect(failWith(code).permanent).toBe(false);
	});

	test.each(["E2BIG", "EACCES", "ENOEXEC", "ENOENT"])("%s stays", (code) => {
		expect(failWith(code).permanent).toBe(true);
	});
});
