/** The activity of the programs that an agent has started, as far as the system reports it. */

import type { ToolWork } from "../core/stall.js";
import type { ProcessIdentity } from "../ports/backend.js";
import { nextProcessTable } from "./process-table.js";
import { watchTree } from "./process-tree.js";

/**
 * Agent CLIs run their tools in separate process groups, and their own helpers (a launcher, tool servers) in their own.
 */
export async function readToolWork(runId: string, root: ProcessIdentity): Promise<ToolWork> {
	const members = watchTree({ runId, root, groups: [] }).members(await nextProcessTable());
	const own = members.find(({ pid }) => pid === root.pid)?.pgid;
	const tools = members.filter(({ pgid }) => pgid !== own);
	return {
		processes: tools.map(({ pid, startTime }) => `${pid} ${startTime}`).join(),
		cpuMs: tools.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
	};
}
