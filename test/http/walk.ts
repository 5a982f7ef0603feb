/**
 * Tries every route in every way that must fail, as a plain request and as a WebSocket, and lists the
 * successful ones. Public routes are listed here again, so that a route that became public by mistake
 * is found.
 */

import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { Tokens } from "../../src/http/auth/tokens.js";
import type { Route } from "../../src/http/router.js";

const PUBLIC = ["GET /health", "GET /login"];

/** The routes that any agent may use; all others only about itself. */
const FOR_AGENTS = ["GET /api/v1/agents", "POST /api/v1/tasks"];

/**
 * The routes that a token for another project may use: their responses are filtered, or checked later.
 */
const FOR_LIMITED = [
	...["GET /api/v1/agents", "GET /api/v1/events", "GET /api/v1/inbox", "GET /api/v1/questions"],
	...["GET /api/v1/needs-you", "GET /api/v1/push/key", "POST /api/v1/push/subscriptions"],
	"DELETE /api/v1/push/subscriptions/:subscription",
	...["GET /api/v1/tasks", "GET /api/v1/dead-letters", "GET /api/v1/plans"],
	...["GET /api/v1/logs", "GET /api/v1/search"],
	...["GET /api/v1/history", "GET /api/v1/usage", "GET /api/v1/events/list"],
	...["GET /api/v1/openapi.json", "GET /api/v1/caller", "POST /api/v1/logout"],
	...["POST /api/v1/tasks", "GET /api/v1/tasks/:id", "POST /api/v1/tasks/:id/cancel"],
	...["POST /api/v1/dead-letters/:id/replay", "POST /api/v1/dead-letters/:id/discard"],
	...["POST /api/v1/plans", "GET /api/v1/plans/:id", "POST /api/v1/plans/:id/cancel"],
	"POST /api/v1/inbox/:message/discard",
	...["GET /api/v1/schedules", "GET /api/v1/schedules/:id", "POST /api/v1/schedules/:id/run"],
	...["POST /api/v1/schedules/:id/pause", "POST /api/v1/schedules/:id/resume"],
];

/** Responses that refuse a request. */
const REFUSALS = [401, 403, 421, 429];

export interface Target {
	readonly port: number;
	readonly cookie: string;
	readonly tokens: Tokens;
	readonly routes: readonly Route[];
	readonly wallMs: () => number;
	/** Advances the clock until expiring credentials have expired. */
	readonly pass: (ms: number) => void;
}

type Headers = Readonly<Record<string, string>>;

interface Attempt {
	readonly what: string;
	readonly headers: Headers;
	/** Its Host or Origin is wrong, which not even public routes allow. */
	readonly misplaced?: true;
	/** Which routes it may reach; any other reachable route is a violation. */
	readonly mayReach: (route: Route) => boolean;
}

export interface Walked {
	readonly holes: readonly string[];
	/** Accepted requests: a server that refuses everything would prove nothing. */
	readonly letIn: number;
	readonly requests: number;
}

export async function walk(target: Target): Promise<Walked> {
	const attempts = await prepareAttempts(target);
	const agent = new Agent({ keepAlive: true });
	const holes: string[] = [];
	let [letIn, requests] = [0, 0];
	try {
		for (const route of target.routes) {
			for (const attempt of attempts) {
				for (const socket of [false, true]) {
					const status = await send(target.port, route, attempt.headers, socket ? null : agent);
					requests += 1;
					const isIn = !REFUSALS.includes(status);
					const may = PUBLIC.includes(route.name) ? !attempt.misplaced : attempt.mayReach(route);
					const how = `${route.name} ${socket ? "as a WebSocket " : ""}${attempt.what}: ${status}`;
					if (isIn && !may) holes.push(how);
					if (isIn && may) letIn += 1;
				}
			}
		}
		return { holes, letIn, requests };
	} finally {
		agent.destroy();
	}
}

async function prepareAttempts(target: Target): Promise<readonly Attempt[]> {
	const { tokens, port, cookie, wallMs } = target;
	const make = async (scope: "read" | "operate", kind: "token" | "session" = "token") =>
		(await tokens.create({ kind, scope: { type: scope }, expiresAtMs: null })).token;
	const limited = async (type: "read" | "operate", within: string) =>
		(await tokens.create({ kind: "token", scope: { type, within }, expiresAtMs: null })).token;
	const own = { type: "agent", agent: "p:web" } as const;
	const [read, operate, session] = [
		await make("read"),
		await make("operate"),
		await make("operate", "session"),
	];
	const agent = await tokens.create({ kind: "token", scope: own, expiresAtMs: null });
	const expired = await tokens.create({
		...{ kind: "token", scope: { type: "operate" }, expiresAtMs: wallMs() + 1_000 },
	});
	const revoked = await tokens.create({
		...{ kind: "token", scope: { type: "operate" }, expiresAtMs: null },
	});
	await tokens.revoke(revoked.info.id);
	target.pass(2_000);

	const host = `127.0.0.1:${port}`;
	const home = `http://${host}`;
	const bearer = (token: string): Headers => ({ host, authorization: `Bearer ${token}` });
	const byCookie = { host, cookie: `${cookie}=${session}` };
	const nothing = () => false;
	const forAgents = ({ name }: Route) => FOR_AGENTS.includes(name);
	const reads = ({ spec }: Route) => spec.access === "read";
	const acts = ({ spec }: Route) => spec.access === "read" || spec.access === "operate";
	const forLimited = ({ name }: Route) => FOR_LIMITED.includes(name);
	const onAgents = ({ path }: Route) => /^\/api\/v1\/agents\/:/.test(path);
	const good = bearer(operate);
	const credentials: readonly [string, Headers, (route: Route) => boolean][] = [
		["with a token that may act", good, acts],
		["with a token that may read", bearer(read), reads],
		["with no token", { host }, nothing],
		["with a made-up token", bearer(`reeve_000000000000_${"A".repeat(43)}`), nothing],
		["with a token cut short", bearer(operate.slice(0, -1)), nothing],
		["with an empty token", { host, authorization: "Bearer " }, nothing],
		["with a token as password", { host, authorization: `Basic ${btoa(`:${operate}`)}` }, nothing],
		["with an expired token", bearer(expired.token), nothing],
		["with a revoked token", bearer(revoked.token), nothing],
		["with a session as token", bearer(session), nothing],
		["with a token as session", { host, cookie: `${cookie}=${operate}` }, nothing],
		["with a token of an agent, about another", bearer(agent.token), forAgents],
		["with a token of another project", bearer(await limited("operate", "q")), forLimited],
		["with a token of another agent", bearer(await limited("operate", "p:web")), forLimited],
		[
			"with a reading token of another agent",
			bearer(await limited("read", "p:web")),
			(route) => forLimited(route) && reads(route),
		],
		[
			"with a token of the project",
			bearer(await limited("operate", "p")),
			(route) => forLimited(route) || (onAgents(route) && acts(route)),
		],
		[
			"with a reading token of the project",
			bearer(await limited("read", "p")),
			(route) => reads(route) && (forLimited(route) || onAgents(route)),
		],
		["with a session, from the page itself", { ...byCookie, origin: home }, acts],
	];
	const origins = [
		"http://evil.example",
		"null",
		`http://${host}.evil.example`,
		"http://127.0.0.1:1",
	];
	const hosts = ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1:${port}.evil`, ""];
	return [
		...credentials.map(([what, headers, mayReach]) => ({ what, headers, mayReach })),
		...[good, byCookie].flatMap((headers) => [
			...origins.map((origin) => misplaced(`with Origin ${origin}`, { ...headers, origin })),
			...hosts.map((wrong) => misplaced(`with Host ${wrong}`, { ...headers, host: wrong })),
			misplaced("from another site", { ...headers, "sec-fetch-site": "cross-site" }),
		]),
		{
			what: "with a session and without Origin",
			headers: byCookie,
			// Browsers send no Origin with a GET of their own page.
			mayReach: (route) => reads(route) || (acts(route) && route.method === "GET"),
		},
	];
}

function misplaced(what: string, headers: Headers): Attempt {
	return { what, headers, misplaced: true, mayReach: () => false };
}

const UPGRADE = {
	connection: "Upgrade",
	upgrade: "websocket",
	"sec-websocket-version": "13",
	"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

/** About an agent that does not exist, with an invalid body, so a successful request has no effect. */
async function send(
	port: number,
	{ method, path }: Route,
	headers: Headers,
	agent: Agent | null,
): Promise<number> {
	const isPost = method === "POST";
	const sent = request({
		...{ host: "127.0.0.1", port, method, agent: agent ?? false, setHost: false },
		path: `${path.replace(/:\w+/, "p:missing")}?code=none`,
		headers: {
			...headers,
			...(agent === null && UPGRADE),
			...(isPost && { "content-type": "application/json" }),
		},
	});
	sent.end(isPost ? "[]" : undefined);
	const answered = Promise.race([once(sent, "response"), once(sent, "upgrade")]);
	const [response] = (await answered) as [IncomingMessage];
	response.resume();
	if (response.statusCode === 101) response.socket.destroy();
	else if (agent !== null) await once(response, "end");
	else response.destroy();
	return response.statusCode ?? 0;
}
