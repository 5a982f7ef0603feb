/** Tokens that are limited to a project or an agent: they have no access to anything else (A4). */

import { expect, test } from "vitest";
import WebSocket from "ws";
import { createClient } from "../../src/client/client.js";
import { fleetToJson } from "../../src/config/spec-schema.js";
import { parseTokenScope, type TokenScope } from "../../src/core/access.js";
import { subjectsOf } from "../../src/http/auth/subjects.js";
import { ALL_ROUTES } from "../../src/http/router.js";
import { createApiWorld, FLEET } from "./api-world.js";

async function createLimited(scope: string) {
	const api = await createApiWorld();
	const { token } = await api.tokens.create({
		...{ kind: "token", scope: parseTokenScope(scope) as TokenScope, expiresAtMs: null },
	});
	const client = createClient({ url: `http://127.0.0.1:${api.port}`, token });
	return { ...api, owner: api.client, client, token };
}

const FORBIDDEN = expect.objectContaining({ code: "forbidden" });
const body = { agent: "p:tool", action: "act" };

test("lists and events show the agent of the token alone", async () => {
	const { client, owner } = await createLimited("operate:p:web");
	await owner.call("POST /api/v1/tasks", { body });
	await owner.call("POST /api/v1/agents/:id/report", {
		...{ place: "p:db", body: { message: "x" } },
	});
	await owner.call("POST /api/v1/agents/:id/report", {
		...{ place: "p:web", body: { message: "y" } },
	});
	const { agents } = await client.call("GET /api/v1/agents");
	expect(agents.map(({ id }) => id)).toEqual(["p:web"]);
	const { tasks, counts } = await client.call("GET /api/v1/tasks", { query: { counts: "1" } });
	expect([tasks, counts]).toEqual([[], {}]);
	expect((await client.call("GET /api/v1/dead-letters")).tasks).toEqual([]);
	const seen = new Set<string | undefined>();
	for await (const { agent } of client.events({ after: 0, follow: false })) seen.add(agent);
	expect([...seen]).toEqual(["p:web"]);
	for await (const event of client.events({ after: 0, follow: false, agent: "p:db" }))
		throw new Error(`${event.type} of another agent`);
});

test("resources of another agent are rejected, by path, by body and by id", async () => {
	const { client, owner } = await createLimited("operate:p:web");
	const { task_id: task, plan_id: plan } = await owner.call("POST /api/v1/tasks", { body });
	const refused = [
		client.call("GET /api/v1/agents/:id", { place: "p:db" }),
		client.call("POST /api/v1/agents/:scope/down", { place: "p" }),
		client.call("POST /api/v1/agents/:scope/down", { place: "*" }),
		client.call("POST /api/v1/agents/:id/send", { place: "p:db", body: { text: "x" } }),
		client.call("POST /api/v1/tasks", { body }),
		client.call("GET /api/v1/tasks/:id", { place: task }),
		client.call("POST /api/v1/tasks/:id/cancel", { place: task }),
		client.call("POST /api/v1/dead-letters/:id/replay", { place: task }),
		client.call("POST /api/v1/plans", { body: { tasks: { one: body } } }),
		client.call("GET /api/v1/plans/:id", { place: plan }),
		client.call("POST /api/v1/plans/:id/cancel", { place: plan }),
		client.call("GET /api/v1/daemon"),
		client.metrics(),
		client.call("POST /api/v1/daemon/stop"),
		client.call("GET /api/v1/tokens"),
	];
	for (const each of refused) await expect(each).rejects.toEqual(FORBIDDEN);
});

test("schedules of other agents, and plans that may call any agent, are out of reach", async () => {
	const { client, owner } = await createLimited("operate:p:web");
	const common = {
		...{ project: "p", cron: "0 3 * * *", everyMs: null, timezone: "UTC", jitterMs: 0 },
		...({ overlap: "skip", catchUp: "none" } as const),
	};
	const restart = (agent: string) => ({ type: "restart", agent }) as const;
	const schedules = [
		{ ...common, id: "p:own", name: "own", action: restart("p:web") },
		{ ...common, id: "p:other", name: "other", action: restart("p:db") },
		{ ...common, id: "p:plan", name: "plan", action: { type: "plan", file: "/x" } as const },
	];
	const fleet = fleetToJson({ ...FLEET, schedules });
	await owner.call("POST /api/v1/fleet/up", { body: { fleet, scope: "p:web" } });
	const listed = await client.call("GET /api/v1/schedules");
	expect(listed.schedules.map(({ id }) => id)).toEqual(["p:own"]);
	await client.call("POST /api/v1/schedules/:id/pause", { place: "p:own" });
	for (const place of ["p:other", "p:plan"]) {
		for (const verb of ["run", "pause", "resume"] as const) {
			const refused = client.call(`POST /api/v1/schedules/:id/${verb}`, { place });
			await expect(refused).rejects.toEqual(FORBIDDEN);
		}
		await expect(client.call("GET /api/v1/schedules/:id", { place })).rejects.toEqual(FORBIDDEN);
	}
});

test("a token of a project acts on its agents and reads their tasks", async () => {
	const { client } = await createLimited("operate:p");
	const { agents } = await client.call("GET /api/v1/agents");
	expect(agents.map(({ id }) => id)).toEqual(["p:web", "p:db", "p:tool"]);
	const { task_id: place } = await client.call("POST /api/v1/tasks", { body });
	expect((await client.call("GET /api/v1/tasks/:id", { place })).agent).toBe("p:tool");
	expect((await client.call("GET /api/v1/tasks")).tasks).toHaveLength(1);
	await client.call("POST /api/v1/agents/:scope/down", { place: "p:web" });
});

test("a reading token of an agent cannot act on it", async () => {
	const { client } = await createLimited("read:p:web");
	expect((await client.call("GET /api/v1/agents/:id", { place: "p:web" })).id).toBe("p:web");
	const down = client.call("POST /api/v1/agents/:scope/down", { place: "p:web" });
	await expect(down).rejects.toEqual(FORBIDDEN);
});

test("the terminal of another agent is refused as a WebSocket too", async () => {
	const { port, token } = await createLimited("operate:p:web");
	const status = (id: string) =>
		new Promise<number>((resolve) => {
			const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/agents/${id}/terminal`, {
				headers: { authorization: `Bearer ${token}` },
			});
			socket.once("open", () => {
				socket.terminate();
				resolve(101);
			});
			socket.on("error", () => {});
			socket.once("unexpected-response", (_, { statusCode = 0 }) => resolve(statusCode));
		});
	expect([await status("p:web"), await status("p:db")]).toEqual([101, 403]);
});

test("every route whose access depends on its subjects names them", () => {
	const routes = ALL_ROUTES.filter(({ spec }) => spec.limited === "subjects");
	expect(routes.length).toBeGreaterThan(0);
	for (const { name } of routes) {
		const request = { params: { id: "x", message: "x" }, body: { agent: "a", tasks: {} } };
		// A listed route reads the missing world and throws; an unlisted one returns null.
		let found: ReturnType<typeof subjectsOf> = [];
		try {
			found = subjectsOf(name, {} as never, request);
		} catch {}
		expect(found, name).not.toBeNull();
	}
});
