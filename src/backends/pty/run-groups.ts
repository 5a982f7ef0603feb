/**
 * The control groups of runs, created by the daemon and joined by the agents themselves. They are below the starter's
 * own group and not below the daemon's, so that they do not end with the daemon's unit. The daemon is never moved.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createGroups, findGroups, type Groups, readGroupLayout } from "../../host/cgroup.js";

export interface GroupsOfStarter {
	/** Groups below that of this starter. */
	of(starterPid: number): Groups;
	/** The groups of a run whose shim, with this pid, was started by a starter that may be gone. */
	find(runId: string, shimPid: number): readonly string[];
	/**
	 * Removes the empty groups of all runs. Without a known starter, they are looked for where the starter of this
	 * process would be.
	 */
	sweep(): void;
	close(): void;
}

/** Groups of ended runs are kept until their exits are read, possibly by a later daemon. */
const SWEEP_AFTER_MS = 60_000;

export function createStarterGroups(
	folder: string,
	/** Why there are none. */
	off: string | null,
): GroupsOfStarter {
	const owner = createHash("sha256").update(folder).digest("hex").slice(0, 12);
	let known: Groups | null = null;
	let knownPid = 0;
	let knownText = "";
	let timer: NodeJS.Timeout | undefined;

	function create(pid: number): Groups {
		const layout = off ?? readGroupLayout(pid);
		const groups = createGroups(owner, layout, { steps: false });
		clearTimeout(timer);
		timer = setTimeout(() => groups.sweep(), SWEEP_AFTER_MS).unref();
		return groups;
	}

	return {
		of(pid) {
			if (known !== null && pid === knownPid) return known;
			const text = readText(`/proc/${pid}/cgroup`);
			if (known === null || text !== knownText) {
				known?.close();
				known = create(pid);
			}
			knownPid = pid;
			knownText = text;
			return known;
		},
		find(runId, shimPid) {
			// A dead shim cannot be inspected; its starter was most likely in the group of this process.
			const asked = off ?? readGroupLayout(shimPid);
			const layout = typeof asked === "string" && off === null ? readGroupLayout() : asked;
			return typeof layout === "string" ? [] : findGroups(layout, `${owner}-${runId}`);
		},
		sweep() {
			if (off !== null) return;
			const groups = known ?? createGroups(owner, readGroupLayout(), { steps: false });
			groups.sweep();
			if (known === null) groups.close();
		},
		close() {
			clearTimeout(timer);
			known?.close();
			known = null;
		},
	};
}

function readText(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}
