/** Handlers of the cluster. */

import { type ClusterHost, hostState } from "../../core/cluster.js";
import type { ClusterHostJson, clusterRoutes } from "../contract/cluster.js";
import type { Handlers, HttpParts } from "../handler.js";

export function createClusterHandlers({
	cluster,
}: HttpParts): Handlers<keyof typeof clusterRoutes> {
	const render = (host: ClusterHost): ClusterHostJson => ({
		host: host.host,
		state: hostState(host),
		draining: host.draining,
		this_host: host.host === cluster.view().host,
		seen_ms_ago: host.ageMs,
		joined_at: new Date(host.joinedAtMs).toISOString(),
		boot: host.boot,
		version: host.version,
		labels: host.labels,
		advertise: host.advertise,
		adapters: host.adapters,
		agents: host.agents,
		cpus: host.cpus,
		load: host.load,
		memory_total_bytes: host.memoryTotalBytes,
		memory_free_bytes: host.memoryFreeBytes,
	});
	return {
		"GET /api/v1/cluster/hosts": async () => ({ hosts: (await cluster.hosts()).map(render) }),
		"GET /api/v1/cluster/hosts/:host": async ({ params }) =>
			render(await cluster.host(params.host)),
		"POST /api/v1/cluster/hosts/:host/drain": async ({ params, body }) => {
			const draining = body.until_restart === true ? "until_restart" : true;
			return render(await cluster.setDraining(params.host, draining));
		},
		"POST /api/v1/cluster/hosts/:host/resume": async ({ params }) =>
			render(await cluster.setDraining(params.host, false)),
		"POST /api/v1/cluster/hosts/:host/remove": async ({ params }) => {
			await cluster.remove(params.host);
			return { removed: params.host };
		},
	};
}
