/**
 * opencode installs an npm package before it loads a plugin. npm itself, with the settings that the adapter gives it,
 * must stop retrying soon when the network is gone. `test/real/offline-start.real.ts` tests the same with opencode.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { adapterOf } from "../../src/sessions/adapters.js";

/** npm's own settings retry for 70 s and wait 5 minutes for a response: both exceed the time of the test. */
const WITHIN_MS = 60_000;

/** Runs npm against a registry that treats each connection like this, and counts the connections. */
async function install(treat: (socket: Socket) => void): Promise<number> {
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket.on("error", () => {}));
		treat(socket);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const folder = mkdtempSync(join(tmpdir(), "reeve-offline-"));
	onTestFinished(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
		rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
	});
	const { env: all } = adapterOf({ adapter: "opencode", profile: null }).profile;
	const ours = Object.entries(all).filter(([name]) => name.startsWith("npm_config_"));
	const env = { PATH: process.env["PATH"] ?? "", HOME: folder, ...Object.fromEntries(ours) };
	const { port } = server.address() as AddressInfo;
	const args = [
		...["install", "--no-audit", "--no-fund", "--no-update-notifier"],
		...[`--registry=http://127.0.0.1:${port}/`, "@opencode-ai/plugin"],
	];
	const options = { cwd: folder, env, timeout: WITHIN_MS, killSignal: "SIGKILL" } as const;
	const failed = await new Promise<{ code?: unknown; signal?: unknown } | null>((resolve) => {
		execFile("npm", args, options, resolve);
	});
	expect(failed).toMatchObject({ code: 1, signal: null });
	return sockets.size;
}

test.concurrent.each([
	["drops connections", (socket: Socket) => socket.destroy()],
	["gives no response", () => {}],
])(
	"npm tries once when the network %s, so opencode starts quickly",
	{
		timeout: 2 * WITHIN_MS,
	},
	async (_, treat) => {
		expect(await install(treat)).toBe(1);
	},
);
