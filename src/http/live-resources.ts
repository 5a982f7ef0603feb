/**
 * The resources of all agents while at least one client asks for them: measured once for all clients, and
 * not at all without one.
 */

import type { AgentView } from "../engine/agent-view.js";
import type { ResourceMeter } from "../ports/resources.js";
import type { ResourcesJson } from "./contract/agent-parts.js";
import type { LiveResources as LiveJson } from "./contract/streams.js";

const EVERY_MS = 5_000;
/** After the first reading, which knows no CPU time yet. */
const SECOND_AFTER_MS = 1_000;

export interface LiveResources {
	/** The last reading of an agent; null if nothing is being measured. */
	of(id: string): ResourcesJson | null;
	/** Calls back with each reading. The returned function ends it. */
	follow(onReading: (reading: LiveJson) => void): () => void;
}

export function createLiveResources(
	meter: ResourceMeter,
	agents: () => readonly AgentView[],
): LiveResources {
	const readers = new Set<(reading: LiveJson) => void>();
	let last = new Map<string, ResourcesJson>();
	let timer: NodeJS.Timeout | undefined;

	async function look(thenMs: number): Promise<void> {
		const running = agents()
			.filter(({ gone }) => gone === null)
			.map(({ agent: { id }, run }) => ({ id, handle: run?.handle ?? null }));
		// A failed look is followed by the next one.
		const found = await meter.measure(running).catch(() => null);
		if (readers.size === 0) return;
		if (found !== null) {
			const at = new Date().toISOString();
			last = new Map(
				[...found].map(([id, { memoryBytes, memory, cpuPercent, processes }]) => [
					id,
					{ memory_bytes: memoryBytes, memory, cpu_percent: cpuPercent, processes, at },
				]),
			);
			const reading = render(last);
			for (const read of [...readers]) read(reading);
		}
		timer = setTimeout(() => void look(EVERY_MS), thenMs).unref();
	}

	return {
		of: (id) => last.get(id) ?? null,
		follow(onReading) {
			const isFirst = readers.size === 0;
			readers.add(onReading);
			if (isFirst) void look(SECOND_AFTER_MS);
			else if (last.size > 0) onReading(render(last));
			return () => {
				readers.delete(onReading);
				if (readers.size > 0) return;
				clearTimeout(timer);
				last = new Map();
			};
		},
	};
}

function render(last: ReadonlyMap<string, ResourcesJson>): LiveJson {
	const agents = [...last].map(([id, { memory_bytes: bytes, cpu_percent: percent }]) => {
		return [id, [bytes, percent] as const] as const;
	});
	return { agents: Object.fromEntries(agents) };
}
