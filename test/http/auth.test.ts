/** Access without permission is refused: every route, in every way that must fail. */

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { createFailureLimit } from "../../src/http/auth/failure-limit.js";
import type { RouteName } from "../../src/http/contract/routes.js";
import { parseRemotePath, remoteNeed } from "../../src/http/remote-proxy.js";
import { ALL_ROUTES } from "../../src/http/router.js";
import { type ApiModules, COOKIE, createApiWorld } from "./api-world.js";
import { walk } from "./walk.js";

/** No route of the walk's own lists, which concern this daemon only. */
const REMOTE = "a route of a remote" as RouteName;

function isForwarded(path: string): boolean {
	try {
		return parseRemotePath(path) !== null;
	} catch {
		return false;
	}
}

async function walkAll(modules?: ApiModules, routes = ALL_ROUTES) {
	const { port, tokens, world } = await createApiWorld(modules);
	const wallMs = () => world.clock.now().wallMs;
	const pass = (ms: number) => world.clock.advance(ms);
	return walk({ port, cookie: COOKIE, tokens, routes, wallMs, pass });
}

describe("every route", { timeout: 120_000 }, () => {
	test("is refused without the right token, Host and Origin (A4)", async () => {
		const { holes, letIn, requests } = await walkAll();
		expect(holes).toEqual([]);
		// Proves that it was tried, and not refused for another reason.
		expect(requests).toBeGreaterThan(ALL_ROUTES.length * 2 * 30);
		expect(letIn).toBeGreaterThan(ALL_ROUTES.length);
	});

	test("of a remote is refused without the right token, Host and Origin (A4)", async () => {
		const { port, tokens, world } = await createApiWorld();
		const routes = ALL_ROUTES.flatMap((route) => {
			const path = `/remotes/box${route.path}`;
			const forwarded = isForwarded(path);
			// A public route of a remote needs a token here, and limited tokens have no access to other hosts.
			return forwarded ? [{ ...route, path, spec: remoteNeed(route), name: REMOTE }] : [];
		});
		expect(routes.length).toBeGreaterThan(40);
		const wallMs = () => world.clock.now().wallMs;
		const pass = (ms: number) => world.clock.advance(ms);
		const { holes, letIn } = await walk({ port, cookie: COOKIE, tokens, routes, wallMs, pass });
		expect(holes).toEqual([]);
		expect(letIn).toBeGreaterThan(routes.length);
	});

	const BUGS: readonly (readonly [string, string, string, string, RegExp])[] = [
		[
			"a route without access control",
			"http/contract/daemon.ts",
			'stops its agents first.",\n\t\taccess: "operate"',
			'stops its agents first.",\n\t\taccess: "public"',
			/POST \/api\/v1\/daemon\/stop with a token that may read/,
		],
		[
			"no look at the Origin",
			"http/auth/gate.ts",
			'checkOrigin(request, via, caller.type === "session");',
			"",
			/with Origin http:\/\/evil.example/,
		],
		["no look at the Host", "http/auth/gate.ts", "checkHost(request, via);", "", /with Host evil/],
		[
			"WebSockets that are not asked",
			"http/server.ts",
			"gate.admit(request, door.via, route.spec, params);\n\t\t\tif (route.name",
			'{ type: "owner", uid: 0 } as const;\n\t\t\tif (route.name',
			/as a WebSocket with a token that may read|as a WebSocket with no token/,
		],
		[
			"tokens that never expire",
			"http/auth/tokens.ts",
			"expiresAtMs !== null && expiresAtMs <= nowMs",
			"expiresAtMs !== null && expiresAtMs <= 0",
			/with an expired token/,
		],
		[
			"readers that may act",
			"core/access.ts",
			'need.access === "operate" && scope.type === "read"',
			"false",
			/POST .* with a token that may read/,
		],
		[
			"limited tokens that may ask what is not declared for them",
			"core/access.ts",
			"if (limited === undefined) return false;",
			"if (limited === undefined) return true;",
			/GET \/api\/v1\/daemon with a token of another project/,
		],
		[
			"limited tokens that may ask about any agent",
			"core/access.ts",
			"about !== null && isInside(about, within)",
			"about !== null",
			/terminal as a WebSocket with a token of another agent/,
		],
		[
			"agents that may ask about each other",
			"core/access.ts",
			'need.agents === "itself" && need.about === scope.agent',
			'need.agents === "itself"',
			/with a token of an agent, about another/,
		],
		[
			"cookies that act from anywhere",
			"http/auth/places.ts",
			"byCookie && acts && origin === undefined",
			"false",
			/with a session and without Origin/,
		],
	];

	test.each(BUGS)("finds a planted bug: %s", async (_, file, find, replace, hole) => {
		await withPlanted({ file, find, replace }, async (modules, routes) => {
			const { holes } = await walkAll(modules, routes);
			expect(holes.join("\n")).toMatch(hole);
		});
	});
});

describe("a browser", () => {
	test("is logged in once by a link, with a cookie that other sites cannot use", async () => {
		const { client, rawNetwork, port } = await createApiWorld();
		const { path } = await client.call("POST /api/v1/login-links", { body: { scope: "read" } });
		const host = `127.0.0.1:${port}`;
		const login = await rawNetwork({ path, headers: { host } });
		const [cookie = ""] = login.headers["set-cookie"] ?? [];
		expect({ status: login.status, to: login.headers.location }).toEqual({ status: 303, to: "/" });
		expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
		const headers = { host, cookie: cookie.split(";")[0] ?? "" };
		expect((await rawNetwork({ path: "/api/v1/agents", headers })).status).toBe(200);
		expect((await rawNetwork({ path, headers: { host } })).status).toBe(401);
		const origin = `http://${host}`;
		const logout = { method: "POST", path: "/api/v1/logout", headers: { ...headers, origin } };
		expect(JSON.parse((await rawNetwork(logout)).body)).toEqual({ logged_out: true });
		expect((await rawNetwork({ path: "/api/v1/agents", headers })).status).toBe(401);
	});

	test("must not frame, store, sniff or execute a response", async () => {
		const { rawNetwork, port } = await createApiWorld();
		const headers = { host: `127.0.0.1:${port}` };
		for (const path of ["/health", "/api/v1/agents", "/nowhere"]) {
			expect((await rawNetwork({ path, headers })).headers).toMatchObject({
				"cache-control": "no-store",
				"content-security-policy": expect.stringContaining("default-src 'none'"),
				"x-content-type-options": "nosniff",
				"x-frame-options": "DENY",
				"referrer-policy": "no-referrer",
			});
		}
		const { headers: answer } = await rawNetwork({ path: "/health", headers });
		expect(Object.keys(answer).filter((name) => name.startsWith("access-control"))).toEqual([]);
	});
});

describe("tokens", () => {
	test("have 256 random bits and are kept as hashes", async () => {
		const { client, tokens } = await createApiWorld();
		const { token, info } = await client.call("POST /api/v1/tokens", { body: { scope: "read" } });
		expect(Buffer.from(token.replace(/^reeve_[0-9a-f]{12}_/, ""), "base64url")).toHaveLength(32);
		expect(JSON.stringify(tokens.list())).not.toContain(token);
		expect(info).toMatchObject({ scope: "read", expires_at: null, is_default: false });
	});

	test("that are rotated or revoked are invalid immediately", async () => {
		const { client, rawNetwork, port } = await createApiWorld();
		const ask = async (token: string) => {
			const headers = { host: `127.0.0.1:${port}`, authorization: `Bearer ${token}` };
			return (await rawNetwork({ path: "/api/v1/agents", headers })).status;
		};
		const { token: old } = await client.call("GET /api/v1/tokens/default");
		expect(await ask(old)).toBe(200);
		const { token: next } = await client.call("POST /api/v1/tokens/rotate");
		expect([await ask(old), await ask(next)]).toEqual([401, 200]);
		expect(await client.call("GET /api/v1/tokens/default")).toEqual({ token: next });
	});

	test("that are wrong too often get `wait`, a valid one is accepted", async () => {
		const { rawNetwork, port, tokens, refusals } = await createApiWorld();
		const host = `127.0.0.1:${port}`;
		const ask = (token: string) =>
			rawNetwork({ path: "/api/v1/agents", headers: { host, authorization: `Bearer ${token}` } });
		for (let failure = 0; failure < 20; failure++) expect((await ask("no")).status).toBe(401);
		const limited = await ask("no");
		expect(limited.status).toBe(429);
		expect(Number(limited.headers["retry-after"])).toBeGreaterThan(0);
		expect((await ask(await tokens.showDefault())).status).toBe(200);
		for (let failure = 0; failure < 5; failure++) await ask("no");
		const reason = "the token is invalid or expired";
		expect(refusals, "reported without a flood").toEqual([
			{ from: "127.0.0.1", reason, failures: 1 },
			{ from: "127.0.0.1", reason, failures: 21 },
		]);
	});

	test("of many addresses that fail use bounded memory (A6)", () => {
		const limit = createFailureLimit(() => 0);
		for (let n = 0; n < 21; n++) limit.failed("first");
		expect(limit.failed("first").waitMs).not.toBe(null);
		for (let n = 0; n < 1_001; n++) limit.failed(`address ${n}`);
		expect(limit.failed("first").waitMs).toBe(null);
	});
});

/** Modules of a copy of the source with one bug in it; removed afterwards. */
async function withPlanted(
	{ file, find, replace }: { file: string; find: string; replace: string },
	use: (modules: ApiModules, routes: typeof ALL_ROUTES) => Promise<void>,
): Promise<void> {
	const folder = await mkdtemp(resolve("test/http/.planted-"));
	try {
		for (const room of ["config", "core", "engine", "http", "ports"]) {
			const filter = (path: string) => !path.endsWith(".test.ts");
			await cp(resolve("src", room), `${folder}/src/${room}`, { recursive: true, filter });
		}
		const path = `${folder}/src/${file}`;
		const parts = (await readFile(path, "utf8")).split(find);
		if (parts.length !== 2) throw new Error(`${file} holds it ${parts.length - 1} times, not once`);
		await writeFile(path, parts.join(replace));
		const load = (module: string) => import(`${folder}/src/http/${module}.ts`);
		const modules = await Promise.all(
			["server", "auth/gate", "auth/tokens", "auth/login-links"].map(load),
		);
		const { ALL_ROUTES: routes } = (await load("router")) as { ALL_ROUTES: typeof ALL_ROUTES };
		// A few of each kind are enough to find what is wrong with all.
		const some = routes.filter(({ path }) => /agents|daemon|health/.test(path));
		await use(Object.assign({}, ...modules) as ApiModules, some);
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}
