/** One client for this daemon and its remotes. */

import { expect, test } from "vitest";
import type { CallOptions, Client } from "../../src/client/client.js";
import { createMergedClient } from "../../src/client/merged-client.js";
import { ReeveError } from "../../src/core/errors.js";
import type { JsonRouteName } from "../../src/http/contract/routes.js";

interface Asked {
	readonly name: string;
	readonly options: CallOptions<JsonRouteName> & { readonly body?: unknown };
}

/** A client that answers each route with the given response, or throws it. */
function createFake(replies: Readonly<Record<string, unknown>>) {
	const asked: Asked[] = [];
	const client = {
		async call(
			name: string,
			{ signal: _, ...options }: Asked["options"] & { signal?: unknown } = {},
		) {
			asked.push({ name, options } as Asked);
			const reply = replies[name];
			if (reply instanceof Error) throw reply;
			if (reply === "never") return new Promise(() => {});
			return reply;
		},
	} as unknown as Client;
	return { client, asked };
}

function createHosts(
	own: Readonly<Record<string, unknown>>,
	remotes: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
) {
	const here = createFake(own);
	const there = new Map(
		Object.entries(remotes).map(([name, replies]) => [name, createFake(replies)]),
	);
	const silent: string[] = [];
	const client = createMergedClient({
		own: here.client,
		remotes: [...there.keys()],
		open: (name) => (there.get(name) as ReturnType<typeof createFake>).client,
		onSilent: (name, { message }) => silent.push(`${name}: ${message}`),
	});
	return { client, here, there, silent };
}

const AGENTS = "GET /api/v1/agents";
const agent = (id: string, more = {}) => ({
	id,
	agent_id: id,
	project: "web",
	agent: "coder",
	...more,
});

test("the agents of all hosts are one list, those of remotes with the name of the remote", async () => {
	const reason = "waits: `reeve answer web:coder stop`, not web:coder";
	const { client, silent } = createHosts(
		{ [AGENTS]: { agents: [agent("web:coder")], seq: 7 } },
		{ box: { [AGENTS]: { agents: [agent("web:coder", { reason })], seq: 9 } } },
	);
	const { agents, seq } = await client.call(AGENTS);
	expect(agents).toMatchObject([
		{ id: "web:coder", project: "web" },
		{
			...{ id: "box/web:coder", agent_id: "box/web:coder", project: "box/web", agent: "coder" },
			reason: "waits: `reeve answer box/web:coder stop`, not web:coder",
		},
	]);
	expect(seq).toBe(7);
	expect(silent).toEqual([]);
});

test("a remote that fails or never answers is reported, and the others are listed", async () => {
	const { client, silent } = createHosts(
		{ [AGENTS]: { agents: [agent("web:a")] } },
		{
			gone: { [AGENTS]: new ReeveError("remote_unreachable", "gone does not answer: refused") },
			old: { [AGENTS]: new ReeveError("no_route", "unknown route") },
			box: { [AGENTS]: { agents: [agent("web:b")] } },
		},
	);
	const { agents } = await client.call(AGENTS);
	expect(agents.map(({ id }) => id)).toEqual(["web:a", "box/web:b"]);
	expect(silent).toEqual([
		"gone: gone does not answer: refused",
		"old: old: unknown route. It runs another version of Reeve",
	]);
});

test("a request goes to the host that it names, without the name", async () => {
	const { client, here, there } = createHosts({}, { box: {}, den: {} });
	const box = there.get("box");
	await client.call("POST /api/v1/agents/:id/resume", { place: "box/web:coder" });
	await client.call("POST /api/v1/agents/:scope/down", { place: "box/*", body: {} });
	await client.call("POST /api/v1/agents/:id/questions/:question/answer", {
		place: ["box/web:coder", "q/1"],
		body: { choice: 1 },
	});
	await client.call("POST /api/v1/tasks", { body: { agent: "box/web:git", action: "x" } });
	await client.call("GET /api/v1/tasks", { query: { agent: "box/web:git", limit: 3 } });
	await client.call("POST /api/v1/plans", {
		body: { tasks: { a: { agent: "box/web:git", action: "x" } } },
	});
	expect(box?.asked.map(({ options: { place, query, body } }) => place ?? query ?? body)).toEqual([
		"web:coder",
		"*",
		["web:coder", "q/1"],
		{ agent: "web:git", action: "x" },
		{ agent: "web:git", limit: 3 },
		{ tasks: { a: { agent: "web:git", action: "x" } } },
	]);
	await client.call("POST /api/v1/agents/:scope/down", { place: "*", body: {} });
	expect(here.asked.map(({ options }) => options.place)).toEqual(["*"]);
	expect(there.get("den")?.asked).toEqual([]);
});

test("a request for several hosts, or for an unknown one, is refused before it is sent", async () => {
	const { client, here, there } = createHosts({}, { box: {} });
	const tasks = { a: { agent: "web:git", action: "x" }, b: { agent: "box/web:git", action: "x" } };
	await expect(client.call("POST /api/v1/plans", { body: { tasks } })).rejects.toMatchObject({
		code: "usage",
		message: "one request cannot target several hosts: this host, box",
	});
	const place = "bux/web:git";
	await expect(client.call("GET /api/v1/agents/:id", { place })).rejects.toMatchObject({
		code: "remote_not_found",
	});
	expect([...here.asked, ...(there.get("box")?.asked ?? [])]).toEqual([]);
});

test("tasks of all hosts are listed newest first, up to the limit, and counted together", async () => {
	const page = (ids: readonly string[], counts: unknown) => ({
		"GET /api/v1/tasks": {
			tasks: ids.map((id) => ({ task_id: id, agent: "web:git", result: { agent: "web:git" } })),
			next: ids.at(-1),
			counts,
		},
	});
	const { client } = createHosts(page(["05", "01"], { queued: 1 }), {
		box: page(["04", "03"], { queued: 2, succeeded: 4 }),
	});
	const query = { limit: 3, counts: "1" as const };
	const { tasks, next, counts } = await client.call("GET /api/v1/tasks", { query });
	expect(tasks.map(({ task_id: id }) => id)).toEqual(["05", "box/04", "box/03"]);
	// The content of a task is not Reeve's.
	expect(tasks[1]).toMatchObject({ agent: "box/web:git", result: { agent: "web:git" } });
	expect(next).toBeNull();
	expect(counts).toEqual({ queued: 3, succeeded: 4 });
	const own = await client.call("GET /api/v1/tasks", { query, ownOnly: true });
	expect(own.tasks.map(({ task_id: id }) => id)).toEqual(["05", "01"]);
});

test("a search and the usage of all hosts are merged, or split by the agents that they name", async () => {
	const found = (match: unknown, incomplete: readonly string[]) => ({
		"GET /api/v1/search": { matches: [match], incomplete, bytes: 10, read_bytes: 5, took_ms: 1 },
	});
	const { client, here, there } = createHosts(found({ agent: "web:a", at: "2031-01-01" }, []), {
		box: found({ agent: "web:a", at: "2031-01-02" }, ["web:b"]),
	});
	const all = await client.call("GET /api/v1/search", { query: { text: "x" } });
	expect(all).toMatchObject({
		matches: [{ agent: "box/web:a" }, { agent: "web:a" }],
		...{ incomplete: ["box/web:b"], bytes: 20, read_bytes: 10 },
	});
	const agents = "web:a,box/web:a,box/ci";
	await client.call("GET /api/v1/search", { query: { text: "x", agents } });
	expect(here.asked.at(-1)?.options.query).toEqual({ text: "x", agents: "web:a" });
	expect(there.get("box")?.asked.at(-1)?.options.query).toEqual({ text: "x", agents: "web:a,ci" });
	await client.call("GET /api/v1/search", { query: { text: "x", agents: "box/ci" } });
	expect(here.asked).toHaveLength(2);
});

test("an error of a remote names it, also in the commands that it suggests", async () => {
	const hint = "Run `reeve resume web:coder`.";
	const { client } = createHosts(
		{},
		{ box: { "GET /api/v1/agents/:id": new ReeveError("not_running", "it is stopped", hint) } },
	);
	await expect(
		client.call("GET /api/v1/agents/:id", { place: "box/web:coder" }),
	).rejects.toMatchObject({
		code: "not_running",
		message: "box: it is stopped",
		hint: "Run `reeve resume box/web:coder`.",
	});
});

test("tasks are not counted if one of the hosts does not count its own", async () => {
	const TASKS = "GET /api/v1/tasks";
	const task = (id: string) => ({ task_id: id, status: "queued" });
	const own = { [TASKS]: { tasks: [task("1")], next: null, counts: { queued: 3 } } };
	const counting = { tasks: [task("2")], next: null, counts: { queued: 2 } };
	const earlier = { tasks: [task("3")], next: null };
	const both = createHosts(own, { box: { [TASKS]: counting } });
	expect(await both.client.call(TASKS, {})).toMatchObject({ counts: { queued: 5 } });
	const one = createHosts(own, { box: { [TASKS]: counting }, old: { [TASKS]: earlier } });
	const merged = await one.client.call(TASKS, {});
	expect(merged.tasks).toHaveLength(3);
	expect(merged.counts).toBeUndefined();
});
