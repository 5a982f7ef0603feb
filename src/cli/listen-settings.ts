/** Where the daemon is to listen, as it was asked on the command line, written where daemons look for it. */

import { readFile, rename, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Home } from "../client/home.js";
import { makeFolder } from "../client/make-folder.js";
import { type DaemonSettingsFile, parseDaemonSettings } from "../config/daemon-settings.js";
import { ReeveError } from "../core/errors.js";

export interface ListenOptions {
	/** False for `--no-listen`; commander has true when nothing was said. */
	readonly listen?: string | boolean;
	readonly tlsCert?: string;
	readonly tlsKey?: string;
	readonly allowHost?: readonly string[];
}

export function asksToListen({ listen }: ListenOptions): boolean {
	return typeof listen === "string" || listen === false;
}

/** Remembers it for this daemon and those after it, or refuses what could not work. */
export async function rememberListen(home: Home, options: ListenOptions): Promise<void> {
	const { listen, tlsCert, tlsKey, allowHost } = options;
	if ((tlsCert === undefined) !== (tlsKey === undefined)) {
		throw new ReeveError("usage", "--tls-cert and --tls-key go together", "Give both, or none.");
	}
	const tls =
		tlsCert === undefined || tlsKey === undefined
			? null
			: { cert: resolve(tlsCert), key: resolve(tlsKey) };
	const settings: DaemonSettingsFile = {
		...(await readOthers(home)),
		listen: typeof listen === "string" ? listen : null,
		tls,
		allow_hosts: [...(allowHost ?? [])],
	};
	const parsed = parseDaemonSettings(settings);
	if (!parsed.ok) {
		const hint = "127.0.0.1:4270 is for this host alone; others need --tls-cert and --tls-key.";
		throw new ReeveError("usage", parsed.problem, hint);
	}
	try {
		await makeFolder(home.dir);
		await writeFile(`${home.settings}.new`, `${JSON.stringify(settings, null, "\t")}\n`, {
			mode: 0o600,
		});
		await rename(`${home.settings}.new`, home.settings);
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		throw new ReeveError("write_failed", `cannot write ${home.settings}: ${why}`);
	}
}

/** Whether the daemon is to be reached over the network, as far as the file can be read. */
export async function isToListen(home: Home): Promise<boolean> {
	return typeof (await readOthers(home)).listen === "string";
}

/** What stands in the file besides: it is not ours to change. */
async function readOthers(home: Home): Promise<DaemonSettingsFile> {
	try {
		return JSON.parse(await readFile(home.settings, "utf8")) as DaemonSettingsFile;
	} catch {
		return {};
	}
}
