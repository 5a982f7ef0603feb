/** The basis of every other test here. */

import { execFileSync } from "node:child_process";
import { userInfo } from "node:os";
import { expect, test } from "vitest";

test("the tests run as an ordinary user with a manager of its own", () => {
	expect(userInfo().username).toBe("reeve");
	const state = execFileSync("systemctl", ["--user", "show", "-P", "SystemState"], {
		encoding: "utf8",
	});
	expect(state.trim()).toBe("running");
});
