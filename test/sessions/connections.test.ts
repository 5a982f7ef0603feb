import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { readConnections } from "../../src/host/connections.js";
import { readIdentity } from "../../src/host/process-identity.js";
import { shimPath } from "../../src/native/find-binary.js";

const RUN = `run-connections-${process.pid}`;
const cleanUp: (() => void)[] = [];

afterEach(() => {
	for (const each of cleanUp.splice(0)) each();
});

/** A program that connects to us, also with a tool of its own, and to itself. */
async function startAgent(port: number) {
	const source = `
		const { spawn } = require("node:child_process");
		const { connect, createServer } = require("node:net");
		const socket = connect(${port}, "127.0.0.1", () => socket.write("x".repeat(500)));
		socket.resume();
		const tool = spawn(process.execPath, ["-e", 'require("node:net").connect(${port}, "127.0.0.1")'], { detached: true });
		const server = createServer(() => console.log("connected")).listen(0, () => connect(server.address().port, "127.0.0.1"));
		process.on("SIGTERM", () => { process.kill(-tool.pid, "SIGKILL"); process.exit(); });`;
	const env = { ...process.env, REEVE_RUN_ID: RUN };
	const agent = spawn(process.execPath, ["-e", source], { env, detached: true });
	cleanUp.push(() => agent.kill("SIGTERM"));
	await once(agent.stdout, "data");
	const root = readIdentity(agent.pid ?? 0);
	if (root === null) throw new Error("the agent is not there");
	return root;
}

test.runIf(process.platform === "linux")(
	"the connections of a CLI report their traffic, without those of its tools and between its own processes",
	async () => {
		const peers: Socket[] = [];
		const server = createServer((socket) => peers.push(socket)).listen(0, "127.0.0.1");
		cleanUp.push(() => {
			for (const peer of peers) peer.destroy();
			server.close();
		});
		await once(server, "listening");
		const root = await startAgent((server.address() as { port: number }).port);
		await expect.poll(() => peers.length, { timeout: 10_000 }).toBe(2);
		const read = () => readConnections(RUN, root, shimPath);
		await expect.poll(async () => (await read())[0]?.sentBytes, { timeout: 10_000 }).toBe(501);
		const before = await read();
		expect(before).toHaveLength(1);
		for (const peer of peers) peer.write("y".repeat(120));
		const received = async () => {
			const [now] = await read();
			return [
				(now?.receivedBytes ?? 0) - (before[0]?.receivedBytes ?? 0),
				(now?.segments ?? 0) - (before[0]?.segments ?? 0),
			];
		};
		await expect.poll(received, { timeout: 10_000 }).toEqual([120, 1]);
	},
);

test("without the program there are no counters", async () => {
	const root = readIdentity(process.pid);
	if (root === null) throw new Error("no identity");
	expect(await readConnections(RUN, root, () => "/nonexistent")).toEqual([]);
});
