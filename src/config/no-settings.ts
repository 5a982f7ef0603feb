/**
 * The daemon's settings, their defaults, and their comparison. Separate from the parser, which a daemon
 * without a settings file never loads.
 */

import type { ListenAddress } from "../core/listen.js";
import { DEFAULT_RETENTION, type Retention } from "../core/retention.js";
import type { NotifySetting } from "./settings-schema.js";

export interface DaemonSettings {
	/** Null if the daemon only listens on its socket. */
	readonly listen: ListenAddress | null;
	/** Files of the certificate and its key. */
	readonly tls: { readonly cert: string; readonly key: string } | null;
	/** Additional host names that requests may use, as `host:port`. */
	readonly allowHosts: readonly string[];
	readonly notify: readonly NotifySetting[];
	readonly retention: Retention;
	/** The cluster that this host belongs to; null for none. */
	readonly cluster: ClusterSettings | null;
	/** How long the main loop may be blocked before the daemon is killed; 0 turns the watchdog off. */
	readonly watchdogMs: number;
}

export interface ClusterSettings {
	/** The URL of the database; may contain `${NAME}`, expanded by the daemon that connects. */
	readonly database: string;
	/** The name of this host; null for the one of the system. */
	readonly host: string | null;
	readonly labels: Readonly<Record<string, string>>;
	readonly advertise: string | null;
}

/** The settings of a home without a file, equal to those of an empty file. */
export const NO_SETTINGS: DaemonSettings = {
	listen: null,
	tls: null,
	allowHosts: [],
	notify: [],
	retention: DEFAULT_RETENTION,
	cluster: null,
	watchdogMs: 30_000,
};

/** The keys of the settings that differ; routes by name. Never values. */
export function changedSettings(before: DaemonSettings, after: DaemonSettings): readonly string[] {
	const names = { allowHosts: "allow_hosts", retention: "history", watchdogMs: "watchdog" };
	const keys = (Object.keys(after) as (keyof DaemonSettings)[]).filter((key) => key !== "notify");
	const differs = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
	const routes = new Set([...before.notify, ...after.notify].map(({ name }) => name));
	const routeOf = ({ notify }: DaemonSettings, name: string) =>
		notify.find((each) => each.name === name);
	return [
		...keys
			.filter((key) => differs(before[key], after[key]))
			.map((key) => (key in names ? names[key as keyof typeof names] : key)),
		...[...routes]
			.filter((name) => differs(routeOf(before, name), routeOf(after, name)))
			.map((name) => `notify.${name}`),
	];
}
