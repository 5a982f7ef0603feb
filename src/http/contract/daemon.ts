/** The routes of the daemon itself. */

import { z } from "zod";
import { defineRoutes } from "./route.js";
import { listOf, orNull, shape, stopped, time } from "./shapes.js";

const service = shape("Service", {
	name: z.string(),
	policy: z.enum(["critical", "restartable", "tolerated"]),
	state: z.string(),
	restarts: z.number(),
});

const limit = shape("LimitSupport", {
	limit: z.enum(["memory", "pids", "cpu"]),
	enforced: z
		.enum(["tree", "process", "no"])
		.describe("for the whole process tree of an agent, per process, or not at all"),
	detail: z.string().describe("how it is enforced, or why it is not"),
});

const backend = shape("BackendSupport", {
	name: z.enum(["systemd", "tmux", "pty", "launchd"]),
	usable: z.boolean(),
	auto: z.boolean().describe("whether `auto` selects it"),
	reason: z
		.string()
		.describe("how it works, why it is not available, or why `auto` does not select it"),
});

const problems = listOf(z.string()).describe(
	"why it is not ready, or problems despite being ready",
);

const daemon = shape("Daemon", {
	running: z.boolean(),
	pid: z.number(),
	version: z.string(),
	home: z.string(),
	socket: z.string(),
	listen: orNull(z.string(), "the TCP address; null if it does not listen on TCP"),
	url: orNull(z.string(), "the address as a URL"),
	started_at: time,
	ready: z.boolean(),
	problems,
	services: listOf(service),
	limits: listOf(limit).describe("the limits that the daemon can enforce on this host"),
	backends: listOf(backend).describe("the backends of this host, in order of preference"),
});
/** The daemon as `reeve daemon status --json` shows it. */
export type DaemonJson = z.output<typeof daemon>;

const finding = shape("Finding", {
	name: z.string(),
	status: z.enum(["ok", "warn", "fail"]),
	detail: z.string(),
	fix: z.string().nullable(),
});
/** A check of `reeve doctor`. */
export type FindingJson = z.output<typeof finding>;

const host = shape("Host", {
	daemon,
	host: z.string(),
	platform: z.string(),
	node: z.string(),
	cpus: z.number(),
	load: listOf(z.number()).describe("average number of busy processes over 1, 5 and 15 minutes"),
	memory_total_bytes: z.number(),
	memory_free_bytes: z.number(),
	uptime_ms: z.number(),
	daemon_memory_bytes: z.number().describe("resident memory of the daemon"),
	disk: z
		.object({ path: z.string(), total_bytes: z.number(), free_bytes: z.number() })
		.readonly()
		.nullable()
		.describe("the disk of the home; null if it cannot be read"),
	database_bytes: z.number().nullable(),
	findings: listOf(finding).nullable().describe("of `reeve doctor`; null without `findings`"),
	findings_at: time.nullable(),
	findings_problem: orNull(z.string(), "why there are no findings"),
});
/** The state of the host, with the findings of `reeve doctor`. */
export type HostJson = z.output<typeof host>;

const testedRoute = shape("TestedRoute", {
	name: z.string(),
	type: z.string(),
	ok: z.boolean().describe("whether the notification was sent"),
	reason: orNull(z.string(), "the error, if any"),
});
export type TestedRouteJson = z.output<typeof testedRoute>;

export const daemonRoutes = defineRoutes({
	"GET /health": {
		summary: "Returns 200 while the daemon is alive.",
		access: "public",
		stores: "never",
		early: true,
		reply: z.object({ status: z.literal("ok") }),
		errors: [],
	},
	"GET /ready": {
		summary:
			"Returns 200 while the daemon is ready, otherwise 503 with the reason: it recovers its agents, cannot write to its database, or is stopping.",
		access: "read",
		stores: "never",
		early: true,
		reply: z.object({ ready: z.boolean(), problems }),
		errors: [],
	},
	"GET /metrics": {
		summary: "Returns metrics for Prometheus. The API guide lists their names.",
		access: "read",
		stores: "never",
		reply: {
			stream: "text",
			contentType: "text/plain",
			meaning: "The text format of Prometheus, version 0.0.4.",
		},
		errors: [],
	},
	"GET /api/v1/daemon": {
		summary: "Returns the state of the daemon and its services.",
		access: "read",
		stores: "never",
		early: true,
		reply: daemon,
		errors: [],
	},
	"GET /api/v1/host": {
		summary:
			"Returns the state of the host: daemon, disk, versions and the findings of `reeve doctor`.",
		access: "read",
		stores: "never",
		query: z.object({
			findings: z
				.enum(["0", "1"])
				.default("1")
				.describe("`0` leaves out the findings, which take a moment to compute to compute"),
		}),
		reply: host,
		errors: [],
	},
	"POST /api/v1/daemon/stop": {
		summary: "Stops the daemon. With `all`, stops its agents first.",
		access: "operate",
		stores: "never",
		body: z.object({ all: z.boolean().default(false) }),
		reply: z.object({ stopped: listOf(stopped) }),
		errors: [],
	},
	"POST /api/v1/daemon/reload": {
		summary: "Applies the daemon's settings and reopens its log, without a restart.",
		access: "operate",
		stores: "never",
		reply: z.object({
			changed: z.boolean().describe("whether the settings changed"),
			keys: listOf(z.string()).describe("the changed settings, never their values"),
			problem: orNull(z.string(), "why the file is invalid; the previous settings stay in effect"),
		}),
		errors: [],
	},
	"POST /api/v1/notify/test": {
		summary:
			"Sends a test notification over the configured routes, ignoring their kinds and quiet hours.",
		access: "operate",
		stores: "never",
		body: z.object({
			route: z.string().nullable().default(null).describe("the name of a route; null for all"),
		}),
		reply: z.object({ routes: listOf(testedRoute) }),
		errors: ["notify_route_not_found"],
	},
	"GET /api/v1/openapi.json": {
		summary: "Returns this API as an OpenAPI 3.1 document.",
		access: "read",
		stores: "never",
		early: true,
		limited: "free",
		reply: {
			stream: "json",
			contentType: "application/json",
			meaning: "The OpenAPI document.",
		},
		errors: [],
	},
});
