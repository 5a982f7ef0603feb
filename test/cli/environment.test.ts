/** The environment of agents, from the user's shell to the process. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import type { AgentDetailJson } from "../../src/http/contract/agents.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { type Ran, runReeve } from "../support/reeve.js";

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close());

/** Runs `reeve` in a shell with these variables. */
async function inShell(
	variables: Readonly<Record<string, string>>,
	...args: string[]
): Promise<Ran> {
	const ran = await runReeve(args, { cwd: home.folder, env: { ...home.env, ...variables } });
	if (ran.code !== 0) throw new Error(`reeve ${args.join(" ")}: ${ran.stdout}${ran.stderr}`);
	return ran;
}

/** An agent that writes its environment to a file and keeps running. */
const dumping = (name: string, more = "") =>
	`${name}: { command: [sh, -c, "env > ${name}.env.new; mv ${name}.env.new ${name}.env; exec sleep 1000"]${more} }`;

async function environmentOf(name: string): Promise<Record<string, string>> {
	const file = join(home.folder, `${name}.env`);
	let text = "";
	await eventually(() => {
		try {
			text = readFileSync(file, "utf8");
			return text !== "";
		} catch {
			return false;
		}
	}, `${name} has written its environment`);
	const lines = text.split("\n").filter((line) => line.includes("="));
	return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

const SHELL = {
	...{ LEFTOVER: "of-the-shell", npm_config_x: "1", NOTIFY_SOCKET: "/run/n", TERM: "dumb" },
	...{ LANG: "C.UTF-8", SSH_AUTH_SOCK: "/tmp/agent.sock" },
};

test("an agent gets a small base, not the shell that started the daemon", async () => {
	home.writeFleet(dumping("a"));
	await inShell(SHELL, "up");
	const env = await environmentOf("a");
	expect(env).toMatchObject({
		HOME: home.folder,
		LANG: "C.UTF-8",
		SSH_AUTH_SOCK: "/tmp/agent.sock",
	});
	for (const name of ["LEFTOVER", "npm_config_x", "NOTIFY_SOCKET", "REEVE_HOME"]) {
		expect(env).not.toHaveProperty(name);
	}
	// The backend's terminal, not the one in which the daemon was started.
	expect(env["TERM"]).not.toBe("dumb");
});

test("pass_env passes variables of the caller's shell, also after the daemon has died", async () => {
	home.writeFleet(dumping("a", ", pass_env: [API_KEY], on_clean_exit: restart"));
	await home.must("daemon", "start");
	await inShell({ API_KEY: "first-value" }, "up");
	expect((await environmentOf("a"))["API_KEY"]).toBe("first-value");
	await home.killDaemon();
	await home.must("daemon", "start");
	writeFileSync(join(home.folder, "a.env"), "");
	await home.must("restart", "p:a");
	expect((await environmentOf("a"))["API_KEY"]).toBe("first-value");
});

test("reload takes a new value from the shell, and names the variable only", async () => {
	home.writeFleet(dumping("a", ", pass_env: [API_KEY]"));
	await inShell({ API_KEY: "first-value" }, "up");
	await environmentOf("a");
	writeFileSync(join(home.folder, "a.env"), "");
	const { stdout, stderr } = await inShell({ API_KEY: "second-value" }, "reload", "--json");
	expect(JSON.parse(stdout)).toMatchObject([
		{ id: "p:a", change: "change", keys: ["env.API_KEY"] },
	]);
	expect(stdout + stderr).not.toContain("second-value");
	expect((await environmentOf("a"))["API_KEY"]).toBe("second-value");
});

test("a variable that the shell does not set keeps its earlier value, and reeve reports it", async () => {
	home.writeFleet(dumping("a", ", pass_env: [API_KEY, OTHER_KEY]"));
	await inShell({ API_KEY: "first-value" }, "up");
	await environmentOf("a");
	const up = await home.reeve("up");
	expect(up.code).toBe(0);
	expect(up.stderr).toContain("API_KEY is not set in this shell: p:a keeps the value");
	expect(up.stderr).toContain("OTHER_KEY is not set in this shell: p:a runs without it");
	const { stdout } = await home.reeve("reload", "--json");
	expect(JSON.parse(stdout)).toMatchObject([{ id: "p:a", change: "keep" }]);
});

test("a program that sends the fleet without a shell changes no passed value", async () => {
	home.writeFleet(dumping("a", ", pass_env: [API_KEY]"));
	await inShell({ API_KEY: "first-value" }, "up");
	await environmentOf("a");
	writeFileSync(join(home.folder, "a.env"), "");
	await home.must("down", "p:a");
	const client = createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") });
	await client.call("POST /api/v1/agents/:scope/up", { place: "p:a" });
	expect((await environmentOf("a"))["API_KEY"]).toBe("first-value");
});

test("calls, workers and ready commands get the same environment", async () => {
	const answer = `node -e 'process.stdin.on("data",d=>{const r=JSON.parse(d);console.log(JSON.stringify({request_id:r.request_id,status:"success",code:0,result:{key:process.env.API_KEY,left:process.env.LEFTOVER??null}}))})'`;
	writeFileSync(join(home.folder, "answer.sh"), `${answer}\n`);
	home.writeFleet(`tool: { kind: call, command: [sh, answer.sh], pass_env: [API_KEY] }
desk: { kind: worker, command: [sh, answer.sh], pass_env: [API_KEY] }
a: { command: [sleep, "1000"], pass_env: [API_KEY], ready: { command: [sh, -c, 'test "$API_KEY" = shell-value && test -z "$LEFTOVER"'] } }`);
	await inShell({ ...SHELL, API_KEY: "shell-value" }, "up");
	for (const id of ["p:tool", "p:desk"]) {
		const { result } = JSON.parse(await home.must("call", id, "show", "--json"));
		expect(result).toEqual({ key: "shell-value", left: null });
	}
	const isReady = async () => (await home.ps()).find(({ id }) => id === "p:a")?.ready === true;
	await eventually(isReady, "the ready command sees the agent's environment");
});

test("explain shows the names and sources of all variables and no value", async () => {
	writeFileSync(
		join(home.folder, ".env"),
		["FILE_KEY=file-value", "MY-VAR=1", "REEVE_X=1", 'QUOTED="word"'].join("\n"),
	);
	home.writeFleet(
		dumping(
			"a",
			", pass_env: [API_KEY, UNSET_KEY], env_file: .env, env: { DEBUG: full-debug, TZ: null }",
		),
	);
	const up = await inShell({ API_KEY: "shell-value", TZ: "UTC" }, "up");
	for (const line of [2, 3, 4]) expect(up.stderr).toContain(`.env:${line}:`);
	const { stdout } = await home.reeve("explain", "p:a");
	expect(stdout).toMatch(/pass_env +API_KEY, UNSET_KEY \(not set\)/);
	expect(stdout).toMatch(/env_file +FILE_KEY, QUOTED/);
	expect(stdout).toMatch(/env +DEBUG/);
	expect(stdout).toMatch(/base +HOME, PATH/);
	expect(stdout).toContain(".env:2:1");
	const json = await home.must("explain", "p:a", "--json");
	const { environment } = JSON.parse(json) as AgentDetailJson;
	const sourceOf = (name: string) => environment.variables.find((each) => each.name === name);
	expect(sourceOf("API_KEY")).toEqual({ name: "API_KEY", source: "pass_env", set: true });
	expect(sourceOf("UNSET_KEY")).toEqual({ name: "UNSET_KEY", source: "pass_env", set: false });
	expect(sourceOf("TZ")).toBeUndefined();
	expect(environment.warnings).toHaveLength(3);
	for (const value of ["file-value", "shell-value", "full-debug"]) {
		expect(stdout + json).not.toContain(value);
	}
});
