/**
 * How the daemon of a home is to run: `daemon.json` in it. Written by `reeve daemon start --listen`,
 * read by every daemon of the home, so that a restart listens where the last one did.
 */

import { z } from "zod";
import { type ListenAddress, parseListen } from "../core/listen.js";
import { parseDuration } from "../core/units.js";
import { type NotifySetting, notifySchema } from "./notify-settings.js";

export interface DaemonSettings {
	/** Null when the daemon is reached by its socket alone. */
	readonly listen: ListenAddress | null;
	/** Files of the certificate and its key. */
	readonly tls: { readonly cert: string; readonly key: string } | null;
	/** Further names by which requests may call it, as `host:port`. */
	readonly allowHosts: readonly string[];
	/** Who is told of what. */
	readonly notify: readonly NotifySetting[];
	/** How long the main loop may do nothing before the daemon is ended; 0 turns the watchdog off. */
	readonly watchdogMs: number;
}

const WATCHDOG_MS = 30_000;
/** Less would take a slow disk for a blocked loop. */
const WATCHDOG_MS_MIN = 1_000;

export const NO_SETTINGS: DaemonSettings = {
	...{ listen: null, tls: null, allowHosts: [], notify: [] },
	watchdogMs: WATCHDOG_MS,
};

const file = z.strictObject({
	listen: z.string().nullable().default(null),
	tls: z
		.strictObject({ cert: z.string().min(1), key: z.string().min(1) })
		.nullable()
		.default(null),
	allow_hosts: z.array(z.string()).default([]),
	notify: z
		.array(notifySchema)
		.default([])
		.refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "has a name twice"),
	watchdog: z
		.string()
		.optional()
		.refine((text) => isWatchdogTime(text), "is a duration from 1s on, as 30s, or 0s for none"),
});
export type DaemonSettingsFile = z.input<typeof file>;

export type ParsedSettings =
	| { readonly ok: true; readonly settings: DaemonSettings }
	| { readonly ok: false; readonly problem: string };

export function parseDaemonSettings(value: unknown): ParsedSettings {
	const parsed = file.safeParse(value);
	if (!parsed.success) {
		const mistakes = parsed.error.issues.map(({ path, message }) =>
			[...(path.length === 0 ? [] : [path.join(".")]), message].join(": "),
		);
		return { ok: false, problem: mistakes.join("; ") };
	}
	const { listen: text, tls, allow_hosts: allowHosts, notify } = parsed.data;
	const listen = text === null ? null : parseListen(text);
	if (text !== null && listen === null) {
		return { ok: false, problem: `\`${text}\` is no address: it is HOST:PORT, as 127.0.0.1:4270` };
	}
	if (listen !== null && !listen.loopback && tls === null) {
		const problem = `\`${text}\` can be reached from other hosts, so it needs a certificate and its key`;
		return { ok: false, problem };
	}
	const watchdogMs = parseDuration(parsed.data.watchdog ?? "") ?? WATCHDOG_MS;
	return { ok: true, settings: { listen, tls, allowHosts, notify, watchdogMs } };
}

function isWatchdogTime(text: string | undefined): boolean {
	if (text === undefined) return true;
	const ms = parseDuration(text);
	return ms !== null && (ms === 0 || ms >= WATCHDOG_MS_MIN);
}
