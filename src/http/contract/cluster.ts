/** The routes of the cluster: the hosts that share a database with this one. */

import { z } from "zod";
import { defineRoutes } from "./route.js";
import { listOf, orNull, shape, time } from "./shapes.js";

const HOST_STATES = ["up", "draining", "silent"] as const;

const hostParams = z.object({
	host: z.string().min(1).max(200).describe("the name of the host in the cluster"),
});

const clusterHost = shape("ClusterHost", {
	host: z.string(),
	state: z
		.enum(HOST_STATES)
		.describe("`silent`: without a heartbeat, so nothing is known about it but its last report"),
	draining: z.boolean().describe("whether an operator drains it; also if it is silent"),
	this_host: z.boolean().describe("whether it is the host of the daemon that answers"),
	seen_ms_ago: z.number().describe("the age of its last heartbeat, by the database's clock"),
	joined_at: time.describe("when its daemon joined, by the database's clock"),
	boot: z.string().describe("the id of its daemon; new for every daemon"),
	version: z.string().describe("the version of Reeve"),
	labels: z.record(z.string(), z.string()).readonly(),
	advertise: orNull(z.string(), "the URL of its daemon for other hosts"),
	adapters: listOf(z.string()).describe("the agent CLIs that are installed"),
	agents: z.number().describe("number of running agents"),
	cpus: z.number(),
	load: z.number().describe("average number of busy processes over the last minute"),
	memory_total_bytes: z.number(),
	memory_free_bytes: z.number(),
});
/** A host of the cluster, as it last reported itself. */
export type ClusterHostJson = z.output<typeof clusterHost>;

const CLUSTER_ERRORS = ["cluster_off", "cluster_unavailable"] as const;

export const clusterRoutes = defineRoutes({
	"GET /api/v1/cluster/hosts": {
		summary: "Lists the hosts of the cluster.",
		access: "read",
		stores: "never",
		reply: z.object({ hosts: listOf(clusterHost) }),
		errors: CLUSTER_ERRORS,
	},
	"GET /api/v1/cluster/hosts/:host": {
		summary: "Returns a host of the cluster.",
		access: "read",
		stores: "never",
		params: hostParams,
		reply: clusterHost,
		errors: [...CLUSTER_ERRORS, "host_not_found"],
	},
	"POST /api/v1/cluster/hosts/:host/drain": {
		summary:
			"Marks a host of the cluster as draining: it gets no more agents. Agents that run there are not affected, unless it is about to restart.",
		access: "operate",
		stores: "never",
		params: hostParams,
		body: z.object({
			until_restart: z
				.boolean()
				.optional()
				.describe(
					"its daemon is about to restart: it also gives its agents with `on_lost: replace` to other hosts, and the next daemon is not draining",
				),
		}),
		reply: clusterHost,
		errors: [...CLUSTER_ERRORS, "host_not_found"],
	},
	"POST /api/v1/cluster/hosts/:host/resume": {
		summary: "Ends the draining of a host.",
		access: "operate",
		stores: "never",
		params: hostParams,
		reply: clusterHost,
		errors: [...CLUSTER_ERRORS, "host_not_found"],
	},
	"POST /api/v1/cluster/hosts/:host/remove": {
		summary: "Removes a silent host from the cluster. If its daemon returns, it joins again.",
		access: "operate",
		stores: "never",
		params: hostParams,
		reply: z.object({ removed: z.string() }),
		errors: [...CLUSTER_ERRORS, "host_not_found", "host_alive"],
	},
});
