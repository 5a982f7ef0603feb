/** What can be asked of the daemon itself. */

import { z } from "zod";
import { defineRoutes } from "./route.js";
import { listOf, stopped, time } from "./shapes.js";

const service = z
	.object({
		name: z.string(),
		policy: z.enum(["critical", "restartable", "tolerated"]),
		state: z.string(),
		restarts: z.number(),
	})
	.readonly()
	.meta({ id: "Service" });

const limit = z
	.object({
		limit: z.enum(["memory", "pids", "cpu"]),
		enforced: z
			.enum(["tree", "process", "no"])
			.describe("for all processes of an agent together, for each by itself, or not at all"),
		detail: z.string().describe("how, or why not"),
	})
	.readonly()
	.meta({ id: "LimitSupport" });

const backend = z
	.object({
		name: z.enum(["systemd", "tmux", "pty", "launchd"]),
		usable: z.boolean(),
		auto: z.boolean().describe("whether it is what `auto` takes"),
		reason: z.string().describe("how, why not, or why `auto` does not take it"),
	})
	.readonly()
	.meta({ id: "BackendSupport" });

const problems = listOf(z.string()).describe(
	"why it is not ready, or what is wrong although it is",
);

const daemon = z
	.object({
		running: z.boolean(),
		pid: z.number(),
		version: z.string(),
		home: z.string(),
		socket: z.string(),
		listen: z.string().nullable().describe("the address on the network; null when there is none"),
		url: z.string().nullable().describe("the same as a link"),
		started_at: time,
		ready: z.boolean(),
		problems,
		services: listOf(service),
		limits: listOf(limit).describe("what this host lets the daemon enforce"),
		backends: listOf(backend).describe("what can hold a session on this host, the best first"),
	})
	.readonly()
	.meta({ id: "Daemon" });
export type DaemonJson = z.output<typeof daemon>;

export const daemonRoutes = defineRoutes({
	"GET /health": {
		summary: "Says that the daemon is alive.",
		access: "public",
		reply: z.object({ status: z.literal("ok") }),
		errors: [],
	},
	"GET /ready": {
		summary: "Says whether the daemon is ready, and why not.",
		access: "read",
		reply: z.object({ ready: z.boolean(), problems }),
		errors: [],
	},
	"GET /metrics": {
		summary: "Numbers for Prometheus; the names are in the guide to the API.",
		access: "read",
		reply: {
			stream: "text",
			contentType: "text/plain",
			meaning: "The text format of Prometheus, version 0.0.4.",
		},
		errors: [],
	},
	"GET /api/v1/daemon": {
		summary: "The daemon and its services.",
		access: "read",
		reply: daemon,
		errors: [],
	},
	"POST /api/v1/daemon/stop": {
		summary: "Ends the daemon; with `all`, its agents are stopped first.",
		access: "operate",
		body: z.object({ all: z.boolean().default(false) }),
		reply: z.object({ stopped: listOf(stopped) }),
		errors: [],
	},
	"POST /api/v1/daemon/reload": {
		summary: "Reads the daemon's settings and opens its log anew; nothing is restarted.",
		access: "operate",
		reply: z.object({
			changed: z.boolean().describe("whether other settings hold now"),
			problem: z
				.string()
				.nullable()
				.describe("why the file cannot be used; what held before goes on then"),
		}),
		errors: [],
	},
	"GET /api/v1/openapi.json": {
		summary: "This API as an OpenAPI 3.1 document.",
		access: "read",
		reply: {
			stream: "json",
			contentType: "application/json",
			meaning: "The document.",
		},
		errors: [],
	},
});
