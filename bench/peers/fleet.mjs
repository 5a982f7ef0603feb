/** One life of a fleet under one keeper: started, looked at, killed in parts and as a whole, adopted, stopped. */

import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, median, nowMs, pssMb, timeMs, until, World } from "./world.mjs";

/** Rows that come from a fleet. */
export const FLEET_ROWS = ["start", "memory", "ps", "respawn", "all-killed", "adopt", "stop"];
const RESPAWNS = 25;
const LISTS = 5;
/** A respawn that takes longer is missed. */
const RESPAWN_MS_MAX = 10_000;

/**
 * @typedef {object} FleetOptions
 * @property {number} count
 * @property {number} settleMs how long memory is left to settle before it is measured
 * @property {(row: string) => boolean} wants
 */

/**
 * The measurements by row. Times are in ms, memory in MB.
 *
 * @param {import("./keepers.mjs").Keeper} keeper
 * @param {FleetOptions} options
 * @returns {Promise<Record<string, number>>}
 */
export async function measureFleet(keeper, { count, settleMs, wants }) {
	const world = new World("fleet");
	/** @type {Record<string, number>} */
	const found = {};
	try {
		await keeper.prepare(world);
		const fromMs = nowMs();
		await keeper.start(world, count);
		const started = await world.untilStarted(count);
		found["start"] = Math.max(...started.map(({ atMs }) => atMs)) - fromMs;
		if (wants("memory")) {
			await sleep(settleMs);
			found["memory"] = pssMb(world.house());
			found["helpers"] = world.house().length;
		}
		if (wants("ps") && keeper.list !== null) found["ps"] = await measureList(keeper, world);
		if (wants("adopt") && keeper.adopt !== undefined)
			found["adopt"] = await measureAdopt(keeper, world);
		if (wants("respawn") && keeper.respawns) Object.assign(found, await measureRespawns(world));
		if (wants("all-killed") && keeper.respawns)
			found["all-killed"] = await measureAllKilled(world, count);
		if (wants("stop")) found["stop"] = await measureStop(keeper, world);
		return found;
	} finally {
		await world.close();
	}
}

/**
 * @param {import("./keepers.mjs").Keeper} keeper
 * @param {World} world
 */
async function measureList(keeper, world) {
	const times = [];
	for (let n = 0; n < LISTS; n++) times.push(await timeMs(() => keeper.list?.(world)));
	return median(times);
}

/**
 * The same pids afterwards, and no further start.
 *
 * @param {import("./keepers.mjs").Keeper} keeper
 * @param {World} world
 */
async function measureAdopt(keeper, world) {
	const before = world.agents();
	const starts = world.started().length;
	const ms = await timeMs(() => keeper.adopt?.(world));
	const after = world.agents();
	const changed = [...before].filter(([name, pid]) => after.get(name) !== pid);
	const duplicates = world.started().length - starts;
	if (changed.length > 0 || duplicates > 0)
		throw new Error(`${changed.length} agents changed, ${duplicates} were started again`);
	return ms;
}

/** One after another, each another agent. @param {World} world */
async function measureRespawns(world) {
	const times = [];
	let missed = 0;
	for (const [name, pid] of [...world.agents()].slice(0, RESPAWNS)) {
		const known = world.started().length;
		const killedMs = nowMs();
		process.kill(pid, "SIGKILL");
		try {
			await withinMs(() => world.started().length > known, RESPAWN_MS_MAX);
			const next = world.started().findLast((each) => each.name === name);
			times.push((next?.atMs ?? Number.NaN) - killedMs);
		} catch {
			missed += 1;
		}
	}
	return { respawn: median(times), missed };
}

/**
 * @param {World} world
 * @param {number} count
 */
async function measureAllKilled(world, count) {
	const known = world.started().length;
	const killedMs = nowMs();
	for (const pid of world.agents().values()) process.kill(pid, "SIGKILL");
	const started = await world.untilStarted(known + count);
	return Math.max(...started.map(({ atMs }) => atMs)) - killedMs;
}

/**
 * Until the supervisor reports it, and no agent is left.
 *
 * @param {import("./keepers.mjs").Keeper} keeper
 * @param {World} world
 */
async function measureStop(keeper, world) {
	const pids = [...world.agents().values()];
	return timeMs(async () => {
		await keeper.stop(world);
		await until(() => !pids.some(isAlive), "the end of all agents");
	});
}

/**
 * @param {() => boolean} isSo
 * @param {number} ms
 */
async function withinMs(isSo, ms) {
	const endMs = performance.now() + ms;
	while (!isSo()) {
		if (performance.now() > endMs) throw new Error("missed");
		await sleep(1);
	}
}
