/** Everything that a tmux backend has: its folder, the server, the files of its runs, control groups. */

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
	/** The name of the backend that this is. */
	readonly name: string;
	readonly folder: string;
	readonly server: TmuxServer;
	readonly files: RunFiles;
	readonly groups: Groups;
}

/** Named after what they hold, so that a newer version does not change one that is in use. */
const nameOf = (stem: string, text: string, ending: string) =>
	`${stem}-${createHash("sha256").update(text).digest("hex").slice(0, 8)}.${ending}`;

export const LAUNCHER_FILE = nameOf("launcher", LAUNCHER, "pl");
export const LOG_WRITER_FILE = nameOf("log-writer", LOG_WRITER, "sh");
const CONFIG_FILE = nameOf("tmux", SERVER_CONFIG, "conf");

/** Makes the folder, and in it the programs that run beside an agent. */
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

/** A name for the control groups of this folder that no other has. */
export const ownerOf = (folder: string) =>
	`tmux-${createHash("sha256").update(folder).digest("hex").slice(0, 8)}`;

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/homebrew/bin";

/** Nothing of this process's environment but PATH reaches the server, or secrets would (A5). */
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
			// A language that the host does not have is no reason for Perl to print warnings.
			PERL_BADLANG: "0",
			[FOLDER_VARIABLE]: folder,
		},
	};
}

const VERSION_MIN = [3, 0] as const;

/** Why no tmux backend can be had here, or null. */
export function explainTmuxProblem(): string | null {
	const program = findTmux();
	if (program === null) return "tmux is not installed";
	if (findProgram("perl") === null) return "perl is not installed, which runs beside every agent";
	const version = execFileSync(program, ["-V"], { encoding: "utf8", timeout: 10_000 }).trim();
	const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
	// One that does not tell (`tmux master`) is trusted: whoever built it knows.
	if (!/\d/.test(version) || major > VERSION_MIN[0]) return null;
	if (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]) return null;
	return `${version} is too old: ${VERSION_MIN.join(".")} or newer is needed`;
}

const findTmux = () => findProgram("tmux");

function findProgram(name: string): string | null {
	const folders = (process.env["PATH"] ?? SYSTEM_PATH)
		.split(":")
		.filter((at) => at.startsWith("/"));
	return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}
