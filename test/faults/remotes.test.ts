/** Remotes over a real ssh: all commands work on them, and one that is frozen or gone affects nothing else. */

import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { RemoteJson } from "../../src/http/contract/remotes.js";
import { runReeve } from "../support/reeve.js";
import { startSshHost } from "../support/ssh-host.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const ECHO = `
const text = require("node:fs").readFileSync(0, "utf8");
const { request_id } = JSON.parse(text);
console.log(JSON.stringify({ request_id, status: "success", code: 0, result: process.env.WHERE }));
`;

/** A home with an agent that echoes what is typed, and one that answers requests with the name of its host. */
async function createHost(name: string, env: Readonly<Record<string, string>> = {}) {
	const home = createFleetHome(env);
	onTestFinished(() => home.close());
	const call = JSON.stringify([process.execPath, "-e", ECHO]);
	home.writeFleet(
		`cat: { command: [cat] }\ncall: { kind: call, command: ${call}, env: { WHERE: ${name} } }`,
	);
	const schedules =
		"    schedules:\n      hi: { cron: 0 3 * * *, send: { agent: cat, message: hi } }\n";
	appendFileSync(join(home.folder, "reeve.yaml"), schedules);
	await home.must("up");
	return home;
}

/** The `reeve` of another host, as ssh finds it there. */
function reeveOf({ folder, env }: FleetHome): string {
	const path = join(folder, "reeve");
	const [program, home] = [resolve("dist/cli/main.js"), env["REEVE_HOME"] ?? ""];
	writeFileSync(path, `#!/bin/sh\nREEVE_HOME=${home} exec ${process.execPath} ${program} "$@"\n`, {
		mode: 0o755,
	});
	return path;
}

async function connectHosts() {
	const ssh = await startSshHost();
	const env = { PATH: `${ssh.bin}:${process.env["PATH"]}` };
	const [here, box] = [await createHost("here", env), await createHost("box")];
	const added = await here.must("remote", "add", "box", "--ssh", "box", "--command", reeveOf(box));
	expect(added).toMatch(/^box: connected, version /);
	return { ssh, here, box };
}

const idsOf = (agents: readonly AgentJson[]) => agents.map(({ id }) => id);

async function remoteState(home: FleetHome): Promise<RemoteJson | undefined> {
	const all = JSON.parse(await home.must("remote", "ls", "--json")) as RemoteJson[];
	return all[0];
}

const unreachable = (home: FleetHome) => async () =>
	(await remoteState(home))?.state === "unreachable";
const reachable = (home: FleetHome) => async () => (await remoteState(home))?.state === "reachable";

test("agents of another host are listed, started, stopped, called and typed at through ssh", {
	timeout: 300_000,
}, async () => {
	const { here, box } = await connectHosts();
	expect(idsOf(await here.ps())).toEqual(["p:cat", "p:call", "box/p:cat", "box/p:call"]);
	const before = (await box.ps())[0]?.pid;
	expect((await here.ps())[2]?.pid).toBe(before);

	await here.must("send", "box/p:cat", "hello from here");
	await eventually(
		async () => (await here.must("screen", "box/p:cat")).includes("hello from here"),
		"the message is on the screen",
	);
	expect(await here.must("logs", "box/p:cat")).toContain("hello from here");
	expect(await here.must("screen", "p:cat")).not.toContain("hello from here");

	expect(await here.must("call", "box/p:call", "where")).toContain('"box"');
	expect(await here.must("call", "p:call", "where")).toContain('"here"');
	const tasks = JSON.parse(await here.must("tasks", "ls", "--json")) as { task_id: string }[];
	expect(tasks.map(({ task_id: id }) => id.startsWith("box/"))).toEqual([false, true]);
	expect(await here.must("tasks", "show", tasks[1]?.task_id ?? "")).toContain("box/p:call");

	expect(await here.must("restart", "box/p:cat")).toMatch(
		/box\/p:cat +stopped gracefully .* started/,
	);
	const after = (await box.ps())[0]?.pid;
	expect(after).not.toBe(before);
	expect(await here.must("down", "box/*")).toContain("box/p:cat");
	expect((await box.ps())[0]?.process).toBe("stopped");
	// `--all` and `*` are this host.
	expect((await here.ps())[0]?.process).toBe("running");
	await here.must("up", "box/p");
	expect((await box.ps())[0]?.process).toBe("running");
	expect(await here.must("explain", "box/p:cat")).toContain("box/p:cat");
	expect(await here.must("--host", "box", "events", "--type", "agent.started")).toContain("p:cat");
	const plan = join(here.folder, "plan.yaml");
	writeFileSync(plan, "version: 1\nname: there\ntasks:\n  a: { agent: box/p:call, action: x }\n");
	expect(await here.must("plan", "run", plan)).toContain("succeeded");

	expect(await here.must("search", "hello from", "box/p")).toContain("box/p:cat");
	expect(await here.must("schedule", "run", "box/p:hi")).toContain("box/p:hi: fired");
	expect(await here.must("--host", "box", "schedule", "ls")).toMatch(/^p:hi /m);
	expect((await here.reeve("usage", "box/p")).stderr).toContain("no usage since");

	// `ssh` would expand variables of this host in a path that the other host names.
	for (const socket of ["/tmp/${HOME}", "/tmp/%u", "/tmp/a:22"]) {
		const add = await here.reeve("remote", "add", "odd", "--ssh", "box", "--socket", socket);
		expect(add).toMatchObject({ code: 1, stderr: expect.stringContaining("without `%`") });
	}
	const loud = join(here.folder, "loud");
	writeFileSync(loud, "#!/bin/sh\nprintf 'login\\302\\2332Jscript\\033[2J\\n' >&2\nexit 1\n", {
		mode: 0o755,
	});
	const shown = await here.reeve("remote", "add", "odd", "--ssh", "box", "--command", loud);
	expect(shown.code).toBe(3);
	expect(shown.stderr).toContain("loginscript");
	// biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
	expect(shown.stderr).not.toMatch(/[\u001b\u009b]/);
	const refused = await here.reeve("--host", "box", "daemon", "stop");
	expect(refused).toMatchObject({ code: 2 });
	expect((await here.reeve("send", "bux/p:cat", "x")).code).toBe(4);
	expect((await here.reeve("remote", "add", "box", "--ssh", "box", "--socket", "/x")).code).toBe(5);
	await here.must("remote", "rm", "box");
	expect(idsOf(await here.ps())).toEqual(["p:cat", "p:call"]);
	expect((await box.ps())[0]?.process).toBe("running");
});

test("typing at a terminal of another host echoes each key once, in order", {
	timeout: 300_000,
}, async () => {
	const { here } = await connectHosts();
	const socketPath = join(here.env["REEVE_HOME"] ?? "", "reeve.sock");
	const local = await echoMs(createClient({ socketPath }));
	const remote = await echoMs(createClient({ socketPath, remote: "box" }));
	const ratio = (remote / local).toFixed(1);
	console.log(
		`echo of a key, median: ${local.toFixed(1)} ms here, ${remote.toFixed(1)} ms through ssh, ${ratio}x`,
	);
});

const KEYS = "the quick brown fox jumps over the lazy dog";

/** The median time from a key to its echo. */
async function echoMs(client: Client): Promise<number> {
	const size = { columns: 200, rows: 50, readOnly: false };
	const terminal = await client.terminal("p:cat", size);
	onTestFinished(() => terminal.terminate());
	let [shown, mayType] = ["", false];
	terminal.on("message", (data, isBinary) => {
		const text = Buffer.from(data).toString();
		if (isBinary) shown += text;
		else if (text.includes('"writer"')) mayType = true;
	});
	terminal.resume();
	await eventually(() => mayType, "the keyboard is free");
	// A screen of before arrives first.
	terminal.send(Buffer.from("ready\r"));
	await eventually(() => shown.endsWith("ready\r\nready\r\n"), "the first line is back");
	shown = "";
	const times: number[] = [];
	for (let at = 0; at < KEYS.length; at++) {
		const from = performance.now();
		terminal.send(Buffer.from(KEYS.charAt(at)));
		while (shown.length <= at) await nextTurn();
		times.push(performance.now() - from);
	}
	expect(shown).toBe(KEYS);
	return times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("a remote whose daemon is frozen, killed, or whose host is gone, is one row, and the rest is shown", {
	timeout: 300_000,
}, async () => {
	const { ssh, here, box } = await connectHosts();
	const pid = await box.daemonPid();
	process.kill(pid, "SIGSTOP");
	try {
		const frozen = await here.reeve("ps");
		expect(frozen.code).toBe(0);
		expect(frozen.stdout).toMatch(/^p:cat +running/m);
		expect(frozen.stdout).toMatch(/^box\/\* +unreachable .*box does not answer/m);
		await eventually(unreachable(here), "the frozen daemon is reported");
		const change = await here.reeve("restart", "box/p:cat");
		expect(change.code).not.toBe(0);
	} finally {
		process.kill(pid, "SIGCONT");
	}
	await eventually(reachable(here), "the daemon answers again");

	await box.killDaemon();
	await eventually(unreachable(here), "the killed daemon is reported");
	expect((await remoteState(here))?.reason).toContain("no daemon of Reeve");
	await box.must("daemon", "start");
	await eventually(reachable(here), "the next daemon is found");

	await ssh.stop();
	await eventually(unreachable(here), "the lost host is reported");
	const gone = await here.reeve("ps", "box/p");
	expect(gone.stdout).toMatch(/^box\/\* +unreachable .*last seen .* ago/m);
	expect((await here.reeve("send", "box/p:cat", "x")).code).toBe(3);
	for (const command of ["down", "search x", "usage", "schedule run"]) {
		const refused = await here.reeve(...command.split(" "), "box/p:cat");
		expect(refused.stderr).toContain("error: box does not answer");
		expect(refused.code).toBe(3);
	}
	await ssh.start();
	await here.must("remote", "connect", "box");
	expect(idsOf(await here.ps())).toContain("box/p:cat");
	const events = await here.must("events", "--type", "remote.");
	expect(events.match(/remote\.lost/g)?.length).toBe(3);
});

test("no ssh outlives the daemon that started it, however that dies", {
	timeout: 300_000,
}, async ({ skip }) => {
	skip(process.platform !== "linux", "it reads /proc");
	const { here } = await connectHosts();
	const folder = here.env["REEVE_HOME"] ?? "";
	expect(tunnelsOf(folder)).toHaveLength(1);
	await here.killDaemon();
	await eventually(() => tunnelsOf(folder).length === 0, "ssh has ended with its daemon");
	await here.must("daemon", "start");
	await eventually(reachable(here), "the next daemon connects again");
	expect(tunnelsOf(folder)).toHaveLength(1);
	await here.must("daemon", "stop");
	await eventually(() => tunnelsOf(folder).length === 0, "ssh has ended with its daemon");
});

test("a remote over the network needs a token of its daemon", { timeout: 300_000 }, async () => {
	const [here, box] = [await createHost("here"), await createHost("box")];
	await box.must("daemon", "restart", "--listen", "127.0.0.1:0");
	const { url } = JSON.parse(await box.must("daemon", "status", "--json")) as { url: string };
	const token = join(here.folder, "token");
	writeFileSync(token, "reeve_wrong");
	const add = (...more: string[]) => here.reeve("remote", "add", "box", "--url", url, ...more);
	expect((await add()).stderr).toContain("--token-file");
	const wrong = await add("--token-file", token);
	expect(wrong.code).toBe(1);
	expect(wrong.stdout).toContain("does not answer: the token is invalid");
	writeFileSync(token, await box.must("token", "show"));
	await here.must("remote", "connect", "box");
	expect(idsOf(await here.ps())).toContain("box/p:cat");
	// A token that reads can see other hosts and change nothing there.
	await here.must("daemon", "restart", "--listen", "127.0.0.1:0");
	await eventually(reachable(here), "connected again");
	const own = JSON.parse(await here.must("daemon", "status", "--json")) as { url: string };
	const reader = JSON.parse(await here.must("token", "create", "--scope", "read", "--json")) as {
		token: string;
	};
	const headers = { authorization: `Bearer ${reader.token}`, "content-type": "application/json" };
	const ask = (path: string, method = "GET") =>
		fetch(`${own.url}/remotes/box${path}`, {
			method,
			headers,
			...(method === "POST" && { body: "{}" }),
		});
	expect((await ask("/api/v1/agents")).status).toBe(200);
	expect((await ask("/api/v1/agents/p:cat/resume", "POST")).status).toBe(403);
	expect((await ask("/api/v1/tokens/default")).status).toBe(404);
	expect((await fetch(`${own.url}/remotes/box/health`)).status).toBe(401);
});

test("bad arguments are refused with a hint, before anything is connected", async () => {
	const env = { REEVE_HOME: "/nonexistent/reeve" };
	for (const args of [
		["Box", "--ssh", "box"],
		["box"],
		["box", "--ssh", "-oProxyCommand=x"],
		["box", "--ssh", "box", "--url", "https://box"],
		["box", "--url", "https://box"],
		["box", "--url", "https://box", "--token-file", "/nonexistent/token"],
	]) {
		const { code, stderr } = await runReeve(["remote", "add", ...args], { env });
		expect({ args, code }).toEqual({ args, code: 2 });
		expect(stderr).toContain("hint:");
	}
});

/** The pids of `ssh` processes with a tunnel into this home. */
function tunnelsOf(home: string): readonly string[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.filter((pid) => {
			try {
				const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
				return argv.some((each) => each.startsWith(`${home}/run/remotes/`));
			} catch {
				return false;
			}
		});
}
