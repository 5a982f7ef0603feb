import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { readIdentity } from "./process-identity.js";
import { readToolWork } from "./tool-work.js";

const RUN = `run-${process.pid}`;
const children: import("node:child_process").ChildProcess[] = [];

afterEach(() => {
	for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** An agent that starts a helper in its own group, and with `tool` another one in a separate group. */
async function startAgent(program: string) {
	const source = `
		const { spawn } = require("node:child_process");
		const helper = spawn("sleep", ["1000"]);
		const tool = spawn("sh", ["-c", ${JSON.stringify(program)}], { detached: true });
		console.log("started");
		process.on("SIGTERM", () => { helper.kill(); process.kill(-tool.pid, "SIGKILL"); process.exit(); });`;
	const env = { ...process.env, REEVE_RUN_ID: RUN };
	const agent = spawn(process.execPath, ["-e", source], { env, detached: true });
	children.push(agent);
	await once(agent.stdout, "data");
	const root = readIdentity(agent.pid ?? 0);
	if (root === null) throw new Error("the agent is not there");
	return { root, end: () => agent.kill("SIGTERM") && once(agent, "exit") };
}

test("the work of tools is their CPU time, without the agent and its helpers", async () => {
	const { root, end } = await startAgent("while :; do :; done");
	const before = await readToolWork(RUN, root);
	expect(before.processes.split(",")).toHaveLength(1);
	let now = before;
	while (now.cpuMs < before.cpuMs + 30) now = await readToolWork(RUN, root);
	expect(now.processes).toBe(before.processes);
	await end();
});

test("a tool that waits uses nothing", async () => {
	const { root, end } = await startAgent("exec sleep 1000");
	const { processes, cpuMs } = await readToolWork(RUN, root);
	expect(processes).not.toBe("");
	expect(cpuMs).toBeLessThan(1_000);
	await end();
});
