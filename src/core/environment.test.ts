import { describe, expect, test } from "vitest";
import { baseEnvironment, composeEnvironment, valuesOf } from "./environment.js";

describe("the base", () => {
	test("has the user, the language and the ssh agent", () => {
		const base = {
			PATH: "/bin",
			HOME: "/h",
			USER: "u",
			LOGNAME: "u",
			SHELL: "/bin/sh",
			TMPDIR: "/t",
			LANG: "C",
			LC_ALL: "C",
			TZ: "UTC",
			XDG_RUNTIME_DIR: "/r",
			SSH_AUTH_SOCK: "/s",
		};
		expect(baseEnvironment(base)).toEqual(base);
	});

	test.each([
		...["NOTIFY_SOCKET", "REEVE_HOME", "npm_config_cache", "NODE_OPTIONS", "ANTHROPIC_API_KEY"],
		...["HTTPS_PROXY", "TERM", "TMUX", "CLAUDECODE", "LCX"],
	])("has no %s of the daemon's", (name) => {
		expect(baseEnvironment({ [name]: "x" })).toEqual({});
	});
});

describe("layers", () => {
	test("a later layer wins, null removes, and the source of each variable is known", () => {
		const variables = composeEnvironment([
			{ source: "base", values: { PATH: "/bin", HOME: "/h", TZ: "UTC" } },
			{ source: "env_file", values: { KEY: "file", A: "1" } },
			{ source: "pass_env", values: { KEY: "shell" } },
			{ source: "env", values: { HOME: "/other", TZ: null, A: undefined } },
		]);
		expect(variables.map(({ name, source }) => `${name} ${source}`)).toEqual([
			...["A env_file", "HOME env", "KEY pass_env", "PATH base"],
		]);
		expect(valuesOf(variables)).toEqual({ A: "1", HOME: "/other", KEY: "shell", PATH: "/bin" });
	});

	test("only Reeve itself sets variables that begin with REEVE_", () => {
		const variables = composeEnvironment([
			{ source: "env", values: { REEVE_RUN_ID: "forged" } },
			{ source: "reeve", values: { REEVE_SPOOL: "/spool" } },
		]);
		expect(valuesOf(variables)).toEqual({ REEVE_SPOOL: "/spool" });
	});
});
