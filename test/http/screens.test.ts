/** Streams of screens: they end with their credential, and a slow reader gets fewer messages. */

import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { parseTokenScope, type TokenScope } from "../../src/core/access.js";
import { eventually } from "../faults/fleet-home.js";
import { followScreen } from "../support/screen-reader.js";
import { createApiWorld } from "./api-world.js";

async function createWorld(scope: string) {
	const api = await createApiWorld();
	const made = await api.tokens.create({
		...{ kind: "token", scope: parseTokenScope(scope) as TokenScope, expiresAtMs: null },
	});
	const { runId = "" } = api.world.engine.get("p:web").run ?? {};
	return { api, ...made, runId };
}

test("the stream of a screen ends when its token is revoked (A8)", async () => {
	const { api, token, info, runId } = await createWorld("read");
	const reader = await followScreen({ port: api.port, token }, "p:web");
	await reader.until((messages) => messages.length > 0);
	await api.tokens.revoke(info.id);
	await reader.ended;
	api.world.backend.print(runId, "after it was revoked");
	const [all] = [await reader.until(() => true)];
	expect(JSON.stringify(all)).not.toContain("after it was revoked");
});

test("changes are sent at a bounded rate, and the last one always arrives", async () => {
	const { api, token, runId } = await createWorld("read");
	const reader = await followScreen({ port: api.port, token }, "p:web");
	await reader.until((messages) => messages.length > 0);
	const startMs = performance.now();
	for (let n = 0; n < 500; n++) {
		api.world.backend.print(runId, `number ${n}\n`);
		if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
	}
	const messages = await reader.until((all) =>
		JSON.stringify(all.at(-1) ?? "").includes("number 499"),
	);
	const seconds = (performance.now() - startMs) / 1_000;
	expect(messages.length).toBeLessThanOrEqual(Math.ceil(seconds * 10) + 3);
	reader.close();
});

test("a reader that reads nothing holds up neither the agent nor others", async () => {
	const { api, token, runId } = await createWorld("read");
	const [slow, quick] = [
		await followScreen({ port: api.port, token }, "p:web"),
		await followScreen({ port: api.port, token }, "p:web"),
	];
	slow.response.pause();
	for (let n = 0; n < 50; n++)
		api.world.backend.print(runId, `row ${n} ${"x".repeat(1_000)}\n`.repeat(20));
	await quick.until((all) => JSON.stringify(all.at(-1) ?? "").includes("row 49"));
	slow.close();
	quick.close();
});

test("a token for a project sees only its part of history, usage and events", async () => {
	const { api, token } = await createWorld("read:q");
	const client = createClient({ url: `http://127.0.0.1:${api.port}`, token });
	expect((await client.call("GET /api/v1/history")).agents).toEqual([]);
	expect(await client.call("GET /api/v1/usage")).toMatchObject({ days: [], accounts: [] });
	expect((await client.call("GET /api/v1/events/list")).events).toEqual([]);
	const own = await createWorld("read:p");
	const allowed = createClient({ url: `http://127.0.0.1:${own.api.port}`, token: own.token });
	await eventually(
		async () => (await allowed.call("GET /api/v1/events/list")).events.length > 0,
		"its own events are listed",
	);
	const { agents } = await allowed.call("GET /api/v1/history");
	expect(agents.map(({ id }) => id)).toEqual(["p:web", "p:db", "p:tool"]);
});
