/**
 * The control groups of runs that are each in a unit of their own. The shim is in the unit itself
 * and the agent, with all that it starts, in a group below: so the agent can be killed as a whole, and
 * the shim is left to record how it ended and whether memory ran out, before systemd removes
 * the unit with its last process. Limits are the unit's, set by systemd before anything runs.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import {
	describeWithout,
	explainMissing,
	type Groups,
	type Limit,
	type LimitSupport,
	type RunGroups,
	requestedLimits,
} from "../../host/cgroup.js";
import { removeGroup } from "../../host/cgroup-folders.js";
import { GROUPS_FOLDER, readOomKills } from "../../host/cgroup-members.js";
import { limitMemory } from "../../host/process-limits.js";
import type { ResourceLimits } from "../../ports/backend.js";
import { renderLimits, SLICE_FOLDER, scopeArgv } from "./scope.js";
import type { UserManager } from "./user-manager.js";

const unitOf = (runId: string) => `reeve-run-${runId}.scope`;

export function createScopeGroups(manager: UserManager): Groups {
	const folderOf = (runId: string) => join(manager.folder, SLICE_FOLDER, unitOf(runId));
	const groupOf = (runId: string) => join(folderOf(runId), GROUPS_FOLDER, "agent");
	return {
		describe: () => describeScopes(manager),
		create: (runId, limits) => createRunScope(manager, runId, folderOf(runId), limits),
		find: (runId) => [groupOf(runId)].filter((group) => existsSync(group)),
		remove: (paths) => paths.map(removeGroup).every(Boolean),
		sweep() {
			// systemd removes the units of exited processes.
		},
		close() {},
	};
}

function createRunScope(
	manager: UserManager,
	runId: string,
	folder: string,
	limits: ResourceLimits,
): RunGroups {
	const lacks = (limit: Limit) => !manager.controllers.includes(limit);
	return {
		paths: [join(folder, GROUPS_FOLDER, "agent")],
		limitedArgv: (argv, { memoryBytes }) =>
			memoryBytes !== null && lacks("memory") ? limitMemory(argv, memoryBytes) : argv,
		enclosure({ agentId, stopTimeoutMs }) {
			const properties = [...renderLimits(limits), ...renderStop(stopTimeoutMs)];
			const description = `Reeve: agent ${agentId}`;
			return scopeArgv(manager, { unit: unitOf(runId), description, properties });
		},
		inside: (fork) => fork(),
		joined() {},
		applyLimits: (asked) =>
			(Object.entries(requestedLimits(asked)) as [Limit, number | null][]).flatMap(
				([limit, value]) =>
					value !== null && lacks(limit) ? [explainMissing(limit, notHandedDown(limit))] : [],
			),
		countOomKills: () => readOomKills(folder),
	};
}

/** At `systemctl stop`, at logout and at shutdown. For systemd, 0 means no timeout. */
const renderStop = (timeoutMs: number | undefined) =>
	timeoutMs === undefined ? [] : [`TimeoutStopSec=${Math.max(1, timeoutMs)}ms`];

const notHandedDown = (limit: Limit) =>
	`the controller ${limit} is not delegated to this user's systemd (Delegate= of user@.service)`;

function describeScopes({ controllers, version }: UserManager): LimitSupport[] {
	const how = `one systemd scope per run (systemd ${version})`;
	return (["tracking", "memory", "pids", "cpu"] as const).map((name) => {
		const isMissing = name !== "tracking" && !controllers.includes(name);
		return {
			name,
			available: !isMissing,
			reason: isMissing ? notHandedDown(name) : how,
			...describeWithout(name, isMissing),
		};
	});
}
