/**
 * Access to launchd through `launchctl`, with exact names only. An unknown job is a result; an unknown
 * state is a failure, and never treated as one.
 */

import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

export interface Job {
	/** Null while it does not run. */
	readonly pid: number | null;
	/** How it last exited, as text; null if it never did. */
	readonly ended: string | null;
}

export interface Launchctl {
	/** Null if there is no such job. */
	print(label: string): Promise<Job | null>;
	/** Loads and starts the job of this file; a job that was loaded in the meantime is fine. */
	bootstrap(file: string): Promise<void>;
	kickstart(label: string): Promise<void>;
	/** Stops and unloads the job; a missing one is fine. */
	bootout(label: string): Promise<void>;
}

export interface LaunchctlOptions {
	/** `gui/501`: the domain of the jobs. */
	readonly domain: string;
	/** The program. */
	readonly program: string;
	readonly env: NodeJS.ProcessEnv;
}

const PROGRAM = "/bin/launchctl";

/** The jobs of the current user, in a desktop session. */
export function userDomain(): LaunchctlOptions {
	return { domain: `gui/${process.getuid?.() ?? 0}`, program: PROGRAM, env: process.env };
}

/** Why launchd cannot run agents here, or null. */
export function explainLaunchdProblem(options = userDomain()): string | null {
	if (!existsSync(options.program)) return "launchd is only available on macOS";
	try {
		const { program, env } = options;
		execFileSync(program, ["print", options.domain], { env, timeout: 5_000, stdio: "ignore" });
		return null;
	} catch {
		return `the launchd session ${options.domain} does not exist: log in at the desktop`;
	}
}

const ANSWER_MS_MAX = 30_000;
const NOT_FOUND = 113;
const NO_SUCH_PROCESS = 3;
/** Another process loads it, or has loaded it. */
const ALREADY = [5, 37];

export function createLaunchctl({ domain, program, env }: LaunchctlOptions): Launchctl {
	const ask = (...args: string[]) =>
		new Promise<{ code: number; stdout: string }>((resolve, reject) => {
			const options = { env, timeout: ANSWER_MS_MAX };
			execFile(program, args, options, (error, stdout, stderr) => {
				if (error === null) return resolve({ code: 0, stdout });
				if (typeof error.code === "number" && EXPECTED[args[0] ?? ""]?.includes(error.code)) {
					return resolve({ code: error.code, stdout });
				}
				const reported = stderr.trim().split("\n").at(-1) || error.message;
				reject(new Error(`launchctl ${args[0]}: ${reported}`));
			});
		});
	return {
		async print(label) {
			const { code, stdout } = await ask("print", `${domain}/${label}`);
			return code === NOT_FOUND ? null : parseJob(stdout);
		},
		bootstrap: async (file) => void (await ask("bootstrap", domain, file)),
		kickstart: async (label) => void (await ask("kickstart", `${domain}/${label}`)),
		bootout: async (label) => void (await ask("bootout", `${domain}/${label}`)),
	};
}

const EXPECTED: Readonly<Record<string, readonly number[]>> = {
	print: [NOT_FOUND],
	bootstrap: ALREADY,
	bootout: [NOT_FOUND, NO_SUCH_PROCESS],
};

/**
 * Parses the output of `launchctl print`. A job's own fields are indented by one tab, nested ones by
 * more. An exit and a signal have different fields, only one of which is present.
 */
export function parseJob(text: string): Job {
	const field = (name: string) => new RegExp(`^\\t${name} = (.*)$`, "m").exec(text)?.[1];
	const pid = Number(field("pid"));
	const code = /^(\d+)/.exec(field("last exit code") ?? "")?.[1];
	const signal = field("last terminating signal");
	return {
		pid: Number.isInteger(pid) && pid > 0 ? pid : null,
		ended: signal ?? (code === undefined ? null : `exit code ${code}`),
	};
}
