/**
 * Every route, called through the typed client and answered according to the contract. A route that is not called here
 * fails the last test.
 */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CallOptions } from "../../src/client/client.js";
import { fleetToJson } from "../../src/config/spec-schema.js";
import { type JsonRouteName, ROUTES, type RouteName } from "../../src/http/contract/routes.js";
import { eventually } from "../faults/fleet-home.js";
import { createMemoryCluster, HOST_REPORT } from "../support/memory-cluster.js";
import { type ApiWorld, createApiWorld, FLEET } from "./api-world.js";

const asked = new Set<string>();

/** Sends a request and checks the response against the contract; unknown keys are errors. */
async function ask<Name extends JsonRouteName>(
	{ client }: ApiWorld,
	name: Name,
	options: CallOptions<Name> = {},
) {
	const reply = await client.call(name, options);
	const { reply: schema } = ROUTES[name];
	expect(schema.parse(reply)).toEqual(reply);
	asked.add(name);
	return reply;
}

const noted = (name: RouteName) => void asked.add(name);

describe("through the typed client", () => {
	test("the daemon reports that it is alive and ready, and its services", async () => {
		const api = await createApiWorld();
		expect(await ask(api, "GET /health")).toEqual({ status: "ok" });
		expect(await ask(api, "GET /ready")).toEqual({ ready: true, problems: [] });
		expect((await ask(api, "GET /api/v1/daemon")).services).toHaveLength(1);
		expect(await ask(api, "POST /api/v1/daemon/reload")).toEqual({
			...{ changed: true, keys: ["listen"], problem: null },
		});
		expect(await ask(api, "POST /api/v1/notify/test", { body: { route: "phone" } })).toEqual({
			routes: [{ name: "phone", type: "ntfy", ok: true, reason: null }],
		});
		expect(await ask(api, "POST /api/v1/daemon/stop", { body: { all: true } })).toMatchObject({
			stopped: [{ id: "p:web" }, { id: "p:db", outcome: "already_stopped" }],
		});
		expect(api.ends.count).toBe(1);
	});

	test("every configured agent is listed and can be read", async () => {
		const api = await createApiWorld();
		const { agents } = await ask(api, "GET /api/v1/agents");
		expect(agents.map(({ id, desired }) => [id, desired])).toEqual([
			["p:web", "up"],
			["p:db", "down"],
			["p:tool", "up"],
		]);
		const detail = await ask(api, "GET /api/v1/agents/:id", { place: "p:web" });
		expect(detail).toMatchObject({ id: "p:web", exits: [], depends_on: [] });
	});

	test("an agent is stopped, restarted, resumed, typed into and read", async () => {
		const api = await createApiWorld();
		const down = await ask(api, "POST /api/v1/agents/:scope/down", { place: "p", body: {} });
		expect(down.agents.map(({ outcome }) => outcome)).toEqual(["graceful", "already_stopped"]);
		await ask(api, "POST /api/v1/agents/:scope/restart", { place: "p:web", body: { fresh: true } });
		await api.world.settle();
		const body = { text: "hello", submit: true };
		const { bytes } = await ask(api, "POST /api/v1/agents/:id/send", { place: "p:web", body });
		expect(bytes).toBe(5);
		await ask(api, "GET /api/v1/agents/:id/screen", { place: "p:web" });
		const { from } = await ask(api, "POST /api/v1/agents/:id/resume", { place: "p:web" });
		expect(from).toBe("healthy");
	});

	test("an agent that exited cleanly gets an answer", async () => {
		const api = await createApiWorld();
		api.world.backend.script("p:web", { livesMs: 10, code: 0 });
		await ask(api, "POST /api/v1/agents/:scope/restart", { place: "p:web", body: {} });
		await api.world.pass(1_000);
		const answer = { place: "p:web", body: { answer: "stop" as const } };
		const { outcome } = await ask(api, "POST /api/v1/agents/:id/answer", answer);
		expect(outcome).toBe("stopped");
	});

	test("agents that are known are brought up without their fleet file", async () => {
		const api = await createApiWorld();
		const { agents } = await ask(api, "POST /api/v1/agents/:scope/up", { place: "p" });
		expect(agents.map(({ id, outcome }) => [id, outcome])).toEqual([
			["p:web", "already_running"],
			["p:db", "started"],
		]);
		const unknownAgent = api.client.call("POST /api/v1/agents/:scope/up", { place: "q" });
		await expect(unknownAgent).rejects.toMatchObject({ code: "agent_not_found" });
	});

	test("a remote is added, listed, connected again and removed", async () => {
		const api = await createApiWorld();
		const address = { type: "ssh" as const, target: "me@box", socket: "/home/me/reeve.sock" };
		const added = await ask(api, "POST /api/v1/remotes", { body: { name: "box", address } });
		expect(added).toMatchObject({ name: "box", address: "me@box", state: "unreachable" });
		await ask(api, "POST /api/v1/remotes/:remote/connect", { place: "box", body: {} });
		expect((await ask(api, "GET /api/v1/remotes")).remotes).toEqual([added]);
		await ask(api, "POST /api/v1/remotes/:remote/remove", { place: "box" });
		expect((await ask(api, "GET /api/v1/remotes")).remotes).toEqual([]);
		const target = "-oProxyCommand=touch /tmp/x";
		const body = { name: "evil", address: { ...address, target } };
		const evil = api.client.call("POST /api/v1/remotes", { body });
		await expect(evil).rejects.toMatchObject({ code: "validation_failed" });
		for (const url of [
			"http://box:7443",
			"https://box/path",
			"https://me:secret@box",
			"ftp://box",
		]) {
			const address = { type: "url" as const, url, token_file: "/token" };
			const open = api.client.call("POST /api/v1/remotes", { body: { name: "open", address } });
			await expect(open, url).rejects.toMatchObject({ code: "validation_failed" });
		}
	});

	test("a host of the cluster is listed, drained and resumed, and removed when it is silent", async () => {
		const { cluster, database } = await createMemoryCluster("here");
		const api = await createApiWorld(undefined, { cluster });
		const old = { host: "old", home: "h", boot: "b" };
		await database.join(old, HOST_REPORT, () => null);
		const host = (place: string) => ask(api, "GET /api/v1/cluster/hosts/:host", { place });
		const { hosts } = await ask(api, "GET /api/v1/cluster/hosts");
		expect(hosts.map((each) => [each.host, each.state, each.this_host])).toEqual([
			["here", "up", true],
			["old", "up", false],
		]);
		await ask(api, "POST /api/v1/cluster/hosts/:host/drain", { place: "old" });
		expect(await host("old")).toMatchObject({ state: "draining", draining: true });
		const alive = api.client.call("POST /api/v1/cluster/hosts/:host/remove", { place: "old" });
		await expect(alive).rejects.toMatchObject({ code: "host_alive" });
		await ask(api, "POST /api/v1/cluster/hosts/:host/resume", { place: "old" });
		expect(await host("old")).toMatchObject({ state: "up", draining: false });
		database.age("old", 60_000);
		expect(await host("old")).toMatchObject({ state: "silent", seen_ms_ago: 60_000 });
		await ask(api, "POST /api/v1/cluster/hosts/:host/remove", { place: "old" });
		const gone = api.client.call("GET /api/v1/cluster/hosts/:host", { place: "old" });
		await expect(gone).rejects.toMatchObject({ code: "host_not_found" });
		const none = (await createApiWorld()).client.call("GET /api/v1/cluster/hosts");
		await expect(none).rejects.toMatchObject({ code: "cluster_off" });
	});

	test("a fleet is applied and reloaded", async () => {
		const api = await createApiWorld();
		const up = await ask(api, "POST /api/v1/fleet/up", {
			body: { fleet: fleetToJson(FLEET), scope: "p:db" },
		});
		expect(up.agents).toMatchObject([{ id: "p:db", outcome: "started" }]);
		const fleet = fleetToJson({ ...FLEET, agents: FLEET.agents.slice(0, 1) });
		const body = { fleet, dry_run: true };
		const { changes } = await ask(api, "POST /api/v1/fleet/reload", { body });
		expect(changes).toMatchObject([
			{ change: "keep" },
			{ id: "p:db", change: "remove" },
			{ id: "p:tool", change: "remove" },
		]);
	});

	test("a task is submitted, read, listed and cancelled", async () => {
		const api = await createApiWorld();
		const body = { agent: "p:tool", action: "echo", payload: { a: 1 } };
		const query = { wait: "10s" };
		const done = await ask(api, "POST /api/v1/tasks", { body, query, correlationId: "mine" });
		expect(done).toMatchObject({ status: "succeeded", result: { a: 1 }, correlation_id: "mine" });
		const place = done.task_id;
		expect(await ask(api, "GET /api/v1/tasks/:id", { place })).toEqual(done);
		const hanging = { ...body, action: "hang" };
		const { task_id: other } = await ask(api, "POST /api/v1/tasks", { body: hanging });
		const { tasks, next } = await ask(api, "GET /api/v1/tasks", { query: { limit: 1 } });
		expect([tasks.map(({ task_id: id }) => id), next]).toEqual([[other], other]);
		const older = await ask(api, "GET /api/v1/tasks", { query: { before: other } });
		expect(older.tasks.map(({ task_id: id }) => id)).toEqual([place]);
		const cancelled = await ask(api, "POST /api/v1/tasks/:id/cancel", { place: other });
		expect(cancelled.status).toBe("cancelled");
	});

	test("a task that fails is reported by the status and becomes a dead letter", async () => {
		const api = await createApiWorld();
		const body = { agent: "p:tool", action: "fail" };
		const failing = api.client.call("POST /api/v1/tasks", { body, query: { wait: "10s" } });
		await expect(failing).rejects.toMatchObject({
			code: "execution_failed",
			details: { task: { status: "dead_lettered", attempts: [{ n: 1, log: "oh no\n" }] } },
		});
		const raw = await api.raw({
			...{ method: "POST", path: "/api/v1/tasks?wait=10s", body: JSON.stringify(body) },
			headers: { "content-type": "application/json" },
		});
		expect(raw.status).toBe(502);
		const { tasks } = await ask(api, "GET /api/v1/dead-letters");
		const [second, first] = tasks.map(({ task_id: id }) => id);
		if (first === undefined || second === undefined) throw new Error("two dead letters expected");
		const replayed = await ask(api, "POST /api/v1/dead-letters/:id/replay", { place: first });
		expect(replayed.replay_of).toBe(first);
		const given = await ask(api, "POST /api/v1/dead-letters/:id/discard", { place: second });
		expect(given.discarded).toBe(true);
	});

	test("a plan is run, read, listed and cancelled", async () => {
		const api = await createApiWorld();
		const tool = { agent: "p:tool", action: "echo" };
		const tasks = {
			first: { ...tool, payload: { n: 5 } },
			second: { ...tool, depends_on: ["first"], payload: "${tasks.first.result.n}" },
		};
		const query = { wait: "10s" };
		const done = await ask(api, "POST /api/v1/plans", { body: { name: "two", tasks }, query });
		expect(done).toMatchObject({ status: "succeeded", name: "two", tasks: [{}, { result: 5 }] });
		const place = done.plan_id;
		expect(await ask(api, "GET /api/v1/plans/:id", { place })).toEqual(done);
		const hanging = {
			tasks: { only: { ...tool, action: "hang" }, next: { ...tool, depends_on: ["only"] } },
		};
		const { plan_id: other } = await ask(api, "POST /api/v1/plans", { body: hanging });
		const { plans } = await ask(api, "GET /api/v1/plans");
		expect(plans.map(({ plan_id: id }) => id)).toEqual([other, place]);
		const cancelled = await ask(api, "POST /api/v1/plans/:id/cancel", { place: other });
		expect(cancelled.status).toBe("cancelled");
	});

	test("events and logs are streamed", async () => {
		const { client, logs } = await createApiWorld();
		const types: string[] = [];
		for await (const { type } of client.events({ after: 0, follow: false })) types.push(type);
		noted("GET /api/v1/events");
		expect(types.slice(0, 2)).toEqual(["agent.added", "agent.added"]);
		writeFileSync(join(logs, "current.log"), "one\ntwo\nthree\n");
		let written = "";
		for await (const part of client.logs("p:web", { lines: 2, follow: false })) written += part;
		noted("GET /api/v1/agents/:id/logs");
		expect(written).toBe("two\nthree\n");
		const merged: string[] = [];
		const options = { agents: ["p:web"], lines: 1, follow: false };
		for await (const { text } of client.mergedLogs(options)) merged.push(text);
		noted("GET /api/v1/logs");
		expect(merged).toEqual(["three"]);
	});

	test("a screen is streamed", async () => {
		const { world, socketPath } = await createApiWorld();
		const { runId } = world.engine.get("p:web").run ?? {};
		world.backend.print(runId ?? "", "hello");
		const path = "/api/v1/agents/p%3Aweb/screen/stream";
		const sent = request({ socketPath, path, agent: false }).end();
		const [response] = (await once(sent, "response")) as [IncomingMessage];
		const [first] = (await once(response, "data")) as [Buffer];
		expect(String(first)).toMatch(/^event: screen\ndata: .*"lines":\[\[\{"text":"hello"\}\]\]/);
		response.destroy();
		noted("GET /api/v1/agents/:id/screen/stream");
	});

	test("the past is listed: series, runs, events, usage", async () => {
		const api = await createApiWorld();
		api.world.backend.script("p:web", { livesMs: 2_000, code: 1 });
		await ask(api, "POST /api/v1/agents/:scope/restart", { place: "p:web", body: {} });
		await api.world.pass(10_000);
		const { agents } = await ask(api, "GET /api/v1/history", { query: { agent: "p:web" } });
		expect(agents).toMatchObject([{ id: "p:web", restarts: expect.any(Number) }]);
		const { runs } = await ask(api, "GET /api/v1/agents/:id/runs", { place: "p:web" });
		expect(runs.find(({ exit }) => exit?.code === 1)?.decision).toMatchObject({
			action: "restart",
		});
		const query = { type: "agent.exited", limit: 1 };
		const { events } = await ask(api, "GET /api/v1/events/list", { query });
		expect(events).toMatchObject([{ type: "agent.exited", agent: "p:web" }]);
		const { accounts } = await ask(api, "GET /api/v1/usage");
		expect(accounts.map(({ account, limited }) => [account, limited])).toContainEqual([
			...["p:web", false],
		]);
	});

	test("a log is read and searched as text", async () => {
		const api = await createApiWorld();
		writeFileSync(join(api.logs, "current.log"), "one\ntwo\nthree\n");
		const place = "p:web";
		const { lines } = await ask(api, "GET /api/v1/agents/:id/logs/lines", { place });
		expect(lines.map(({ text }) => text)).toEqual(["one", "two", "three"]);
		const query = { text: "T" };
		const { matches } = await ask(api, "GET /api/v1/agents/:id/logs/search", { place, query });
		expect(matches.map(({ text }) => text)).toEqual(["three", "two"]);
		const all = await ask(api, "GET /api/v1/search", { query: { text: "T", limit: 1 } });
		expect(all.matches.map(({ agent, text }) => [agent, text])).toEqual([["p:web", "three"]]);
	});

	test("the host and the settings of an agent are described", async () => {
		const api = await createApiWorld();
		expect((await ask(api, "GET /api/v1/host")).daemon.version).toBe("0.1.0");
		const config = await ask(api, "GET /api/v1/agents/:id/config", { place: "p:web" });
		expect(config.id).toBe("p:web");
	});

	test("a terminal is opened", async () => {
		const { client } = await createApiWorld();
		const socket = await client.terminal("p:web", { columns: 80, rows: 24, readOnly: true });
		const first = await new Promise((resolve) => {
			socket.on("message", (data, isBinary) => isBinary || resolve(JSON.parse(String(data))));
			socket.resume();
		});
		expect(first).toMatchObject({ type: "snapshot" });
		socket.terminate();
		noted("GET /api/v1/agents/:id/terminal");
	});

	test("tokens are created, listed, shown, replaced and revoked", async () => {
		const api = await createApiWorld();
		const made = await ask(api, "POST /api/v1/tokens", {
			body: { scope: "agent:p:web", expires_in_ms: 60_000 },
		});
		expect(made.info).toMatchObject({ scope: "agent:p:web", kind: "token" });
		const { token } = await ask(api, "GET /api/v1/tokens/default");
		expect(await ask(api, "POST /api/v1/tokens/rotate")).not.toEqual({ token });
		expect((await ask(api, "GET /api/v1/tokens")).tokens).toHaveLength(2);
		await ask(api, "POST /api/v1/tokens/:id/revoke", { place: made.info.id });
		expect((await ask(api, "GET /api/v1/tokens")).tokens).toHaveLength(1);
	});

	test("a browser logs in by a link, and out again", async () => {
		const api = await createApiWorld();
		const { path } = await ask(api, "POST /api/v1/login-links", { body: {} });
		const headers = { host: `localhost:${api.port}` };
		expect((await api.rawNetwork({ path, headers })).status).toBe(303);
		noted("GET /login");
		expect(await ask(api, "POST /api/v1/logout")).toEqual({ logged_out: false });
		expect(await ask(api, "GET /api/v1/caller")).toMatchObject({ kind: "owner" });
	});

	test("metrics are available for Prometheus", async () => {
		const { client } = await createApiWorld();
		expect(await client.metrics()).toContain('reeve_agent_running{agent="p:web"} 1');
		noted("GET /metrics");
	});

	test("an agent reports and asks, and is answered", async () => {
		const api = await createApiWorld();
		const body = { message: "half way through" };
		await ask(api, "POST /api/v1/agents/:id/report", { place: "p:web", body });
		const first = { question: "Is a person there?" };
		const early = await ask(api, "POST /api/v1/agents/:id/ask", { place: "p:web", body: first });
		expect(early).toEqual({ answer: null });
		const question = { question: "May I delete it?" };
		const options = { place: "p:web", body: question, query: { wait: "60s" } };
		const waiting = ask(api, "POST /api/v1/agents/:id/ask", options);
		const isOpen = async () =>
			(await ask(api, "GET /api/v1/questions")).questions[0]?.question === question.question;
		await eventually(isOpen, "it is asked, and waits");
		const answer = { place: "p:web", body: { answer: "No." } };
		expect(await ask(api, "POST /api/v1/agents/:id/reply", answer)).toEqual(question);
		expect(await waiting).toEqual({ answer: "No." });
		expect((await ask(api, "GET /api/v1/questions")).questions).toEqual([]);
		const again = api.client.call("POST /api/v1/agents/:id/reply", answer);
		await expect(again).rejects.toMatchObject({ code: "no_question" });
	});

	test("everything that waits for a person is listed, and a text question is answered by its id", async () => {
		const api = await createApiWorld();
		const body = { question: "Keep the column, or drop it?" };
		await ask(api, "POST /api/v1/agents/:id/ask", { place: "p:web", body });
		const { items } = await ask(api, "GET /api/v1/needs-you");
		expect(items).toMatchObject([
			{ kind: "question", agent: "p:web", question: { kind: "text", text: body.question } },
		]);
		const id = items[0]?.question?.id ?? "";
		const route = "POST /api/v1/agents/:id/questions/:question/answer";
		const wrong = api.client.call(route, { place: ["p:web", "other"], body: { text: "Keep it." } });
		await expect(wrong).rejects.toMatchObject({ code: "question_gone" });
		const neither = api.client.call(route, { place: ["p:web", id], body: {} });
		await expect(neither).rejects.toMatchObject({ code: "validation_failed" });
		const reply = await ask(api, route, { place: ["p:web", id], body: { text: "Keep it." } });
		expect(reply).toEqual({ label: "Keep it.", outcome: null });
		expect((await ask(api, "GET /api/v1/needs-you")).items).toEqual([]);
		const late = api.client.call(route, { place: ["p:web", id], body: { text: "Drop it." } });
		await expect(late).rejects.toMatchObject({ code: "question_gone" });
		const seen = await ask(api, "POST /api/v1/agents/:id/seen", { place: "p:web" });
		expect(seen).toEqual({ seen: false });
		const answered: unknown[] = [];
		for await (const { type, data } of api.client.events({ after: 0, follow: false })) {
			if (type === "agent.question_answered") answered.push(data);
		}
		expect(answered).toMatchObject([{ question: id, answer: "Keep it.", by: "owner" }]);
	});

	test("a browser subscribes to push notifications, and ends that", async () => {
		const api = await createApiWorld();
		expect((await ask(api, "GET /api/v1/push/key")).key).toMatch(/^[\w-]{80,}$/);
		const keys = { p256dh: "B".repeat(87), auth: "a".repeat(22) };
		const route = "POST /api/v1/push/subscriptions";
		const plain = { endpoint: "http://push.example/1", keys };
		const refused = api.client.call(route, { body: plain });
		await expect(refused).rejects.toMatchObject({ code: "validation_failed" });
		const { id } = await ask(api, route, { body: { endpoint: "https://push.example/1", keys } });
		const end = "DELETE /api/v1/push/subscriptions/:subscription";
		expect(await ask(api, end, { place: id })).toEqual({ removed: id });
		const again = api.client.call(end, { place: id });
		await expect(again).rejects.toMatchObject({ code: "subscription_not_found" });
	});

	test("an agent that exited cleanly is a question with three choices", async () => {
		const api = await createApiWorld();
		api.world.backend.script("p:web", { livesMs: 10, code: 0 });
		await ask(api, "POST /api/v1/agents/:scope/restart", { place: "p:web", body: {} });
		await api.world.pass(1_000);
		const { items } = await ask(api, "GET /api/v1/needs-you");
		expect(items).toMatchObject([{ kind: "ended", status: { state: "ended" } }]);
		const question = items[0]?.question;
		expect(question?.choices.map(({ label }) => label)).toEqual([
			"Continue",
			"Start fresh",
			"Leave stopped",
		]);
		const route = "POST /api/v1/agents/:id/questions/:question/answer";
		const place = ["p:web", question?.id ?? ""];
		const text = api.client.call(route, { place, body: { text: "yes" } });
		await expect(text).rejects.toMatchObject({ code: "choice_needed" });
		const stop = await ask(api, route, { place, body: { choice: "stop" } });
		expect(stop).toEqual({ label: "Leave stopped", outcome: "stopped" });
		const { status } = await ask(api, "GET /api/v1/agents/:id", { place: "p:web" });
		expect(status).toMatchObject({ state: "stopped", needs_you: false });
	});

	test("an accepted message is queued in the inbox, and can be discarded", async () => {
		const api = await createApiWorld();
		const { id } = await api.world.engine.inbox.accept("p:web", "hello");
		expect((await ask(api, "GET /api/v1/inbox")).messages).toMatchObject([
			{ id, agent: "p:web", text: "hello", phase: "queued", attempts: 0 },
		]);
		await ask(api, "POST /api/v1/inbox/:message/discard", { place: id });
		expect((await ask(api, "GET /api/v1/inbox")).messages).toEqual([]);
		const again = api.client.call("POST /api/v1/inbox/:message/discard", { place: id });
		await expect(again).rejects.toMatchObject({ code: "message_not_found" });
	});

	test("a schedule is listed, shown, run, paused and resumed", async () => {
		const api = await createApiWorld();
		const action = { type: "call", agent: "p:tool", action: "echo", payload: '{"a":1}' } as const;
		const schedules = [
			{
				...{ id: "p:nightly", project: "p", name: "nightly", action, everyMs: null },
				...{ cron: "0 3 * * *", timezone: "UTC", jitterMs: 0 },
				...({ overlap: "skip", catchUp: "none" } as const),
			},
		];
		const body = { fleet: fleetToJson({ ...FLEET, schedules }), scope: "p:db" };
		await ask(api, "POST /api/v1/fleet/up", { body });
		const listed = await ask(api, "GET /api/v1/schedules");
		expect(listed.schedules).toMatchObject([
			{ id: "p:nightly", action, timezone: "UTC", paused_at: null, blocked: null, last: null },
		]);
		const place = "p:nightly";
		const slot = await ask(api, "POST /api/v1/schedules/:id/run", { place });
		expect(slot).toMatchObject({ manual: true, started: { type: "task" } });
		const shown = await ask(api, "GET /api/v1/schedules/:id", { place, query: { limit: 5 } });
		expect(shown.slots.map(({ id }) => id)).toEqual([slot.id]);
		const paused = await ask(api, "POST /api/v1/schedules/:id/pause", { place });
		expect(paused).toMatchObject({ changed: true, schedule: { next_at: null } });
		const resumed = await ask(api, "POST /api/v1/schedules/:id/resume", { place });
		expect(resumed).toMatchObject({ changed: true, schedule: { paused_at: null } });
		const unknown = api.client.call("POST /api/v1/schedules/:id/run", { place: "p:other" });
		await expect(unknown).rejects.toMatchObject({ code: "schedule_not_found" });
	});

	test("the API describes itself", async () => {
		const { client } = await createApiWorld();
		const { openapi, info } = await client.openApi();
		expect({ openapi, info }).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
		noted("GET /api/v1/openapi.json");
	});
});

test("no route was left out above", () => {
	expect(Object.keys(ROUTES).filter((name) => !asked.has(name))).toEqual([]);
});
