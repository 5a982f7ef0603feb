/**
 * The systemd of this user (`systemctl --user`): whether it is available, what it can limit, and where
 * its control groups are. Determined once, when the daemon starts.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";

export interface UserManager {
	/** systemd's own version, such as `252`. */
	readonly version: string;
	/** `XDG_RUNTIME_DIR`, which its tools need. */
	readonly runtimeDir: string;
	/** The folder of its control group. */
	readonly folder: string;
	/** The controllers that it can delegate to units. */
	readonly controllers: readonly string[];
	/** It keeps running when the user logs out. */
	readonly lingers: boolean;
	/** This process is in one of its units. */
	readonly holdsThisProcess: boolean;
	/** The program `systemd-run`. */
	readonly runProgram: string;
}

/** Where to search; for tests, which have no systemd. */
export interface ManagerPaths {
	readonly groupRoot?: string;
	readonly runtimeDir?: string;
	readonly lingerFolder?: string;
	/** The directory of `systemctl` and `systemd-run`, if they are not on the PATH. */
	readonly programs?: string;
}

const ANSWER_MS_MAX = 10_000;

/** The manager, or why it is not available, as text. */
export function findUserManager(places: ManagerPaths = {}): UserManager | string {
	if (process.platform !== "linux") return "systemd is only available on Linux";
	const { uid, username } = userInfo();
	const groupRoot = places.groupRoot ?? "/sys/fs/cgroup";
	if (!existsSync(join(groupRoot, "cgroup.controllers"))) {
		return "systemd needs a host that uses only control groups version 2";
	}
	const runtimeDir =
		places.runtimeDir ?? process.env["XDG_RUNTIME_DIR"] ?? join("/run/user", String(uid));
	const program = (name: string) =>
		places.programs === undefined ? name : join(places.programs, name);
	const shown = ask(program("systemctl"), runtimeDir);
	if ("problem" in shown) return explain(shown.problem, username);
	const { version, controlGroup } = shown;
	const folder = join(groupRoot, controlGroup);
	return {
		version,
		runtimeDir,
		folder,
		runProgram: program("systemd-run"),
		controllers: readText(join(folder, "cgroup.controllers")).trim().split(/\s+/),
		lingers: existsSync(join(places.lingerFolder ?? "/var/lib/systemd/linger", username)),
		holdsThisProcess: readText("/proc/self/cgroup").includes(`0::${controlGroup}/`),
	};
}

type Answer =
	| { readonly version: string; readonly controlGroup: string }
	| { readonly problem: string };

function ask(systemctl: string, runtimeDir: string): Answer {
	try {
		const text = execFileSync(systemctl, ["--user", "show", "-p", "Version,ControlGroup"], {
			encoding: "utf8",
			env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", XDG_RUNTIME_DIR: runtimeDir },
			stdio: ["ignore", "pipe", "pipe"],
			timeout: ANSWER_MS_MAX,
		});
		return parseAnswer(text);
	} catch (error) {
		const { code, stderr } = error as NodeJS.ErrnoException & { readonly stderr?: string };
		if (code === "ENOENT") return { problem: "systemd is not installed" };
		return { problem: stderr?.trim().split("\n").at(-1) || (error as Error).message };
	}
}

function parseAnswer(text: string): Answer {
	const read = (name: string) => new RegExp(`^${name}=(.+)$`, "m").exec(text)?.[1];
	const [version, controlGroup] = [read("Version"), read("ControlGroup")];
	if (version === undefined || controlGroup === undefined) {
		return { problem: "systemctl --user does not report its control group" };
	}
	return { version: version.split(" ")[0] ?? version, controlGroup };
}

function explain(problem: string, username: string): string {
	if (problem === "systemd is not installed") return problem;
	return `the systemd user manager is not reachable (${problem}); loginctl enable-linger ${username} starts it`;
}

function readText(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}
