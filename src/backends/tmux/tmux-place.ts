/** The parts of a tmux backend: its directory, the server, the files of its runs, control groups. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { replaceFileSync } from "../../home/replace-file.js";
import type { Groups } from "../../host/cgroup.js";
import { makePrivateFolder, socketPathIn } from "../../host/socket-path.js";
import { isExecutable } from "../../host/spawn-errors.js";
import type { Enclose, ServerPlace } from "./control-client.js";
import { LAUNCHER } from "./launcher.js";
import { FOLDER_VARIABLE, LOG_WRITER } from "./log-writer.js";
import type { RunFiles } from "./run-files.js";
import { SERVER_CONFIG, type TmuxServer } from "./tmux-server.js";

export interface TmuxPlace {
	/** The name of this backend. */
	readonly name: string;
	readonly folder: string;
	readonly server: TmuxServer;
	readonly files: RunFiles;
	readonly groups: Groups;
}

/** Named by content, so that a newer version does not change one that is in use. */
const nameOf = (stem: string, text: string, ending: string) =>
	`${stem}-${createHash("sha256").update(text).digest("hex").slice(0, 8)}.${ending}`;

export const LAUNCHER_FILE = nameOf("launcher", LAUNCHER, "pl");
export const LOG_WRITER_FILE = nameOf("log-writer", LOG_WRITER, "sh");
const CONFIG_FILE = nameOf("tmux", SERVER_CONFIG, "conf");

/** Creates the directory, with the programs that run next to an agent. */
export function preparePlace(folder: string): void {
	makePrivateFolder(folder);
	const programs = {
		[LAUNCHER_FILE]: LAUNCHER,
		[LOG_WRITER_FILE]: LOG_WRITER,
		[CONFIG_FILE]: SERVER_CONFIG,
	};
	for (const [name, text] of Object.entries(programs)) {
		const path = join(folder, name);
		if (existsSync(path)) continue;
		replaceFileSync(path, text);
	}
}

/** A unique name for the control groups of this directory. */
export const ownerOf = (folder: string) =>
	`tmux-${createHash("sha256").update(folder).digest("hex").slice(0, 8)}`;

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/homebrew/bin";

/** Of this process's environment only PATH reaches the server; otherwise secrets would (A5). */
export function serverPlace(folder: string, enclose: Enclose | null): ServerPlace {
	return {
		program: findTmux() ?? "tmux",
		enclose,
		socket: socketPathIn(folder, "tmux.sock"),
		config: join(folder, CONFIG_FILE),
		env: {
			PATH: process.env["PATH"] ?? SYSTEM_PATH,
			TERM: "xterm-256color",
			LANG: process.platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8",
			// A missing locale must not make Perl print warnings.
			PERL_BADLANG: "0",
			[FOLDER_VARIABLE]: folder,
		},
	};
}

const VERSION_MIN = [3, 0] as const;

/** Why the tmux backend is not available here, or null. */
export function explainTmuxProblem(): string | null {
	const program = findTmux();
	if (program === null) return "tmux is not installed";
	if (findProgram("perl") === null)
		return "perl is not installed; the launcher of each agent needs it";
	const version = execFileSync(program, ["-V"], { encoding: "utf8", timeout: 10_000 }).trim();
	const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
	// A version without a number (`tmux master`) is accepted.
	if (!/\d/.test(version) || major > VERSION_MIN[0]) return null;
	if (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]) return null;
	return `${version} is too old: tmux ${VERSION_MIN.join(".")} or newer is required`;
}

const findTmux = () => findProgram("tmux");

function findProgram(name: string): string | null {
	const folders = (process.env["PATH"] ?? SYSTEM_PATH)
		.split(":")
		.filter((at) => at.startsWith("/"));
	return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}
