/**
 * Control groups: one per run, below the group of this process, so that limits of the host stay in effect. They list
 * every process of a run, whatever it does to hide, and are the only way to limit a whole tree.
 *
 * A run joins before it executes anything: this process moves into the run's group, forks, and moves out again. Limits
 * are set only after that, so that they never affect this process.
 *
 * Unavailable features are skipped, with the reason; nothing fails because a group is missing. Only this process and
 * its own children are ever moved.
 */

import {
	accessSync,
	closeSync,
	constants,
	existsSync,
	openSync,
	readFileSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { join } from "node:path";
import type { ResourceLimits, StartRequest } from "../ports/backend.js";
import { makeGroup, removeGroup, sweepGroups } from "./cgroup-folders.js";
import { type GroupLayout, parseGroupLayout } from "./cgroup-layout.js";
import { GROUPS_FOLDER, readOomKills } from "./cgroup-members.js";
import { limitMemory, MEMORY_WITHOUT_GROUP, NONE_WITHOUT_GROUP } from "./process-limits.js";

/** The supported limits of the host, as text for `reeve doctor`. */
export interface LimitSupport {
	readonly name: "tracking" | "memory" | "pids" | "cpu";
	/** For a run as a whole. */
	readonly available: boolean;
	/** How, or why not. */
	readonly reason: string;
	/** The alternative, or why there is none; null if it is available. */
	readonly instead: string | null;
	/** If it is not available: whether each process can be limited separately. */
	readonly perProcess: boolean;
}

export type Limit = "memory" | "pids" | "cpu";
export type Argv = readonly [string, ...string[]];

/** A location where groups can be created. */
interface Place {
	readonly version: 1 | 2;
	/** This process's own group in that hierarchy. */
	readonly home: string;
	/** Opened in advance: a process without free file descriptors must be able to move back. */
	readonly homeFd: number;
}

export interface RunGroups {
	/** The directories, to be stored with the run. */
	readonly paths: readonly string[];
	/** The command line to start: where no group limits the memory, one that limits itself. */
	limitedArgv(argv: Argv, limits: ResourceLimits): Argv;
	/** The command line that puts the process which holds the run into a unit of the run's own; else empty. */
	enclosure(request: StartRequest): readonly string[];
	/** Runs `fork` with this process inside the groups; what it forks stays in them. */
	inside<T>(fork: () => T): T;
	/** The run has joined the groups by itself. */
	joined(): void;
	/** Sets the limits; returns those that could not be set. */
	applyLimits(limits: ResourceLimits): string[];
	/** How many of the run's processes the kernel has killed because of the memory limit. */
	countOomKills(): number;
}

export interface Groups {
	describe(): readonly LimitSupport[];
	/** Groups for a run, as far as permitted; possibly none. */
	create(runId: string, limits: ResourceLimits): RunGroups;
	/** The groups of a run, if it has any. */
	find(runId: string): readonly string[];
	/** Removes a run's groups; false if one is not empty. */
	remove(paths: readonly string[]): boolean;
	/** Removes empty groups of this owner, and the common directories. */
	sweep(): void;
	/** No groups can be joined after this. */
	close(): void;
}

/** The limits that this process can set for its children. */
export function describeLimits(): readonly LimitSupport[] {
	const groups = createGroups("doctor");
	groups.sweep();
	groups.close();
	return groups.describe();
}

/** `owner` distinguishes the groups of several users of this module on one host. */
export function createGroups(
	owner: string,
	/** The layout; a text explains why no groups are used. */
	layout: GroupLayout | string = readGroupLayout(),
	/**
	 * Whether this process tests a group by moving into it. Otherwise it never moves, and runs join by
	 * themselves, and make a group that is missing.
	 */
	{ steps = true }: { readonly steps?: boolean } = {},
): Groups {
	const find: FindPlace = (version, home) => tryPlace(version, home, owner, steps);
	const tracking = findTracking(layout, find);
	const limits = {
		memory: findLimit("memory", layout, tracking, find),
		pids: findLimit("pids", layout, tracking, find),
		cpu: findLimit("cpu", layout, tracking, find),
	};
	const found = { tracking, ...limits };
	const places = new Set(
		Object.values(found).flatMap((at) => (typeof at === "string" ? [] : [at])),
	);
	const homes = () => [...new Set([...places].map(({ home }) => home))];

	return {
		describe: () =>
			Object.entries(found).map(([name, at]) => ({
				name: name as LimitSupport["name"],
				available: typeof at !== "string",
				reason: typeof at === "string" ? at : `control groups, version ${at.version}`,
				...describeWithout(name as LimitSupport["name"], typeof at === "string"),
			})),
		create(runId, asked) {
			const wanted = new Set<Place>();
			if (typeof tracking !== "string") wanted.add(tracking);
			for (const [limit, place] of Object.entries(limits) as [Limit, Place | string][]) {
				if (typeof place !== "string" && requestedLimits(asked)[limit] !== null) wanted.add(place);
			}
			// A run that joins by itself also makes its group. Only limits must be there before.
			const isMadeHere =
				steps || Object.values(requestedLimits(asked)).some((value) => value !== null);
			return makeRunGroups([...wanted], `${owner}-${runId}`, limits, isMadeHere);
		},
		find: (runId) =>
			homes()
				.map((home) => join(home, GROUPS_FOLDER, `${owner}-${runId}`))
				.filter((folder) => existsSync(folder)),
		remove: (paths) => paths.map(removeGroup).every(Boolean),
		sweep() {
			for (const home of homes()) sweepGroups(home, owner);
		},
		close() {
			for (const { homeFd } of places) closeSync(homeFd);
		},
	};
}

/** The groups with this name in a layout, in the order in which a run gets them. */
export function findGroups(
	{ unified, byController }: GroupLayout,
	name: string,
): readonly string[] {
	const { memory, pids, cpu, freezer } = byController;
	const homes = new Set([unified, freezer, memory, pids, cpu].filter((home) => home != null));
	return [...homes]
		.map((home) => join(home, GROUPS_FOLDER, name))
		.filter((folder) => existsSync(folder));
}

/** The alternative for a limit without groups. */
export function describeWithout(
	name: LimitSupport["name"],
	isMissing: boolean,
): Pick<LimitSupport, "instead" | "perProcess"> {
	return {
		instead: isMissing ? describeInstead(name) : null,
		perProcess: isMissing && name === "memory" && MEMORY_WITHOUT_GROUP !== null,
	};
}

function describeInstead(name: LimitSupport["name"]): string {
	if (name === "tracking") return "processes are found by an environment variable of their run";
	return (name === "memory" ? MEMORY_WITHOUT_GROUP : null) ?? NONE_WITHOUT_GROUP[name];
}

export const requestedLimits = (limits: ResourceLimits): Record<Limit, number | null> => ({
	memory: limits.memoryBytes,
	pids: limits.pids,
	cpu: limits.cpuPercent,
});

/** The groups of a process, or why they are not available. */
export function readGroupLayout(pid: number | "self" = "self"): GroupLayout | string {
	if (process.platform !== "linux") return "control groups are only available on Linux";
	try {
		return parseGroupLayout(
			readFileSync(`/proc/${pid}/cgroup`, "utf8"),
			readFileSync("/proc/self/mountinfo", "utf8"),
		);
	} catch (error) {
		return `cannot read control groups: ${(error as Error).message}`;
	}
}

/** The location, or why no groups can be created there. */
type FindPlace = (version: 1 | 2, home: string) => Place | string;

/** Version 2 if available: its groups can be killed as a whole. */
function findTracking(layout: GroupLayout | string, find: FindPlace): Place | string {
	if (typeof layout === "string") return layout;
	const { freezer, pids } = layout.byController;
	const places: [version: 1 | 2, home: string | null | undefined][] = [
		[2, layout.unified],
		[1, freezer],
		[1, pids],
	];
	let reason = "no control group hierarchy is mounted";
	for (const [version, home] of places) {
		if (home === null || home === undefined) continue;
		const place = find(version, home);
		if (typeof place !== "string") return place;
		reason = place;
	}
	return reason;
}

function findLimit(
	limit: Limit,
	layout: GroupLayout | string,
	tracking: Place | string,
	find: FindPlace,
): Place | string {
	if (typeof layout === "string") return layout;
	const home = layout.byController[limit];
	if (home !== undefined) return find(1, home);
	if (typeof tracking === "string") return tracking;
	if (tracking.version !== 2)
		return `no control group hierarchy with the controller ${limit} is mounted`;
	const problem = enable(limit, tracking.home) ?? enable(limit, join(tracking.home, GROUPS_FOLDER));
	return problem ?? tracking;
}

/** Enables a controller for the groups below, which version 2 requires at every level. */
function enable(limit: Limit, folder: string): string | null {
	try {
		makeGroup(folder);
		const file = join(folder, "cgroup.subtree_control");
		if (readFileSync(file, "utf8").split(/\s/).includes(limit)) return null;
		if (isInhabited(folder)) return `${folder} ${INHABITED} ${limit}`;
		writeFileSync(file, `+${limit}`);
		return null;
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "EBUSY") return `${folder} ${INHABITED} ${limit}`;
		return `cannot enable the controller ${limit} in ${folder} (${code}); the group must be delegated to this user`;
	}
}

const INHABITED = "contains processes, so it cannot enable the controller";

/**
 * The kernel would enable cpu and pids anyway, by turning the group into a threaded one; then no
 * process can be moved into a group below it, and not even systemd can reload the service.
 * Only the root group, which has no type, is exempt.
 */
function isInhabited(folder: string): boolean {
	if (!existsSync(join(folder, "cgroup.type"))) return false;
	return readFileSync(join(folder, "cgroup.procs"), "utf8").trim() !== "";
}

/** Moves in and out once, or checks whether a process may; a text explains why it does not work. */
function tryPlace(version: 1 | 2, home: string, owner: string, steps: boolean): Place | string {
	const folder = join(home, GROUPS_FOLDER, `${owner}-probe-${process.pid}`);
	let homeFd: number | undefined;
	try {
		homeFd = openSync(doorOf(version, home), "r+");
		const place: Place = { version, home, homeFd };
		makeGroup(folder);
		if (!steps) {
			accessSync(join(folder, "cgroup.procs"), constants.W_OK);
			return place;
		}
		const isIn = stepInto(place, folder);
		stepOut(place);
		if (isIn) return place;
		throw Object.assign(new Error("refused"), { code: "EACCES" });
	} catch (error) {
		if (homeFd !== undefined) closeSync(homeFd);
		const { code } = error as NodeJS.ErrnoException;
		return `cannot create groups in ${home} (${code}); the group must be delegated to this user`;
	} finally {
		removeGroup(folder);
	}
}

/** In version 1 a single thread can be moved: the one that forks. */
const doorOf = (version: 1 | 2, folder: string) =>
	join(folder, version === 1 ? "tasks" : "cgroup.procs");

/** Moves this process, if permitted; `0` is the writing process. */
function stepInto({ version }: Place, folder: string): boolean {
	try {
		writeFileSync(doorOf(version, folder), "0", { flag: "r+" });
		return true;
	} catch {
		return false;
	}
}

function stepOut({ homeFd }: Place): void {
	writeSync(homeFd, "0");
}

function makeRunGroups(
	places: readonly Place[],
	name: string,
	limits: Readonly<Record<Limit, Place | string>>,
	isMadeHere: boolean,
): RunGroups {
	const made = places.flatMap((place) => {
		const folder = join(place.home, GROUPS_FOLDER, name);
		try {
			if (isMadeHere) makeGroup(folder);
			return [{ place, folder, isJoined: false }];
		} catch {
			return [];
		}
	});
	const folderFor = (limit: Limit) =>
		made.find(({ place, isJoined }) => isJoined && place === limits[limit])?.folder;

	return {
		paths: made.map(({ folder }) => folder),
		enclosure: () => [],
		limitedArgv(argv, { memoryBytes }) {
			const isGrouped = made.some(({ place }) => place === limits.memory);
			return memoryBytes === null || isGrouped ? argv : limitMemory(argv, memoryBytes);
		},
		joined() {
			for (const group of made) group.isJoined = true;
		},
		inside(fork) {
			try {
				for (const group of made) group.isJoined = stepInto(group.place, group.folder);
				return fork();
			} finally {
				for (const { place, isJoined } of made) if (isJoined) stepOut(place);
			}
		},
		applyLimits: (asked) =>
			(Object.entries(requestedLimits(asked)) as [Limit, number | null][]).flatMap(
				([limit, value]) =>
					value === null ? [] : setLimit(limit, value, folderFor(limit), limits[limit]),
			),
		countOomKills() {
			const folder = folderFor("memory");
			return folder === undefined ? 0 : readOomKills(folder);
		},
	};
}

const CPU_PERIOD_US = 100_000;

/** The files and values to write. The existing file reveals the version. */
function limitWrites(limit: Limit, value: number, folder: string): [file: string, text: string][] {
	const isUnified = existsSync(join(folder, "cgroup.controllers"));
	const quotaUs = Math.max(1_000, Math.round((value / 100) * CPU_PERIOD_US));
	if (limit === "pids") return [["pids.max", String(value)]];
	if (limit === "memory")
		return [[isUnified ? "memory.max" : "memory.limit_in_bytes", String(value)]];
	if (isUnified) return [["cpu.max", `${quotaUs} ${CPU_PERIOD_US}`]];
	return [
		["cpu.cfs_period_us", String(CPU_PERIOD_US)],
		["cpu.cfs_quota_us", String(quotaUs)],
	];
}

function setLimit(
	limit: Limit,
	value: number,
	folder: string | undefined,
	place: Place | string,
): string[] {
	if (folder === undefined) {
		return [
			explainMissing(limit, typeof place === "string" ? place : "the group could not be created"),
		];
	}
	try {
		for (const [file, text] of limitWrites(limit, value, folder)) {
			writeFileSync(join(folder, file), text, { flag: "r+" });
		}
		return [];
	} catch (error) {
		return [`no limit on ${limit}: ${(error as Error).message}`];
	}
}

/** The text for a requested limit that cannot be set. */
export function explainMissing(limit: Limit, why: string): string {
	const none = limit === "memory" && MEMORY_WITHOUT_GROUP !== null ? "no common limit" : "no limit";
	return `${none} on ${limit}: ${why}; ${describeInstead(limit)}`;
}
