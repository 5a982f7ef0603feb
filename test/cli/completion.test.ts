/** The completion scripts, in real shells where there are some. */

import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { agentJson } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { runReeve, temporaryFolder } from "../support/reeve.js";

const hasShell = (name: string) => spawnSync(name, ["-c", "exit 0"]).status === 0;

/** A shell that finds `reeve` in its PATH, as an installed one would be. */
function createShell(env: Readonly<Record<string, string>>) {
	const bin = join(temporaryFolder(), "bin");
	mkdirSync(bin);
	symlinkSync(resolve("dist/cli/main.js"), join(bin, "reeve"));
	const PATH = `${bin}:${process.env["PATH"] ?? ""}`;
	// Not with spawnSync: the daemon that it asks is in this process.
	return ([shell, ...args]: readonly [string, ...string[]]) =>
		new Promise<string>((done) => {
			const options = { env: { ...process.env, ...env, PATH } };
			execFile(shell, args, options, (_, stdout, stderr) => done(stdout + stderr));
		});
}

const DAEMON = {
	"GET /api/v1/agents": () => ({ agents: [agentJson("web:coder"), agentJson("web:db")] }),
} as const;

const inBash = (line: string) => `
	source <(reeve completion bash)
	COMP_WORDBREAKS=$' \\t\\n:' COMP_LINE='reeve ${line}' COMP_POINT=$((6 + ${line.length}))
	_reeve; printf '%s\\n' "\${COMPREPLY[@]}"`;

test.each([
	["pl", "plan\n"],
	["completion f", "fish\n"],
	["down web:c", "coder\n"],
	["logs we", "web\nweb:coder\nweb:db\n"],
])("bash completes `reeve %s`", async (line, expected) => {
	const { env } = await startFakeDaemon(DAEMON);
	expect(await createShell(env)(["bash", "--norc", "-c", inBash(line)])).toBe(expected);
});

test("fish completes commands and agents", async ({ skip }) => {
	skip(!hasShell("fish"), "fish is not installed");
	const { env } = await startFakeDaemon(DAEMON);
	const script = (line: string) => `reeve completion fish | source; complete -C 'reeve ${line}'`;
	expect(await createShell(env)(["fish", "-c", script("pl")])).toBe("plan\n");
	// Files follow, as everywhere in fish.
	expect(await createShell(env)(["fish", "-c", script("down web:c")])).toMatch(/^web:coder\n/);
});

test("zsh accepts its script", async ({ skip }) => {
	skip(!hasShell("zsh"), "zsh is not installed");
	const { env } = await startFakeDaemon(DAEMON);
	const script =
		"autoload -U compinit; compinit -D; source <(reeve completion zsh); print $_comps[reeve]";
	expect(await createShell(env)(["zsh", "-f", "-c", script])).toBe("_reeve\n");
});

test("no daemon means no agents and no message, and an unknown shell is a usage error", async () => {
	const env = { REEVE_HOME: join(temporaryFolder(), "home") };
	expect(await runReeve(["complete-words", "--", "down", ""], { env })).toMatchObject({
		...{ code: 0, stdout: "", stderr: "" },
	});
	expect((await runReeve(["completion", "tcsh"], { env })).code).toBe(2);
});
