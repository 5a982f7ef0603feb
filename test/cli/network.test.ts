/** The API over the network, from the command line: a real daemon, asked as any program would ask it. */

import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import type { DaemonJson } from "../../src/http/contract/daemon.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";

let fleet: FleetHome | null = null;

afterEach(async () => {
	await fleet?.close();
	fleet = null;
}, 120_000);

function newHome(): FleetHome {
	fleet = createFleetHome();
	return fleet;
}

const statusOf = async ({ must }: FleetHome) =>
	JSON.parse(await must("daemon", "status", "--json")) as DaemonJson;

async function listening(home: FleetHome): Promise<string> {
	await eventually(async () => (await statusOf(home)).url !== null, "the daemon listens");
	return (await statusOf(home)).url ?? "";
}

describe("a daemon that listens on the network", { timeout: 120_000 }, () => {
	test("is asked with a token, and keeps its secrets to its owner", async () => {
		const home = newHome();
		await home.must("daemon", "start", "--listen", "127.0.0.1:0");
		const url = await listening(home);
		const token = (await home.must("token", "show")).trim();
		const client = createClient({ url, token });
		expect(await client.call("GET /api/v1/agents")).toMatchObject({ agents: [] });
		await expect(createClient({ url }).call("GET /api/v1/agents")).rejects.toMatchObject({
			code: "unauthorized",
		});
		const modes = ["reeve.sock", "token", "tokens.json", "daemon.json", "reeve.db"].map(
			(name) => statSync(join(home.env["REEVE_HOME"] ?? "", name)).mode & 0o777,
		);
		expect(modes).toEqual([0o600, 0o600, 0o600, 0o600, 0o600]);
		const next = (await home.must("token", "rotate")).trim();
		await expect(client.call("GET /api/v1/agents")).rejects.toMatchObject({ code: "unauthorized" });
		await createClient({ url, token: next }).call("GET /api/v1/agents");
	});

	test("creates tokens with a scope and an expiry, and revokes them", async () => {
		const home = newHome();
		await home.must("daemon", "start", "--listen", "127.0.0.1:0");
		const url = await listening(home);
		const create = ["token", "create", "--scope", "read", "--expires", "30d", "--json"];
		const { token, id, scope } = JSON.parse(await home.must(...create));
		expect(scope).toBe("read");
		const client = createClient({ url, token });
		await client.call("GET /api/v1/daemon");
		const stop = client.call("POST /api/v1/daemon/stop", { body: { all: true } });
		await expect(stop).rejects.toMatchObject({ code: "forbidden" });
		const list = JSON.parse(await home.must("token", "ls", "--json")) as { id: string }[];
		expect(list.map((each) => each.id)).toContain(id);
		await home.must("token", "revoke", id);
		await expect(client.call("GET /api/v1/daemon")).rejects.toMatchObject({ code: "unauthorized" });
		expect((await home.reeve("token", "revoke", id)).code).toBe(4);
		expect(await home.must("token", "link")).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?code=/);
	});

	test("listens there again after a restart, until it is turned off", async () => {
		const home = newHome();
		await home.must("daemon", "start", "--listen", "127.0.0.1:0");
		await listening(home);
		const token = await home.must("token", "show");
		await home.must("daemon", "restart");
		await listening(home);
		expect(await home.must("token", "show")).toBe(token);
		await home.must("daemon", "restart", "--no-listen");
		expect(await statusOf(home)).toMatchObject({ listen: null, url: null, ready: true });
		expect((await home.reeve("token", "link")).code).toBe(5);
	});

	test("also starts when the port is in use, reports it, and listens once it is free", async () => {
		const home = newHome();
		const other = createServer().listen(0, "127.0.0.1");
		await once(other, "listening");
		const { port } = other.address() as AddressInfo;
		await home.must("daemon", "start", "--listen", `127.0.0.1:${port}`);
		const problem = async () => (await statusOf(home)).problems.join();
		await eventually(
			async () => (await problem()).includes("EADDRINUSE"),
			"the problem is reported",
		);
		expect((await statusOf(home)).ready).toBe(true);
		await new Promise((resolve) => other.close(resolve));
		expect(await listening(home)).toBe(`http://127.0.0.1:${port}`);
		expect(await problem()).toBe("");
	});

	test("speaks TLS with a certificate and its key", async () => {
		const home = newHome();
		const [cert, key] = ["cert", "key"].map((name) => resolve(`test/fixtures/tls/${name}.pem`));
		const tls = ["--tls-cert", cert ?? "", "--tls-key", key ?? ""];
		await home.must("daemon", "start", "--listen", "127.0.0.1:0", ...tls);
		const url = await listening(home);
		expect(url).toMatch(/^https:/);
		const token = (await home.must("token", "show")).trim();
		const ca = readFileSync(cert ?? "", "utf8");
		await createClient({ url, token, ca }).call("GET /api/v1/agents");
		await expect(createClient({ url, token }).call("GET /api/v1/agents")).rejects.toThrow(
			/self-signed/,
		);
	});

	test("needs a certificate to be reached from other hosts", async () => {
		const home = newHome();
		const refused = await home.reeve("daemon", "start", "--listen", "0.0.0.0:0");
		expect(refused.code).toBe(2);
		expect(refused.stderr).toContain("needs a certificate");
		const half = ["daemon", "start", "--listen", "0.0.0.0:0", "--tls-cert", "c.pem"];
		expect((await home.reeve(...half)).code).toBe(2);
		// A manual edit of the file has the same effect.
		await home.must("daemon", "start");
		writeFileSync(join(home.env["REEVE_HOME"] ?? "", "daemon.json"), '{"listen":"0.0.0.0:0"}');
		await home.must("daemon", "restart");
		await eventually(async () => (await statusOf(home)).problems.length > 0, "it is reported");
		expect(await statusOf(home)).toMatchObject({ listen: null, url: null });
	});
});

test("a daemon with notification routes sends notifications", {
	timeout: 120_000,
}, async () => {
	const home = newHome();
	const path = join(home.folder, "notified");
	const write = `require("fs").appendFileSync(process.argv[1], require("fs").readFileSync(0) + "\\n")`;
	const argv = [process.execPath, "-e", write, path];
	await home.must("daemon", "start");
	const settings = { notify: [{ name: "me", type: "command", argv, kinds: ["halted"] }] };
	writeFileSync(join(home.env["REEVE_HOME"] ?? "", "daemon.json"), JSON.stringify(settings));
	// Changing the address does not affect the routes.
	await home.must("daemon", "restart", "--listen", "127.0.0.1:0");
	home.writeFleet("broken: { command: [no-such-program] }");
	await home.reeve("up", "--all");
	await eventually(() => existsSync(path), "the notification is sent");
	const [line = ""] = readFileSync(path, "utf8").split("\n");
	expect(JSON.parse(line)).toMatchObject({ kind: "halted", agent: "p:broken" });
});

test("invalid settings are reported by the command that starts the daemon, and in its log", {
	timeout: 120_000,
}, async () => {
	const home = newHome();
	const place = home.env["REEVE_HOME"] ?? "";
	mkdirSync(place, { recursive: true, mode: 0o700 });
	const settings = { notify: [{ name: "me", type: "comand", kinds: ["haltd"] }] };
	writeFileSync(join(place, "daemon.json"), JSON.stringify(settings));
	home.writeFleet('sleeper: { command: [sleep, "600"] }');
	const { stderr } = await home.reeve("up", "--all");
	expect(stderr).toContain("notify[0].type");
	expect(stderr).toContain("notify[0].kinds[0]");
	expect(readFileSync(join(place, "daemon.log"), "utf8")).toContain("notify[0].kinds[0]");
});
