/** Checks of the programs that Reeve and its agents need, and of their versions. */

import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { ADAPTERS } from "../../core/states.js";
import { runProgram } from "../service/run-program.js";
import { type CheckContext, type Finding, fail, ok, warn } from "./check.js";

const NODE_MIN = [20, 19] as const;
const TMUX_MIN = [3, 2] as const;
const ASK_MS_MAX = 3_000;

export function checkNode(version: string): Finding {
	const detail = `Node ${version}`;
	if (isAtLeast(version, NODE_MIN)) return ok(detail);
	return fail(detail, `install Node ${NODE_MIN.join(".")} or newer`);
}

export async function checkTmux({ env }: CheckContext): Promise<Finding> {
	const install =
		"optional: install tmux (apt install tmux, brew install tmux); the pty backend works without it";
	const { code, stdout, problem } = await runProgram("tmux", ["-V"], {
		env,
		timeoutMs: ASK_MS_MAX,
	});
	if (problem === "missing")
		return warn("tmux is not installed: sessions use the pty backend", install);
	if (code !== 0) return warn("tmux is installed but does not run", "try `tmux -V`");
	return checkTmuxVersion(stdout.trim());
}

export function checkTmuxVersion(version: string): Finding {
	// `tmux next-3.6` and `tmux master` are newer than any release.
	const number = /(\d+\.\d+)/.exec(version)?.[1];
	if (number === undefined) return ok(version);
	if (!isAtLeast(number, TMUX_MIN)) {
		return warn(`${version} is old`, `install tmux ${TMUX_MIN.join(".")} or newer`);
	}
	return ok(version);
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
	const [hasMajor = 0, hasMinor = 0] = version.split(".").map(Number);
	return hasMajor > major || (hasMajor === major && hasMinor >= minor);
}

/** Named like their adapters, and two that run under `generic`. */
const AGENT_CLIS = [...ADAPTERS.filter((adapter) => adapter !== "generic" && adapter !== "acp")];
const CLIS = [...new Set(AGENT_CLIS)];
/** Some CLIs take seconds to print their version; then it is enough that they exist. */
const VERSION_MS_MAX = 1_000;

export async function checkAgentClis({ env }: CheckContext): Promise<Finding> {
	const found = await Promise.all(CLIS.map((cli) => findCli(cli, env)));
	const reported = found.filter((cli) => cli !== null);
	if (reported.length > 0) return ok(reported.map(({ words }) => words).join(", "));
	return warn(
		`none of ${CLIS.join(", ")} found on PATH`,
		"install one, or set `command` to your own program in the fleet file",
	);
}

async function findCli(cli: string, env: NodeJS.ProcessEnv) {
	const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
	const hits = await Promise.all(
		folders.map((folder) =>
			access(join(folder, cli), constants.X_OK).then(
				() => true,
				() => false,
			),
		),
	);
	if (!hits.includes(true)) return null;
	const { code, stdout } = await runProgram(cli, ["--version"], { env, timeoutMs: VERSION_MS_MAX });
	const version = code === 0 ? /\d+\.\d+[\w.-]*/.exec(stdout)?.[0] : undefined;
	return { words: `${cli} ${version ?? "(unknown version)"}` };
}
