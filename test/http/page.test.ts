import { describe, expect, test } from "vitest";
import { eventually } from "../faults/fleet-home.js";
import { COOKIE, createApiWorld } from "./api-world.js";

const headersOf = (port: number, more: Record<string, string> = {}) => ({
	host: `127.0.0.1:${port}`,
	...more,
});

describe("the files of the page", () => {
	test("need no login, and forbid everything that is not the daemon's own", async () => {
		const { rawNetwork, port } = await createApiWorld();
		const page = await rawNetwork({ path: "/", headers: headersOf(port) });
		expect(page.status).toBe(200);
		expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
		const policy = String(page.headers["content-security-policy"]);
		expect(policy).toContain("default-src 'none'");
		expect(policy).toContain("script-src 'self'");
		expect(policy).toContain("frame-ancestors 'none'");
		expect(policy).not.toMatch(/unsafe|\*|https?:/);
		expect(page.headers["cache-control"]).toBe("no-cache");
	});

	test("are sent in the best encoding that the browser takes, and permanently if their name has a hash", async () => {
		const { rawNetwork, port } = await createApiWorld();
		const get = (encoding: string) =>
			rawNetwork({
				path: "/assets/main-1234.js",
				headers: headersOf(port, { "accept-encoding": encoding }),
			});
		const best = await get("gzip, deflate, br");
		expect(best.body).toBe("brotli");
		expect(best.headers["content-encoding"]).toBe("br");
		expect(best.headers["cache-control"]).toContain("immutable");
		expect(best.headers["vary"]).toBe("accept-encoding");
		expect((await get("gzip")).body).toBe("gzip");
		expect((await get("br;q=0, gzip;q=0")).body).toBe("plain");
		expect((await get("identity")).body).toBe("plain");
	});

	test("are not sent again if the browser has them", async () => {
		const { rawNetwork, port } = await createApiWorld();
		const { headers } = await rawNetwork({ path: "/", headers: headersOf(port) });
		const etag = String(headers["etag"]);
		const again = await rawNetwork({
			path: "/",
			headers: headersOf(port, { "if-none-match": etag }),
		});
		expect([again.status, again.body]).toEqual([304, ""]);
	});

	test("are those of the build and no others", async () => {
		const { rawNetwork, raw, port } = await createApiWorld();
		for (const path of [
			"/secret.txt",
			"/../secret.txt",
			"/assets/..%2f..%2fetc%2fpasswd",
			"/assets/",
		]) {
			expect((await rawNetwork({ path, headers: headersOf(port) })).status).toBe(404);
		}
		// The socket is for programs.
		expect((await raw({ path: "/", headers: { host: "localhost" } })).status).toBe(404);
		const post = await rawNetwork({
			...{ method: "POST", path: "/", body: "{}" },
			headers: headersOf(port, { "content-type": "application/json" }),
		});
		expect(post.status).toBe(405);
	});

	test("are refused to other hosts and other sites, but a link may open the page", async () => {
		const { rawNetwork, port } = await createApiWorld();
		const get = async (path: string, headers: Record<string, string>) =>
			(await rawNetwork({ path, headers })).status;
		expect(await get("/", { host: "evil.example" })).toBe(421);
		const foreign = headersOf(port, { "sec-fetch-site": "cross-site" });
		expect(await get("/assets/main-1234.js", foreign)).toBe(403);
		expect(await get("/", { ...foreign, "sec-fetch-mode": "cors" })).toBe(403);
		expect(await get("/", { ...foreign, origin: "http://evil.example" })).toBe(403);
		const link = { ...foreign, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
		expect(await get("/", link)).toBe(200);
		expect(await get("/", { ...link, "sec-fetch-dest": "iframe" })).toBe(403);
		expect(await get("/assets/main-1234.js", link)).toBe(403);
		expect(await get("/api/v1/agents", link)).toBe(403);
	});
});

test("a login link opens the page with a session that knows its access", async () => {
	const { client, rawNetwork, port } = await createApiWorld();
	const { path } = await client.call("POST /api/v1/login-links", { body: { scope: "read" } });
	const login = await rawNetwork({ path, headers: headersOf(port) });
	expect([login.status, login.headers.location]).toEqual([303, "/"]);
	const [cookie = ""] = String(login.headers["set-cookie"]).split(";");
	expect(cookie).toContain(COOKIE);
	const who = await rawNetwork({ path: "/api/v1/caller", headers: headersOf(port, { cookie }) });
	expect(JSON.parse(who.body)).toMatchObject({ kind: "session", scope: "read" });
	expect(await client.call("GET /api/v1/caller")).toMatchObject({ kind: "owner", id: null });
	const fromChat = await client.call("POST /api/v1/login-links", { body: {} });
	const opened = headersOf(port, {
		...{
			"sec-fetch-site": "cross-site",
			"sec-fetch-mode": "navigate",
			"sec-fetch-dest": "document",
		},
	});
	expect((await rawNetwork({ path: fromChat.path, headers: opened })).status).toBe(303);
	// The link is used up.
	expect((await rawNetwork({ path, headers: headersOf(port) })).status).toBe(401);
});

test("a browser that may act lists and revokes logins, one that may read does not", async () => {
	const { client, rawNetwork, port } = await createApiWorld();
	const cookieFor = async (scope: string) => {
		const { path } = await client.call("POST /api/v1/login-links", { body: { scope } });
		const { headers } = await rawNetwork({ path, headers: headersOf(port) });
		return String(headers["set-cookie"]).split(";")[0] ?? "";
	};
	const [acting, reading] = [await cookieFor("operate"), await cookieFor("read")];
	const list = (cookie: string) =>
		rawNetwork({ path: "/api/v1/tokens", headers: headersOf(port, { cookie }) });
	expect((await list(reading)).status).toBe(403);
	const { tokens } = JSON.parse((await list(acting)).body) as {
		tokens: { id: string; kind: string; scope: string; last_used_at: string | null }[];
	};
	const other = tokens.find(({ kind, scope }) => kind === "session" && scope === "read");
	const own = tokens.find(({ kind, scope }) => kind === "session" && scope === "operate");
	expect(own?.last_used_at).not.toBe(null);
	const revoke = await rawNetwork({
		...{ method: "POST", path: `/api/v1/tokens/${other?.id}/revoke`, body: "{}" },
		headers: headersOf(port, {
			cookie: acting,
			origin: `http://127.0.0.1:${port}`,
			"content-type": "application/json",
		}),
	});
	expect(revoke.status).toBe(200);
	expect((await list(reading)).status).toBe(401);
});

test("the list of agents names its last event, and can be limited to some agents", async () => {
	const { client, world } = await createApiWorld();
	await eventually(async () => {
		const before = world.store.lastSeq();
		const { seq } = await client.call("GET /api/v1/agents");
		return seq === before && before === world.store.lastSeq();
	}, "the list names the last event");
	const some = await client.call("GET /api/v1/agents", { query: { ids: "p:db,p:tool,p:none" } });
	expect(some.agents.map(({ id }) => id)).toEqual(["p:db", "p:tool"]);
	expect(some.seq).toBeGreaterThan(0);
});
