/** The daemon's own status. */

import type { Home } from "../home/paths.js";
import type { LimitSupport } from "../host/cgroup.js";
import type { DaemonJson } from "../http/contract/daemon.js";
import type { ClusterView } from "../ports/cluster.js";
import type { StoreHealth } from "../ports/store.js";
import type { ServiceStatus } from "../services/supervise.js";
import type { NetworkState } from "./network-service.js";

export interface StatusFacts {
	readonly home: Home;
	readonly version: string;
	readonly startedAt: string;
	readonly limits: DaemonJson["limits"];
	readonly backends: DaemonJson["backends"];
	readonly services: readonly ServiceStatus[];
	readonly health: StoreHealth;
	readonly network: NetworkState;
	readonly cluster: ClusterView;
	/** How many agents of an earlier daemon are recovered; null once all are. */
	readonly recovery: { readonly done: number; readonly total: number } | null;
	/** The daemon was asked to stop. */
	readonly stopping: boolean;
	/** Why the settings file is invalid, one problem per line. */
	readonly settingsProblem: string | null;
	/** Why the home cannot be used now. */
	readonly homeProblem: string | null;
	/** Damaged files of the home, and the actions taken. */
	readonly damagedFiles: readonly string[];
}

export function renderStatus(facts: StatusFacts): DaemonJson {
	const { home, version, startedAt, services, health, network, settingsProblem, recovery } = facts;
	// While agents are recovered, the services that wait for it have nothing to add.
	const unready = services.filter(
		({ ready, policy, reason }) =>
			!ready && (recovery === null || policy !== "critical" || reason !== null),
	);
	const isMissed = ({ policy }: ServiceStatus) => policy !== "tolerated";
	const obstacles = [
		...(facts.stopping ? ["the daemon is shutting down"] : []),
		...(recovery === null ? [] : [renderRecovery(recovery)]),
		...unready.filter(isMissed).map(renderUnready),
		...(health.ok ? [] : [`cannot write to the database: ${health.reason}`]),
		...(facts.homeProblem === null ? [] : [facts.homeProblem]),
	];
	// A daemon that cannot listen can still supervise.
	const others = [
		...unready.filter((each) => !isMissed(each)).map(renderUnready),
		...(network.problem === null ? [] : [network.problem]),
		...(facts.cluster.reason === null ? [] : [`cluster: ${facts.cluster.reason}`]),
		...(settingsProblem?.split("\n") ?? []),
		...facts.damagedFiles,
	];
	return {
		running: true,
		pid: process.pid,
		version,
		home: home.dir,
		socket: home.socket,
		listen: network.listen,
		url: network.url,
		started_at: startedAt,
		ready: obstacles.length === 0,
		problems: [...obstacles, ...others],
		services: services.map((each) => {
			const { name, policy, restarts } = each;
			return { name, policy, state: stateOf(each, facts.stopping), restarts };
		}),
		limits: facts.limits,
		backends: facts.backends,
	};
}

function renderRecovery({ done, total }: NonNullable<StatusFacts["recovery"]>): string {
	const progress = total === 0 ? "" : ` (${done} of ${total})`;
	return `the daemon is recovering its agents${progress}`;
}

function stateOf({ status, ready }: ServiceStatus, stopping: boolean): string {
	if (status !== "running" || ready) return status;
	return stopping ? "stopping" : "starting";
}

function renderUnready({ name, reason }: ServiceStatus): string {
	return reason === null ? `${name} is starting` : `${name} is not ready: ${reason}`;
}

export function renderLimits(support: readonly LimitSupport[]): DaemonJson["limits"] {
	return support.flatMap(({ name, available, reason, instead, perProcess }) => {
		if (name === "tracking") return [];
		const enforced = available ? "tree" : perProcess ? "process" : "no";
		return [{ limit: name, enforced, detail: [reason, instead ?? []].flat().join("; ") }];
	});
}
