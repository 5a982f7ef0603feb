/** Measures the resources of agents. Only used while a client asks for them. */

import type { RunHandle } from "./backend.js";

/** A running agent. */
export interface MeasuredAgent {
	/** `project:name`. */
	readonly id: string;
	/** Its confirmed run; null for an agent whose processes are children of the daemon. */
	readonly handle: RunHandle | null;
}

export interface ResourceReading {
	readonly memoryBytes: number;
	/** `cgroup`: its control group without unused file cache; `rss`: the sum over its processes. */
	readonly memory: "cgroup" | "rss";
	/** 100 is one CPU. Null at the first reading. */
	readonly cpuPercent: number | null;
	readonly processes: number;
}

export interface ResourceMeter {
	/** The readings of these agents by id; agents without a process have none. */
	measure(agents: readonly MeasuredAgent[]): Promise<ReadonlyMap<string, ResourceReading>>;
}
