/**
 * Secrets appear only where they must (A5): each is a unique word, and the test searches for it in everything that
 * Reeve writes, prints and runs.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const SECRETS = {
	env: "canary-env-7c1f",
	envFile: "canary-env-file-90ab",
	passed: "canary-passed-31fe",
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

/** Sends the header's secret in every place that may contain one. */
function sendHeader(socketPath: string): Promise<void> {
	const headers = {
		authorization: `Bearer ${SECRETS.header}`,
		cookie: `reeve_session_1=${SECRETS.header}`,
		"idempotency-key": SECRETS.header,
		"x-api-key": SECRETS.header,
	};
	return new Promise((resolve, reject) => {
		const sent = request({ socketPath, path: "/api/v1/agents/p:missing", headers }, (response) => {
			response.resume();
			response.on("end", resolve);
		});
		sent.on("error", reject);
		sent.end();
	});
}

/** Which secrets are in which file of the home, besides the vault, which stores them. */
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

/**
 * Agents that repeat the values they were given in every text that Reeve reads from them: their last output, an error,
 * stderr, an exit message, a screen.
 */
const REPEATING = `
talks: { adapter: leaky, env_file: .env, env: { KEY: ${SECRETS.env} }, pass_env: [PASSED_KEY], on_clean_exit: stop, crash_policy: { transient_delay: 100ms, flapping_delay: 100ms } }
tool: { kind: call, command: [sh, fails.sh], env_file: .env, env: { KEY: ${SECRETS.env} }, pass_env: [PASSED_KEY], retry: { max_attempts: 2, initial_backoff: 10ms } }
desk: { kind: worker, command: [sh, fails.sh], env_file: .env, env: { KEY: ${SECRETS.env} }, pass_env: [PASSED_KEY], retry: { max_attempts: 1 } }
sick: { command: [sh, -c, "trap '' TERM; while :; do sleep 1; done"], env_file: .env, env: { KEY: ${SECRETS.env} }, pass_env: [PASSED_KEY], drain: { timeout: 2s }, health: { command: [sh, -c, 'echo "no login: $FILE_KEY $KEY $PASSED_KEY"; exit 1'], every: 1s, failures: 1, action: restart } }`;

const LEAKY = `adapters:
  leaky:
    command: [sh, -c, 'echo "401 unauthorized: $FILE_KEY $KEY $PASSED_KEY"; exit 7']
    exits: { texts: [{ match: "401 .*", cause: auth }] }
`;

const FAILS = `read line
id=$(printf '%s' "$line" | sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/')
echo "stderr: $FILE_KEY $KEY $PASSED_KEY" >&2
printf '{"request_id":"%s","status":"error","code":500,"error":{"message":"failed with %s %s %s","detail":"%s"}}\\n' "$id" "$FILE_KEY" "$KEY" "$PASSED_KEY" "$PASSED_KEY"
`;

test("A10: a secret that an agent repeats is stored and sent nowhere but in its own log", {
	timeout: 180_000,
}, async () => {
	fleet = createFleetHome({ PASSED_KEY: SECRETS.passed });
	const { folder, env, reeve, must } = fleet;
	const home = env["REEVE_HOME"] ?? "";
	mkdirSync(home, { mode: 0o700 });
	writeFileSync(join(folder, ".env"), `FILE_KEY=${SECRETS.envFile}\n`);
	writeFileSync(join(folder, "fails.sh"), FAILS);
	const notices = join(folder, "notices");
	const argv = ["sh", "-c", `cat >> ${notices}; echo >> ${notices}`];
	const notify = [{ type: "command", name: "all", argv }];
	writeFileSync(join(home, "daemon.json"), JSON.stringify({ notify }));
	fleet.writeFleet(REPEATING.trim());
	const file = join(folder, "reeve.yaml");
	writeFileSync(file, readFileSync(file, "utf8").replace("projects:", `${LEAKY}projects:`));
	await reeve("up");
	const called: string[] = [];
	for (const agent of ["p:tool", "p:desk"]) {
		const { stdout, stderr } = await reeve("call", agent, "go", "--json");
		called.push(stdout, stderr, (await reeve("call", agent, "go")).stderr);
	}
	const halted = async () => (await fleet?.ps())?.some(({ policy }) => policy === "halted");
	await eventually(async () => (await halted()) === true, "the agent is halted");
	await eventually(() => existsSync(notices), "a notification was sent");
	const restarted = async () => (await fleet?.ps())?.some(({ restarts }) => restarts > 0);
	await eventually(async () => (await restarted()) === true, "the unhealthy agent is restarted");
	// The next daemon has learned nothing from starts of its own.
	await fleet.killDaemon();
	await must("daemon", "start");
	called.push((await reeve("call", "p:tool", "go", "--json")).stdout);
	const client = createClient({ socketPath: join(home, "reeve.sock") });
	const question = { question: `may I use ${SECRETS.env}?` };
	const ask = (wait: string) =>
		client.call("POST /api/v1/agents/:id/ask", {
			place: "p:sick",
			query: { wait },
			body: question,
		});
	expect(await ask("0s")).toEqual({ answer: null });
	const said = [
		[
			"questions",
			(await must("reply")) + JSON.stringify(await client.call("GET /api/v1/questions")),
		],
		...called.map((text) => ["call", text] as const),
		["events", await must("events", "--json", "--after", "0")],
		["ps", (await must("ps")) + (await must("ps", "--json"))],
		["health", (await must("explain", "p:sick")) + (await must("explain", "p:sick", "--json"))],
		["explain", (await must("explain", "p:talks")) + (await must("explain", "p:talks", "--json"))],
		["tasks", JSON.stringify(await client.call("GET /api/v1/tasks"))],
		["dead letters", await must("dead-letters", "ls", "--json")],
		["notices", readFileSync(notices, "utf8")],
		["status", await must("daemon", "status", "--json")],
	] as const;
	const places = [
		...said.flatMap(([where, text]) => found(where, text)),
		...searchProcesses(),
		...searchFiles(home).filter((place) => !place.includes("file logs/")),
	];
	expect(places).toEqual([]);
	// The answer of the operator is for the agent, as it is.
	const answer = ask("60s");
	await must("reply", "p:sick", `use ${SECRETS.envFile}`);
	expect(await answer).toEqual({ answer: `use ${SECRETS.envFile}` });
	// Proves that the agents did repeat them.
	expect(searchFiles(home).some((place) => place.includes("file logs/p/talks"))).toBe(true);
	const texts = said.map(([, text]) => text).join("\n");
	expect(texts).toContain("[redacted PASSED_KEY]");
	expect(texts).toContain("[redacted FILE_KEY]");
});

test("A10: a secret that was replaced in the env file while its agent runs is still redacted by the next daemon", {
	timeout: 120_000,
}, async () => {
	fleet = createFleetHome();
	const { folder, env, must } = fleet;
	writeFileSync(join(folder, ".env"), `FILE_KEY=${SECRETS.envFile}\n`);
	const script = `while [ ! -e ${folder}/go ]; do sleep 0.1; done; echo "login refused: $FILE_KEY"; exit 7`;
	const keys = "env_file: .env, crash_policy: { on_failure: stop }";
	fleet.writeFleet(`late: { command: [sh, -c, '${script}'], ${keys} }`);
	await must("up");
	writeFileSync(join(folder, ".env"), "FILE_KEY=canary-replaced-77aa\n");
	await fleet.killDaemon();
	await must("daemon", "start");
	writeFileSync(join(folder, "go"), "");
	const stopped = async () => (await fleet?.ps())?.every(({ process }) => process === "stopped");
	await eventually(async () => (await stopped()) === true, "the agent has failed");
	const explained = await must("explain", "p:late");
	expect(explained).toContain("login refused: [redacted FILE_KEY]");
	const events = await must("events", "--json", "--after", "0");
	expect(found("the output", events + explained)).toEqual([]);
	const places = searchFiles(env["REEVE_HOME"] ?? "").filter((place) => !place.includes("logs/"));
	expect(places).toEqual([]);
});

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
	// Proves that the search works.
	expect(places.some((place) => kept.test(place))).toBe(true);
	expect(readFileSync(join(home, "env.json"), "utf8")).toContain(SECRETS.env);
	expect(statSync(join(home, "env.json")).mode & 0o777).toBe(0o600);
});
