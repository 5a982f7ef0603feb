/**
 * A tmux server of our own: never the user's, with a socket, a configuration and an environment of its own. It is
 * started with its first session and exits with its last. Plain commands only: tmux 3.3a crashes when a control client
 * connects while sessions come and go.
 */

import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { replaceFileSync } from "../../home/replace-file.js";
import type { Argv } from "../../host/cgroup.js";
import { makePrivateFolder, removeDeadSocket, socketPathIn } from "../../host/socket-path.js";
import { isExecutable } from "../../host/spawn-errors.js";
import type { TerminalSize } from "../../ports/backend.js";

const CONFIG = [
	"set -g history-limit 500",
	"set -g status off",
	"set -g default-terminal xterm-256color",
	"set -g allow-rename off",
	"set -g automatic-rename off",
	"set -g bell-action none",
	"set -g monitor-bell off",
	"set -s escape-time 0",
	"",
].join("\n");
/** Named after its contents, so that a newer version does not change one that is in use. */
const CONFIG_FILE = `tmux-${createHash("sha256").update(CONFIG).digest("hex").slice(0, 8)}.conf`;
const SOCKET = "server.sock";
const ANSWER_MS_MAX = 30_000;

export interface Session {
	readonly name: string;
	readonly size: TerminalSize;
	readonly argv: Argv;
	/** Options of the session, by name. */
	readonly tags: Readonly<Record<string, string>>;
}

export class TmuxServer {
	readonly #folder: string;
	readonly #enclose: ((argv: Argv) => Argv) | null;
	#isPrepared = false;

	/** `enclose` starts the server outside of this process's own unit. */
	constructor(folder: string, enclose: ((argv: Argv) => Argv) | null) {
		this.#folder = folder;
		this.#enclose = enclose;
	}

	/** Calls must follow each other: tmux 3.3 crashes when two start a server at the same time. */
	async open({ name, size, argv, tags }: Session): Promise<void> {
		const { columns, rows } = size;
		const shape = ["-x", String(columns), "-y", String(rows), "-c", "/"];
		const tagged = Object.entries(tags).flatMap(([tag, value]) => [
			";",
			"set-option",
			"-t",
			`=${name}:`,
			tag,
			literal(value),
		]);
		const command = [
			"new-session",
			"-d",
			"-s",
			name,
			...shape,
			"--",
			...argv.map(literal),
			...tagged,
		];
		const isFirst = this.#enclose !== null && (await this.sessions()).size === 0;
		await this.#run(command, isFirst ? this.#enclose : null);
	}

	/** The names of all sessions; none where there is no server. Rejects when tmux does not answer. */
	async sessions(): Promise<ReadonlySet<string>> {
		try {
			const shown = await this.#run(["list-sessions", "-F", "#{session_name}"]);
			return new Set(shown.split("\n").filter(Boolean));
		} catch (error) {
			const { stderr = "" } = error as { readonly stderr?: string };
			if (/no server running|error connecting|no sessions|server exited/.test(stderr))
				return new Set();
			throw error;
		}
	}

	/** How many clients show a session, and when one last attached. */
	async viewers(
		name: string,
	): Promise<{ readonly count: number; readonly lastAtMs: number | null }> {
		const format = "#{session_attached} #{session_last_attached}";
		const shown = await this.#run(["display-message", "-p", "-t", `=${name}:`, format]);
		const [count = "", lastS = ""] = shown.trim().split(" ");
		return { count: Number(count), lastAtMs: lastS === "" ? null : Number(lastS) * 1_000 };
	}

	async resize(name: string, { columns, rows }: TerminalSize): Promise<void> {
		const size = ["-x", String(columns), "-y", String(rows)];
		await this.#run(["resize-window", "-t", `=${name}:`, ...size]);
	}

	/** Removes the socket of a server that was killed. */
	async close(): Promise<void> {
		await removeDeadSocket(socketPathIn(this.#folder, SOCKET));
	}

	async #run(command: readonly string[], enclose: ((argv: Argv) => Argv) | null = null) {
		this.#prepare();
		const place = ["-S", socketPathIn(this.#folder, SOCKET), "-f", join(this.#folder, CONFIG_FILE)];
		const argv: Argv = [findProgram("tmux") ?? "tmux", ...place, ...command];
		const [program, ...args] = enclose === null ? argv : enclose(argv);
		const options = { cwd: "/", env: serverEnvironment(), timeout: ANSWER_MS_MAX };
		return (await promisify(execFile)(program, args, options)).stdout;
	}

	#prepare(): void {
		if (this.#isPrepared) return;
		makePrivateFolder(this.#folder);
		const config = join(this.#folder, CONFIG_FILE);
		if (!existsSync(config)) replaceFileSync(config, CONFIG);
		this.#isPrepared = true;
	}
}

/** tmux treats a `;` at the end of an argument as the end of a command. */
const literal = (text: string) => text.replace(/;$/, "\\;");

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/homebrew/bin";

/** The server gets only PATH from this process's environment, so that it gets no secrets (A5). */
const serverEnvironment = () => ({
	PATH: process.env["PATH"] ?? SYSTEM_PATH,
	TERM: "xterm-256color",
	LANG: process.platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8",
});

const VERSION_MIN = [3, 0] as const;

/** Why the tmux backend is not available here, or null. */
export function explainTmuxProblem(): string | null {
	const program = findProgram("tmux");
	if (program === null) return "tmux is not installed";
	const version = execFileSync(program, ["-V"], { encoding: "utf8", timeout: 10_000 }).trim();
	const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
	// One without a number (`tmux master`) is newer than any release.
	if (!/\d/.test(version) || major > VERSION_MIN[0]) return null;
	if (major === VERSION_MIN[0] && minor >= VERSION_MIN[1]) return null;
	return `${version} is too old: ${VERSION_MIN.join(".")} or newer is required`;
}

function findProgram(name: string): string | null {
	const folders = (process.env["PATH"] ?? SYSTEM_PATH)
		.split(":")
		.filter((at) => at.startsWith("/"));
	return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}
