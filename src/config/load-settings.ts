/** Reads the daemon's settings. The parser is loaded only if there is a file. */

import { dirname, resolve } from "node:path";
import type { ParsedSettings } from "./daemon-settings.js";
import { NO_SETTINGS } from "./no-settings.js";
import { problemOf, readBounded } from "./read-bounded.js";
import { decodeUtf8 } from "./utf8.js";

/** Reads and checks the daemon's settings. A missing file means the built-in settings. */
export async function loadSettings(path: string, homeDir: string): Promise<ParsedSettings> {
	const file = await readBounded(path);
	if (!file.ok && file.missing) return { ok: true, settings: NO_SETTINGS };
	if (!file.ok) return { ok: false, problems: problemOf(path, file.message) };
	const decoded = decodeUtf8(file.bytes);
	if (!decoded.ok) {
		return { ok: false, problems: problemOf(path, "this line is not valid UTF-8", decoded.line) };
	}
	const { parseDaemonSettings } = await import("./daemon-settings.js");
	return parseDaemonSettings(decoded.text, path, { baseDir: dirname(resolve(path)), homeDir });
}
