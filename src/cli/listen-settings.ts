/** Stores the listen address from the command line in the daemon's settings. */

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import type { SettingsFile } from "../config/settings-schema.js";
import { ReeveError } from "../core/errors.js";
import { messageOf } from "../core/message-of.js";
import { makeFolder } from "../home/make-folder.js";
import type { Home } from "../home/paths.js";

export interface ListenOptions {
	/** False for `--no-listen`; commander uses true if the option is omitted. */
	readonly listen?: string | boolean;
	readonly tlsCert?: string;
	readonly tlsKey?: string;
	readonly allowHost?: readonly string[];
}

export function hasListenOption({ listen }: ListenOptions): boolean {
	return typeof listen === "string" || listen === false;
}

/** Stores it for this and later daemons, or rejects invalid settings. */
export async function rememberListen(home: Home, options: ListenOptions): Promise<void> {
	const { listen, tlsCert, tlsKey, allowHost } = options;
	if ((tlsCert === undefined) !== (tlsKey === undefined)) {
		throw new ReeveError(
			"usage",
			"--tls-cert and --tls-key must be used together",
			"Pass both, or neither.",
		);
	}
	const tls =
		tlsCert === undefined || tlsKey === undefined
			? undefined
			: { cert: resolve(tlsCert), key: resolve(tlsKey) };
	// Loaded here, since other commands only check whether the daemon listens.
	const { parseDaemonSettings } = await import("../config/daemon-settings.js");
	const { updateFile } = await import("../home/update-file.js");
	const change = (text: string | null) => {
		const { listen: _, tls: __, ...others } = parseSettingsFile(home, text);
		const settings: SettingsFile = {
			...others,
			...(typeof listen === "string" ? { listen } : {}),
			...(tls === undefined ? {} : { tls }),
			allow_hosts: [...(allowHost ?? [])],
		};
		const written = `${JSON.stringify(settings, null, "\t")}\n`;
		const parsed = parseDaemonSettings(written, home.settings, {
			baseDir: home.dir,
			homeDir: homedir(),
		});
		if (parsed.ok) return written;
		const hint =
			"Use 127.0.0.1:4270 for this host only. Other addresses need --tls-cert and --tls-key.";
		const about = parsed.problems.map(({ path, message }) => `${path}: ${message}`);
		throw new ReeveError("usage", about.join("; "), hint);
	};
	try {
		await makeFolder(home.dir);
		await updateFile(home.settings, change, {
			locks: home.locks,
			mode: 0o600,
			keepsPrevious: true,
		});
	} catch (error) {
		if (error instanceof ReeveError) throw error;
		const why = messageOf(error);
		throw new ReeveError("write_failed", `cannot write ${home.settings}: ${why}`);
	}
}

/** Whether the daemon should listen on the network, as far as the file is readable. */
export async function isListenConfigured(home: Home): Promise<boolean> {
	try {
		const text = await readFile(home.settings, "utf8");
		return typeof parseSettingsFile(home, text).listen === "string";
	} catch {
		return false;
	}
}

/** The complete file, of which a command changes a part. An unreadable file is not overwritten. */
function parseSettingsFile({ settings }: Home, text: string | null): SettingsFile {
	if (text === null || text.trim() === "") return {};
	try {
		return JSON.parse(text) as SettingsFile;
	} catch (error) {
		throw new ReeveError(
			"usage",
			`${settings} is not valid JSON. Nothing was changed: ${(error as Error).message}`,
			"Fix the file, or move it to start with new settings.",
		);
	}
}
