/** The files that are written for systemd and launchd, compared with golden files and checked by other tools. */

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAEMON_FLAGS } from "../../src/cli/daemon-program.js";
import { parseLaunchdPlist, renderLaunchdPlist } from "../../src/cli/service/launchd-manager.js";
import type { ServiceFacts } from "../../src/cli/service/service.js";
import {
	explainLingerBug,
	parseSystemdUnit,
	renderSystemdUnit,
} from "../../src/cli/service/systemd-manager.js";
import { describeWithPython } from "../support/needs.js";
import { temporaryFolder } from "../support/reeve.js";

const facts: ServiceFacts = {
	...{ scope: "user", node: "/usr/bin/node", version: "1.2.3", account: null },
	program: "/usr/lib/node_modules/reeve/dist/daemon/main.js",
	...{ home: "/home/ada/.local/state/reeve", log: "/home/ada/.local/state/reeve/daemon.log" },
	path: "/home/ada/.local/bin:/usr/bin:/bin",
};
const ofHost: ServiceFacts = {
	...{ ...facts, scope: "system", log: "/Library/Logs/reeve.log" },
	account: { name: "ada", dir: "/home/ada" },
};
/** Every character that means something to one of the two. */
const odd = String.raw`/a "b" 'c' \d %h $HOME ; <&> é`;
const oddFacts: ServiceFacts = {
	...{ ...facts, program: `${odd}/main.js`, home: `${odd}/home`, path: `${odd}:/bin` },
};

describe("the golden files", () => {
	test.each([
		["reeve.service", renderSystemdUnit(facts)],
		["reeve-system.service", renderSystemdUnit(ofHost)],
		["reeve.plist", renderLaunchdPlist(facts)],
		["reeve-system.plist", renderLaunchdPlist(ofHost)],
	])("%s is the written text", async (name, text) => {
		await expect(text).toMatchFileSnapshot(`../fixtures/services/${name}`);
	});
});

test("written files are recognized, with their home, and foreign ones are not", () => {
	for (const { home } of [facts, oddFacts]) {
		expect(parseSystemdUnit(renderSystemdUnit({ ...facts, home }))).toEqual({ home });
		expect(parseLaunchdPlist(renderLaunchdPlist({ ...facts, home }))).toEqual({ home });
	}
	const text = fc.string({ unit: "grapheme-ascii", minLength: 1 });
	fc.assert(
		fc.property(text, (name) => {
			const home = `/${name}`;
			expect(parseSystemdUnit(renderSystemdUnit({ ...facts, home }))).toEqual({ home });
			expect(parseLaunchdPlist(renderLaunchdPlist({ ...facts, home }))).toEqual({ home });
		}),
	);
	expect(parseSystemdUnit("[Service]\nExecStart=/bin/reeve\n")).toBeNull();
	expect(parseLaunchdPlist("<plist></plist>")).toBeNull();
});

test("a name with a line break is refused: it would become a line of its own", () => {
	const home = "/home/ada\nExecStartPre=/bin/rm";
	expect(() => renderSystemdUnit({ ...facts, home })).toThrow("the home");
	expect(() => renderLaunchdPlist({ ...facts, path: "/bin\u0000" })).toThrow("the path");
});

/** Required values; otherwise agents are lost with the daemon. */
test.each([
	[
		"agents outlive a restart of the service",
		/^KillMode=process$/m,
		/<key>AbandonProcessGroup<\/key>\s*<true\/>/,
	],
	[
		"a failure is followed by a restart, an orderly end is not",
		/^Restart=on-failure$/m,
		/<key>SuccessfulExit<\/key>\s*<false\/>/,
	],
	["an orderly end has time", /^TimeoutStopSec=45$/m, /<key>ExitTimeOut<\/key>\s*<integer>45</],
])("%s", (_, unit, plist) => {
	expect(renderSystemdUnit(facts)).toMatch(unit);
	expect(renderLaunchdPlist(facts)).toMatch(plist);
});

const hasAnalyze = spawnSync("systemd-analyze", ["--version"]).error === undefined;
const withAnalyze = {
	skip: !hasAnalyze,
	meta: { skipReason: "systemd-analyze is not installed (package systemd)" },
};

describe("the unit, checked by systemd-analyze", withAnalyze, () => {
	function verify(unit: string, ...flags: string[]): string {
		const folder = temporaryFolder();
		writeFileSync(join(folder, "reeve.service"), unit);
		const env = { ...process.env, XDG_RUNTIME_DIR: folder, SYSTEMD_LOG_LEVEL: "warning" };
		const args = [
			"verify",
			"--man=no",
			"--recursive-errors=no",
			...flags,
			join(folder, "reeve.service"),
		];
		const { stdout, stderr, status } = spawnSync("systemd-analyze", args, {
			env,
			encoding: "utf8",
		});
		return status === 0 ? `${stdout}${stderr}` : `failed: ${stderr}`;
	}
	// ExecStart= has to be there.
	const here = { node: process.execPath };

	test("it is valid, for a user and for the host", () => {
		expect(verify(renderSystemdUnit({ ...facts, ...here }), "--user")).toBe("");
		const account = { name: "root", dir: "/root" };
		expect(verify(renderSystemdUnit({ ...ofHost, ...here, account }), "--system")).toBe("");
	});

	test("a wrong line would be found", () => {
		const unit = renderSystemdUnit({ ...facts, ...here }).replace(
			"KillMode=process",
			"KillMode=some",
		);
		expect(verify(unit, "--user")).toContain("kill mode");
	});

	test("odd names are kept", () => {
		const folder = join(temporaryFolder(), "a \"b\" 'c' \\d %h ;");
		mkdirSync(folder);
		expect(verify(renderSystemdUnit({ ...oddFacts, ...here }), "--user")).toBe("");
	});
});

describeWithPython("the property list, as Python reads it", () => {
	function readPlist(text: string): Record<string, unknown> {
		const script =
			"import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
		const { stdout, stderr } = spawnSync("python3", ["-c", script], {
			input: text,
			encoding: "utf8",
		});
		expect(stderr).toBe("");
		return JSON.parse(stdout) as Record<string, unknown>;
	}

	test("explains the problem, also with odd names", () => {
		expect(readPlist(renderLaunchdPlist(oddFacts))).toEqual({
			...{
				Label: "reeve.daemon",
				ProgramArguments: [oddFacts.node, ...DAEMON_FLAGS, oddFacts.program],
			},
			EnvironmentVariables: { PATH: oddFacts.path, REEVE_HOME: oddFacts.home },
			...{ WorkingDirectory: "/", RunAtLoad: true, KeepAlive: { SuccessfulExit: false } },
			...{ ThrottleInterval: 5, ExitTimeOut: 45, AbandonProcessGroup: true, Umask: 0o077 },
			...{ ProcessType: "Interactive", StandardOutPath: facts.log, StandardErrorPath: facts.log },
		});
		expect(readPlist(renderLaunchdPlist(ofHost))).toMatchObject({
			...{ UserName: "ada", EnvironmentVariables: { HOME: "/home/ada" } },
		});
	});
});

describe("systemd that stops a lingering user at the last logout", () => {
	test.each([
		["systemd 255 (255.4-1ubuntu8.4)\n+PAM +AUDIT", true],
		["systemd 255\n", true],
		["systemd 256 (256.2-1)", true],
		["systemd 256 (256.3-1)", false],
		["systemd 257 (257.1)", false],
		["systemd 252 (252.22-1~deb12u1)", false],
		["", false],
	])("%j: %s", (output, isAffected) => {
		const advice = explainLingerBug(output);
		expect(advice !== null).toBe(isAffected);
		if (advice !== null) expect(advice.fix).toBe("sudo reeve daemon install --system");
	});
});
