/**
 * The hosts of a cluster: which of them count as alive, and which may join. Times are ages by the
 * database's clock, because the clocks of hosts differ.
 */

/** How often a host reports that it is alive. */
const HEARTBEAT_MS = 5_000;
/** A host without a heartbeat for longer than this is silent: nothing is known about it. */
export const SILENT_AFTER_MS = 15_000;

/** `silent`: it may be down, frozen, or cut off from the database. */
export type HostState = "up" | "draining" | "silent";

/** The identity of a daemon in the cluster. */
export interface Member {
	readonly host: string;
	/** The id of the home: a restarted daemon keeps it, another daemon with the same host name has another. */
	readonly home: string;
	/** New for every daemon. */
	readonly boot: string;
}

/** The report of a host about itself. */
export interface HostFacts {
	readonly version: string;
	readonly labels: Readonly<Record<string, string>>;
	/** The URL on which other hosts reach its daemon; null if it has none. */
	readonly advertise: string | null;
	/** The agent CLIs that are installed. */
	readonly adapters: readonly string[];
	readonly cpus: number;
	/** Average number of busy processes over the last minute. */
	readonly load: number;
	readonly memoryTotalBytes: number;
	readonly memoryFreeBytes: number;
	/** How many of its agents are running. */
	readonly agents: number;
}

/** A host as the database has it. */
export interface ClusterHost extends Member, HostFacts {
	readonly draining: boolean;
	readonly joinedAtMs: number;
	/** How long ago its last heartbeat was. */
	readonly ageMs: number;
}

export function hostState({ ageMs, draining }: Pick<ClusterHost, "ageMs" | "draining">): HostState {
	if (ageMs > SILENT_AFTER_MS) return "silent";
	return draining ? "draining" : "up";
}

/** The delay until the next heartbeat; `random` from 0 to 1 spreads the hosts. */
export function heartbeatDelayMs(random: number): number {
	return Math.round(HEARTBEAT_MS * (0.8 + 0.4 * random));
}

const RETRY_MS_MIN = 500;

/** The delay before the next attempt to join; never so long that a host stays silent without need. */
export function rejoinDelayMs(failures: number, random: number): number {
	const delayMs = Math.min(HEARTBEAT_MS, RETRY_MS_MIN * 2 ** Math.min(failures - 1, 10));
	return Math.round(delayMs * (0.6 + 0.4 * random));
}

/**
 * Why this daemon may not join, as text; null if it may. `wasMember`: it has joined before, so another
 * daemon has taken its place since.
 */
export function refuseToJoin(
	member: Member & { readonly version: string },
	hosts: readonly ClusterHost[],
	wasMember: boolean,
): string | null {
	const alive = hosts.filter((host) => hostState(host) !== "silent");
	const named = alive.find(({ host }) => host === member.host);
	if (named !== undefined && named.home !== member.home) {
		return `another daemon is in the cluster as host ${member.host}: set a different \`cluster.host\` in the daemon's settings`;
	}
	if (named !== undefined && wasMember && named.boot !== member.boot) {
		return `a daemon with a copy of this home is in the cluster as host ${member.host}: stop one of the two`;
	}
	const others = alive.filter(({ host }) => host !== member.host);
	const distant = others.find(({ version }) => !isCompatible(member.version, version));
	if (distant === undefined) return null;
	const older = isOlder(member.version, distant.version) ? "this host" : distant.host;
	return `this host runs Reeve ${member.version} and host ${distant.host} runs ${distant.version}: hosts may differ by one minor release. Upgrade ${older} first`;
}

const VERSION = /^(\d+)\.(\d+)/;

function parseVersion(version: string): readonly [major: number, minor: number] {
	const [, major, minor] = VERSION.exec(version) ?? [];
	return [Number(major ?? -1), Number(minor ?? -1)];
}

/** Hosts may differ by one minor release, so that they can be upgraded one after another. */
function isCompatible(one: string, other: string): boolean {
	const [[major, minor], [otherMajor, otherMinor]] = [parseVersion(one), parseVersion(other)];
	return major === otherMajor && Math.abs(minor - otherMinor) <= 1;
}

function isOlder(one: string, other: string): boolean {
	const [[major, minor], [otherMajor, otherMinor]] = [parseVersion(one), parseVersion(other)];
	return major < otherMajor || (major === otherMajor && minor < otherMinor);
}

const HOST_LENGTH_MAX = 63;

/** The name of a host in the cluster, made from its host name: `Build-1.internal` is `build-1`. */
export function hostNameOf(hostname: string): string {
	const [first = ""] = hostname.toLowerCase().split(".");
	const name = first.replace(/[^a-z0-9_-]+/g, "-").replace(/^[-_]+/, "");
	return name.slice(0, HOST_LENGTH_MAX) || "host";
}
