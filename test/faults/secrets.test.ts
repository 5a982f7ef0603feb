/**
 * Secrets that were handed to Reeve are found nowhere but where they must be (A5): each is a word that
 * stands nowhere else, and is looked for in everything that Reeve writes, says and runs.
 */

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const SECRETS = {
	env: "canary-env-7c1f",
	envFile: "canary-env-file-90ab",
	payload: "canary-payload-55d2",
	header: "canary-header-e3f8",
} as const;
type Secret = keyof typeof SECRETS;

let fleet: FleetHome | null = null;
afterEach(() => fleet?.close());

const FLEET = `
works: { command: [sleep, "1000"], env: { KEY: ${SECRETS.env} }, env_file: .env }
crashes: { command: [sh, -c, "exit 3"], env: { KEY: ${SECRETS.env} }, env_file: .env }
missing: { command: [no-such-program], env: { KEY: ${SECRETS.env} }, env_file: .env }
tool: { kind: call, command: [sh, -c, "exit 4"], env: { KEY: ${SECRETS.env} }, env_file: .env, retry: { max_attempts: 1 } }`;

/** Sends the header's secret in every place where a secret may stand. */
function sendHeader(socketPath: string): Promise<void> {
	const headers = {
		authorization: `Bearer ${SECRETS.header}`,
		cookie: `reeve_session_1=${SECRETS.header}`,
		"idempotency-key": SECRETS.header,
		"x-api-key": SECRETS.header,
	};
	return new Promise((resolve, reject) => {
		const sent = request({ socketPath, path: "/api/v1/agents/p:nobody", headers }, (response) => {
			response.resume();
			response.on("end", resolve);
		});
		sent.on("error", reject);
		sent.end();
	});
}

/** Which secrets stand in which file of the home, besides the vault, which is there to hold them. */
function searchFiles(folder: string): string[] {
	const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
	return names.flatMap((name) => {
		const path = join(folder, name);
		if (name === "env.json" || !statSync(path, { throwIfNoEntry: false })?.isFile()) return [];
		return found(`file ${name}`, readFileSync(path, "latin1"));
	});
}

function searchProcesses(): string[] {
	if (!existsSync("/proc")) return [];
	const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
	return pids.flatMap((pid) => {
		try {
			return found("a command line", readFileSync(`/proc/${pid}/cmdline`, "latin1"));
		} catch {
			return [];
		}
	});
}

function found(where: string, text: string): string[] {
	const names = Object.keys(SECRETS) as Secret[];
	return names.filter((name) => text.includes(SECRETS[name])).map((name) => `${name} in ${where}`);
}

test("a secret is found in no log, event, answer, command line or file", {
	timeout: 180_000,
}, async () => {
	fleet = createFleetHome();
	const { folder, env, reeve, must } = fleet;
	const home = env["REEVE_HOME"] ?? "";
	const socketPath = join(home, "reeve.sock");
	writeFileSync(join(folder, ".env"), `FILE_KEY=${SECRETS.envFile}\n`);
	fleet.writeFleet(FLEET.trim());
	await reeve("up", "--all");
	const client = createClient({ socketPath });
	const payload = { token: SECRETS.payload };
	await expect(
		client.call("POST /api/v1/tasks", {
			body: { agent: "p:tool", action: "use", payload },
			query: { wait: "60s" },
		}),
	).rejects.toThrow();
	await sendHeader(socketPath);
	const exits = async () =>
		(await must("events", "--json", "--after", "0")).includes("agent.exited");
	await eventually(exits, "an agent has crashed");

	const said = [
		["events", await must("events", "--json", "--after", "0")],
		["ps", await must("ps", "--json")],
		["status", await must("daemon", "status", "--json")],
		["explain", await must("explain", "p:crashes", "--json")],
		["detail", JSON.stringify(await client.call("GET /api/v1/agents/:id", { place: "p:works" }))],
		["tasks", JSON.stringify(await client.call("GET /api/v1/tasks"))],
		["metrics", await client.metrics()],
	] as const;
	const places = [
		...said.flatMap(([where, text]) => found(where, text)),
		...searchProcesses(),
		...searchFiles(home),
	];
	// A dead letter keeps its input (T8), so the database holds the payload; nothing else does.
	const kept = /^payload in file reeve\.db(-wal)?$/;
	expect(places.filter((place) => !kept.test(place))).toEqual([]);
	// So that it is known that what is there is found.
	expect(places.some((place) => kept.test(place))).toBe(true);
	expect(readFileSync(join(home, "env.json"), "utf8")).toContain(SECRETS.env);
	expect(statSync(join(home, "env.json")).mode & 0o777).toBe(0o600);
});
