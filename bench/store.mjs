/**
 * How many durable commits the store makes in a second: one awaited at a time, and a hundred in
 * flight. Each writes an agent's state and an event. The disk decides, so run it where the database
 * will be.
 *
 *   npm run bench:store -- [--seconds 2] [--folder /somewhere]
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
	options: {
		seconds: { type: "string", default: "2" },
		folder: { type: "string", default: tmpdir() },
	},
});
// By a name that is not checked: what is measured is the build, which may not be there yet.
const built = new URL("../build/store/sqlite/open-store.js", import.meta.url).href;
/** @type {typeof import("../src/store/sqlite/open-store.js")} */
const { openStore } = await import(built);

/** @type {import("../src/ports/store.js").StoredAgent} */
const AGENT = {
	...{ id: "web:a", fleetFile: "/reeve.yaml", position: 0, desired: "up", waiting: false },
	...{ spec: { command: ["node", "agent.mjs"], cwd: "/srv/web" }, reason: "started", restarts: 0 },
	crash: {
		...{ policy: "healthy", runningMs: 0, exits: [], flaps: 0, waits: { limit: 0, trouble: 0 } },
		...{ budgetSpentAt: [], outOfMemoryAt: [] },
	},
};

/**
 * @param {import("../src/ports/store.js").Store} store
 * @param {number} inFlight
 */
async function measure(store, inFlight) {
	/** @type {number[]} */
	const times = [];
	const startedMs = performance.now();
	const untilMs = startedMs + Number(values.seconds) * 1_000;
	const commitUntilEnd = async () => {
		for (let nowMs = performance.now(); nowMs < untilMs; nowMs = performance.now()) {
			await store.commit((transaction) => {
				transaction.putAgent(AGENT);
				const data = { pid: 1, with_continue: false };
				transaction.appendEvent({ type: "agent.started", agent: AGENT.id, data }, Date.now());
			});
			times.push(performance.now() - nowMs);
		}
	};
	await Promise.all(Array.from({ length: inFlight }, commitUntilEnd));
	const perSecond = (times.length * 1_000) / (performance.now() - startedMs);
	times.sort((a, b) => a - b);
	/** @param {number} share */
	const at = (share) => (times[Math.floor(times.length * share)] ?? 0).toFixed(2);
	console.log(
		`  ${inFlight} in flight: ${Math.round(perSecond)} commits/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`,
	);
}

for (const driver of /** @type {const} */ (["node:sqlite", "@photostructure/sqlite"])) {
	const folder = mkdtempSync(join(values.folder, "reeve-bench-"));
	const opened = await openStore(join(folder, "reeve.db"), { driver });
	if (opened.ok) {
		console.log(`${driver}, node ${process.version}`);
		await measure(opened.store, 1);
		await measure(opened.store, 100);
		await opened.store.close();
	} else {
		console.log(`${driver}: ${opened.reason}`);
	}
	rmSync(folder, { recursive: true, force: true });
}
