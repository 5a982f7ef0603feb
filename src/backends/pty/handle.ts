/** What the backend keeps in a run's handle: the folders of its control groups, and limits that are missing. */

import type { RunHandle } from "../../ports/backend.js";

export function handleData(
	groups: readonly string[],
	missingLimits: readonly string[],
): RunHandle["data"] {
	return {
		...(groups.length > 0 ? { groups: groups.join(":") } : {}),
		...(missingLimits.length > 0 ? { missingLimits: missingLimits.join("; ") } : {}),
	};
}

export function groupsOf({ data }: RunHandle): readonly string[] {
	const { groups } = data;
	return typeof groups === "string" ? groups.split(":") : [];
}
