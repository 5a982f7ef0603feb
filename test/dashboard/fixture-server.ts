/** Serves the built page with the answers of a fleet that does not exist, so that pictures are the same every time. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { WebSocketServer } from "ws";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { RemoteJson } from "../../src/http/contract/remotes.js";
import { createPage } from "../../src/http/page.js";
import { ago, FLEET, fixtureHistory, NOW_MS, RUNS } from "./fixture-fleet.js";
import { MATCHES, MERGED, REMOTE_AGENTS, SCHEDULES, SLOTS } from "./fixture-more.js";

export interface FixtureServer {
	readonly url: string;
	/** The requests that change something: `POST /api/v1/…`. */
	readonly changes: readonly string[];
	setRemotes(remotes: readonly RemoteJson[]): void;
	/** Sends an event to every open page. */
	emit(event: object): void;
	/** Sends something that is not stored, under this name. */
	emitLive(name: string, data: object): void;
	/** Replaces an agent; an event about it makes pages read it. */
	change(agent: AgentJson): void;
	/** Closes the streams and refuses requests until `recover`. */
	fail(): void;
	recover(): void;
	close(): Promise<void>;
}

type Answer = (url: URL, request: IncomingMessage) => unknown;

export interface Fixture {
	readonly remotes?: readonly RemoteJson[];
	/** Changes every answer, for example with text that tries to act. */
	readonly change?: (answer: unknown) => unknown;
}

export async function startFixtureServer(
	fleet: readonly AgentJson[] = FLEET,
	{ remotes = [], change = (answer) => answer }: Fixture = {},
): Promise<FixtureServer> {
	const agents = new Map(fleet.map((agent) => [agent.id, agent]));
	const streams = new Set<ServerResponse>();
	const changes: string[] = [];
	let hosts = remotes;
	let seq = 1_000;
	let isDown = false;
	// The time of the fixture starts with the server and then passes.
	const startedMs = Date.now();
	const date = () => new Date(NOW_MS + Date.now() - startedMs).toUTCString();
	const page = createPage(resolve("dist/dashboard"));
	const answers = answersOf(agents, () => seq);
	const elsewhere = answersOf(new Map(REMOTE_AGENTS.map((agent) => [agent.id, agent])), () => 1);
	const server = createServer((request, response) => {
		const url = new URL(request.url ?? "/", "http://fixture");
		const { port } = server.address() as AddressInfo;
		const via = {
			type: "network",
			hosts: [`127.0.0.1:${port}`],
			secure: false,
			cookie: "c",
		} as const;
		response.sendDate = false;
		response.setHeader("date", date());
		if (isDown) return void response.destroy();
		if (request.method === "POST") changes.push(`POST ${url.pathname}`);
		if (page.answer(request, response, url.pathname, via)) return;
		const [, remote, rest] = /^\/remotes\/([^/]+)(\/.*)$/.exec(url.pathname) ?? [];
		if (rest !== undefined) url.pathname = rest;
		const { pathname } = url;
		if (pathname.endsWith("/screen/stream")) return openStream(response, [SCREEN]);
		if (pathname === "/api/v1/remotes") return void reply(response, change({ remotes: hosts }));
		if (pathname === "/api/v1/logs") {
			return openStream(
				response,
				MERGED.map((line) => `${JSON.stringify(change(line))}\n`),
			);
		}
		if (pathname === "/api/v1/events") {
			if (remote !== undefined) return openStream(response, []);
			openStream(response, []);
			streams.add(response);
			response.on("close", () => streams.delete(response));
			return;
		}
		const known = remote === undefined ? answers : elsewhere;
		const answer = known.find(([path]) => path.test(pathname))?.[1];
		const missing = { error: { code: "no_route", message: pathname, hint: "", details: null } };
		reply(response, change(answer?.(url, request) ?? missing), answer === undefined ? 404 : 200);
	});
	const sockets = new WebSocketServer({ noServer: true });
	server.on("upgrade", (request, socket, head) => {
		if (isDown) return void socket.destroy();
		sockets.handleUpgrade(request, socket, head, (opened) => {
			opened.send(JSON.stringify({ type: "snapshot", columns: 120, rows: 30 }));
			opened.send(Buffer.from(TERMINAL.join("\r\n")));
			opened.send(JSON.stringify({ type: "writer", you: false, holder: null }));
		});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	return {
		...{ url: `http://127.0.0.1:${port}`, changes },
		setRemotes(now) {
			hosts = now;
		},
		emit(event) {
			seq += 1;
			const data = JSON.stringify({
				seq,
				at: new Date(Date.parse(date())).toISOString(),
				...event,
			});
			for (const each of streams) each.write(`id: ${seq}\ndata: ${data}\n\n`);
		},
		emitLive(name, data) {
			for (const each of streams) each.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
		},
		change: (agent) => void agents.set(agent.id, agent),
		fail() {
			isDown = true;
			for (const each of streams) each.destroy();
		},
		recover() {
			isDown = false;
		},
		async close() {
			for (const each of sockets.clients) each.terminate();
			server.closeAllConnections();
			server.close();
			await once(server, "close");
		},
	};
}

function reply(response: ServerResponse, answer: unknown, status = 200): void {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(JSON.stringify(answer));
}

function openStream(response: ServerResponse, messages: readonly string[]): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	response.flushHeaders();
	for (const message of messages) response.write(message);
}

/** The same on a terminal, in colours of 16, 256 and 16 million. */
const TERMINAL = [
	"\x1b[2m>\x1b[0m Split the checkout as planned in docs/plan.md, start with the database.",
	"",
	"\x1b[32m●\x1b[0m I'll write the migration first, then run it on staging before I touch the code.",
	"",
	"\x1b[32m●\x1b[0m \x1b[1mWrite\x1b[0m(db/migrations/0042_split_checkout.sql)",
	"  \x1b[2m└  Wrote 38 lines to db/migrations/0042_split_checkout.sql\x1b[0m",
	"     \x1b[38;5;78m1 + alter table orders add column checkout_id uuid;\x1b[0m",
	"     \x1b[38;2;110;200;150m2 + create table checkouts (id uuid primary key, cart_id uuid not null,\x1b[0m",
	"",
	"\x1b[32m●\x1b[0m \x1b[1mBash\x1b[0m(npm test -- checkout)",
	"  \x1b[2m└  Test Files  14 passed (14)\x1b[0m",
	"  \x1b[2m        Tests  96 passed (96)\x1b[0m",
	"",
	"\x1b[32m●\x1b[0m The tests pass. Next I apply the migration to staging.",
	"",
	`\x1b[94m${"─".repeat(100)}\x1b[0m`,
	" \x1b[94mBash command\x1b[0m",
	"",
	"   npm run db:migrate -- --env staging",
	"   \x1b[2mApply migration 0042 to the staging database\x1b[0m",
	"",
	" Do you want to proceed?",
	" \x1b[94m❯ 1. Yes\x1b[0m",
	"   2. Yes, and don't ask again for npm run db:migrate commands in ~/code/shop",
	"   3. No, and explain what to do differently \x1b[2m(esc)\x1b[0m",
];

const line = (text: string, more: object = {}) => [{ text, ...more }];

const SCREEN = `event: screen\ndata: ${JSON.stringify({
	...{ columns: 80, rows: 24, title: "", complete: true, cursor: { x: 2, y: 14, visible: true } },
	lines: [
		[
			{ text: "● ", fg: 2 },
			{ text: "Write", bold: true },
			{ text: "(db/0042_split_checkout.sql)" },
		],
		line("  └ Wrote 38 lines", { dim: true }),
		[],
		[{ text: "● ", fg: 2 }, { text: "Bash", bold: true }, { text: "(npm test -- checkout)" }],
		line("  └ Test Files  14 passed (14)", { dim: true }),
		line("         Tests  96 passed (96)", { dim: true }),
		[],
		[{ text: "● ", fg: 2 }, { text: "The tests pass. Next I apply the migration to staging." }],
		[],
		line("Bash command", { fg: 12 }),
		line("  npm run db:migrate -- --env staging"),
		[],
		line("Do you want to proceed?"),
		line("❯ 1. Yes", { fg: 12 }),
		line("  2. No"),
	],
})}\n\n`;

const task = (name: string, more: object) => ({
	...{
		task_id: `t-${name}`,
		plan_id: "plan-1",
		name,
		agent: "ops:deploy",
		action: name,
		attempts: [],
	},
	...{ max_attempts: 3, priority: 0, idempotent: false, timeout_ms: 30_000, depends_on: [] },
	...{
		reason: "",
		next_attempt_at: null,
		created_at: ago(114_000),
		ended_at: null,
		status: "queued",
	},
	...{
		correlation_id: "c",
		replay_of: null,
		replayed_as: null,
		discarded: false,
		may_have_run: false,
	},
	...{ payload: { url: "https://staging.shop.example", paths: ["/", "/cart"] }, context: null },
	...more,
});

const attempt = (n: number, from: number, to: number, error?: string) => ({
	...{ n, started_at: ago(from), ended_at: ago(to), log: error ? `GET /checkout: ${error}\n` : "" },
	...(error ? { error: { kind: "backend_failure", message: error } } : {}),
});

const done = (name: string, needs: string[], from: number, to: number) =>
	task(name, {
		...{ status: "succeeded", depends_on: needs, attempts: [attempt(1, from, to)] },
		ended_at: ago(to),
	});

const PLAN_TASKS = [
	done("fetch", [], 114_000, 112_800),
	done("changelog", ["fetch"], 112_800, 112_400),
	done("build_web", ["fetch"], 112_800, 72_000),
	task("build_api", { status: "in_progress", depends_on: ["fetch"], created_at: ago(113_000) }),
	done("reindex", ["fetch"], 112_800, 104_400),
	task("smoke_web", {
		...{ status: "retried", depends_on: ["build_web"] },
		attempts: [
			attempt(1, 72_000, 42_000, "no answer in 30 s"),
			attempt(2, 42_000, 12_500, "503 from staging.shop.example"),
		],
		next_attempt_at: new Date(NOW_MS + 60_000).toISOString(),
	}),
	task("smoke_api", { depends_on: ["build_api"] }),
	task("push", { depends_on: ["changelog", "smoke_web", "smoke_api", "reindex"] }),
	task("announce", { depends_on: ["push"], agent: "shop:git", action: "notes" }),
];

const PLAN = {
	...{ plan_id: "plan-1", name: "release 2.4.0", status: "running", on_failure: "fail_fast" },
	...{ reason: "", created_at: ago(114_000), ended_at: null, correlation_id: "c" },
};

const letter = (name: string, message: string, risky: boolean, attempts: number, endedMs: number) =>
	task(name, {
		...{
			task_id: `dead-${endedMs}`,
			status: "dead_lettered",
			created_at: ago(endedMs + 30_000 * attempts),
			ended_at: ago(endedMs),
			name: "root",
		},
		...{
			error: { code: "timeout", kind: "timeout", message },
			reason: message,
			may_have_run: risky,
		},
		attempts: Array.from({ length: attempts }, (_, index) =>
			attempt(
				index + 1,
				endedMs + 30_000 * (attempts - index),
				endedMs + 30_000 * (attempts - index - 1),
				message,
			),
		),
	});

const LETTERS = [
	letter("push", "no answer in 30 s", true, 1, 52 * 60_000),
	letter("push", "no answer in 30 s", true, 1, 53 * 60_000),
	letter("smoke", "failed 3 times: 503 from staging.shop.example", false, 3, 205 * 60_000),
];

const DAYS = ["2026-06-09", "2026-06-10", "2026-06-11", "2026-06-12", "2026-06-14", "2026-06-15"];

const DAEMON = {
	...{
		running: true,
		pid: 812,
		version: "0.1.0",
		home: "/home/ada/.reeve",
		ready: true,
		problems: [],
	},
	...{
		socket: "/home/ada/.reeve/reeve.sock",
		listen: "127.0.0.1:4270",
		url: "http://127.0.0.1:4270",
	},
	started_at: ago(3 * 86_400_000),
	services: ["engine", "dispatcher", "http", "network"].map((name) => ({
		...{ name, policy: "critical", state: "running", restarts: 0 },
	})),
	limits: [],
	backends: [
		{ name: "systemd", usable: true, auto: true, reason: "limits for the whole process tree" },
		{ name: "tmux", usable: false, auto: false, reason: "tmux is not installed" },
	],
};

const FINDINGS = [
	{ name: "disk", status: "ok", detail: "53 GB free", fix: null },
	{ name: "claude", status: "ok", detail: "version 2.1.4, logged in", fix: null },
	{
		name: "linger",
		status: "warn",
		detail: "agents stop when you log out",
		fix: "loginctl enable-linger",
	},
];

function answersOf(
	agents: ReadonlyMap<string, AgentJson>,
	seq: () => number,
): readonly (readonly [RegExp, Answer])[] {
	const agentOf = ({ pathname }: URL) =>
		agents.get(decodeURIComponent(pathname.split("/")[4] ?? ""));
	return [
		[
			/^\/api\/v1\/agents$/,
			({ searchParams }) => {
				const ids = searchParams.get("ids")?.split(",");
				const found = [...agents.values()].filter(({ id }) => ids?.includes(id) ?? true);
				return { agents: found, seq: seq() };
			},
		],
		[
			/^\/api\/v1\/history$/,
			() => ({
				...{ from: NOW_MS / 1_000 - 86_400, to: NOW_MS / 1_000, complete: true },
				agents: [...agents.values()].map(fixtureHistory),
			}),
		],
		[/^\/api\/v1\/schedules$/, () => ({ schedules: agents.has("shop:coder") ? SCHEDULES : [] })],
		[/\/schedules\/[^/]+\/run$/, () => SLOTS[0]],
		[/\/schedules\/[^/]+\/(pause|resume)$/, () => ({ schedule: SCHEDULES[0], changed: true })],
		[
			/\/schedules\/[^/]+$/,
			({ pathname }) => ({
				schedule: SCHEDULES.find(({ id }) => pathname.endsWith(encodeURIComponent(id))),
				slots: SLOTS,
			}),
		],
		[
			/^\/api\/v1\/search$/,
			({ searchParams }) => ({
				matches: searchParams.get("text") === "memory" ? MATCHES : [],
				...{ incomplete: [], bytes: 81e6, read_bytes: 2e6, took_ms: 42.4 },
			}),
		],
		[/\/questions\/[^/]+\/answer$/, () => ({ label: "Yes" })],
		[/\/runs$/, () => ({ runs: RUNS, next: null })],
		[
			/\/config$/,
			(url) => ({
				...{ id: agentOf(url)?.id, fleet_file: "/home/ada/code/shop/reeve.yaml", problem: null },
				settings: [
					{ key: "command", value: "claude --model opus", source: "agent", at: "reeve.yaml:14" },
					{ key: "account", value: "work", source: "defaults", at: "reeve.yaml:4" },
					{ key: "limits.memory", value: "2GiB", source: "agent", at: "reeve.yaml:19" },
					{ key: "env.API_KEY", value: "***", source: "agent", at: "reeve.yaml:21" },
					{ key: "crash_policy.window", value: "60s", source: "default", at: null },
				],
			}),
		],
		[
			/\/logs\/lines$/,
			() => ({
				lines: ["$ npm test", "14 passed", "<b>not bold</b>"].map((text, n) => ({
					position: `log:${n}`,
					text,
				})),
				...{ older: null, newer: "log:3" },
			}),
		],
		[
			/\/logs\/search$/,
			() => ({
				matches: [{ position: "log:0", text: "$ npm test" }],
				next: null,
				searched_bytes: 1,
			}),
		],
		[/^\/api\/v1\/agents\/[^/]+\/screen$/, () => ({ text: "screen" })],
		[
			/^\/api\/v1\/agents\/[^/]+$/,
			(url) => ({
				...agentOf(url),
				exits: [],
				crash: {
					state: {
						policy: "healthy",
						running_ms: 1,
						exits: [],
						flaps: 0,
						budget_spent_at: [],
						out_of_memory_at: [],
						waits: { limit: 0, trouble: 0 },
					},
					settings: {
						...{
							window_ms: 60_000,
							flap_threshold: 3,
							halt_threshold: 7,
							history: 10,
							jitter: 0.1,
						},
						...{
							transient_delay_ms: 2_000,
							flapping_delay_ms: 30_000,
							permanent_exit_codes: [],
							delay: null,
						},
						...{ halt: "crash_loop", on_failure: "restart" },
						budget: { exits: 20, within_ms: 3_600_000 },
					},
					on_clean_exit: "prompt",
				},
				log_dir: "/home/ada/.reeve/logs",
				last_output: ["Error: Cannot find module '../config/env.js'"],
				depends_on: [],
				environment: { variables: [], env_file: null, warnings: [] },
			}),
		],
		[
			/^\/api\/v1\/host$/,
			({ searchParams }) => ({
				...{
					daemon: DAEMON,
					host: "box-1",
					platform: "linux x64",
					node: "v24.1.0",
					cpus: 8,
					load: [0.4, 0.5, 0.4],
				},
				...{
					memory_total_bytes: 32e9,
					memory_free_bytes: 12e9,
					uptime_ms: 1e9,
					daemon_memory_bytes: 78e6,
				},
				disk: { path: "/home/ada/.reeve", total_bytes: 500e9, free_bytes: 53e9 },
				database_bytes: 12e6,
				findings: searchParams.get("findings") === "0" ? null : FINDINGS,
				...{ findings_at: ago(0), findings_problem: null },
			}),
		],
		[
			/^\/api\/v1\/caller$/,
			() => ({ kind: "session", id: "s1", scope: "operate", expires_at: ago(-5 * 86_400_000) }),
		],
		[
			/^\/api\/v1\/tokens$/,
			() => ({
				tokens: [
					{
						id: "s1",
						name: null,
						kind: "session",
						scope: "operate",
						created_at: ago(86_400_000),
						expires_at: ago(-5 * 86_400_000),
						is_default: false,
						last_used_at: ago(1_000),
					},
					{
						id: "t1",
						name: "ci",
						kind: "token",
						scope: "operate:shop",
						created_at: ago(9e8),
						expires_at: null,
						is_default: false,
						last_used_at: null,
					},
				],
			}),
		],
		[
			/^\/api\/v1\/inbox$/,
			() => ({
				messages: agents.has("shop:docs")
					? [
							{
								id: "m-1",
								agent: "shop:docs",
								text: "Go on.",
								accepted_at: ago(60_000),
								phase: "queued",
								attempts: 0,
								reason: null,
							},
						]
					: [],
			}),
		],
		[
			/^\/api\/v1\/dead-letters$/,
			() => ({ tasks: agents.has("ops:deploy") ? LETTERS : [], next: null }),
		],
		[
			/^\/api\/v1\/tasks$/,
			() => ({ tasks: [...PLAN_TASKS, ...LETTERS], next: null, counts: { succeeded: 4 } }),
		],
		[
			/^\/api\/v1\/tasks\//,
			({ pathname }) =>
				[...PLAN_TASKS, ...LETTERS].find(({ task_id }) => pathname.endsWith(String(task_id))),
		],
		[/^\/api\/v1\/plans$/, () => ({ plans: [PLAN], next: null })],
		[/^\/api\/v1\/plans\//, () => ({ ...PLAN, tasks: PLAN_TASKS })],
		[
			/^\/api\/v1\/usage$/,
			() => ({
				today: "2026-06-15",
				days: DAYS.flatMap((day, n) =>
					[...agents.values()].flatMap(({ id, usage, adapter }) =>
						usage === null
							? []
							: [
									{
										day,
										agent: id,
										account: adapter,
										input: 310_000,
										output: 120_000,
										cache_read: 3_580_000,
										cache_write: 190_000,
										usd:
											usage.usd_today === null
												? null
												: usage.usd_today *
													(n === DAYS.length - 1 ? 1 : 0.4 + ((n * 37) % 10) / 10),
									},
								],
					),
				),
				budgets: [
					{
						...{ of: "account", name: "claude", tokens_per_day: 8e7, usd_per_day: null },
						...{ tokens_today: 7.1e7, usd_today: 21.46 },
					},
					{
						...{ of: "agent", name: "shop:coder", tokens_per_day: null, usd_per_day: 20 },
						...{ tokens_today: 4.2e6, usd_today: 9.64 },
					},
				],
				accounts: [
					{
						account: "claude",
						agents: ["shop:coder", "shop:tests"],
						limited: false,
						reason: null,
						until: null,
					},
					{
						account: "gemini",
						agents: ["shop:docs"],
						limited: true,
						reason: "daily quota used",
						until: new Date(NOW_MS + 72 * 60_000).toISOString(),
					},
				],
			}),
		],
		[
			/^\/api\/v1\/events\/list$/,
			() => ({
				events: [
					{
						seq: 1_000,
						at: ago(4 * 60_000),
						type: "agent.activity",
						agent: "shop:coder",
						data: { from: "busy", to: "waiting_input", source: "hook" },
					},
					{
						seq: 999,
						at: ago(38 * 60_000),
						type: "agent.decided",
						agent: "api:coder",
						data: {
							policy: "halted",
							action: "halt",
							reason: "crashed 7 times without a stable run",
						},
					},
					{
						seq: 998,
						at: ago(38 * 60_000),
						type: "agent.exited",
						agent: "api:coder",
						data: { code: 1, signal: null, cause: "crash", uptime_ms: 400 },
					},
				],
				next: null,
			}),
		],
	];
}
