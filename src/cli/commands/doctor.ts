/** `reeve doctor`: checks this machine for problems and prints how to fix them. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { messageOf } from "../../core/message-of.js";
import { plainLine } from "../../core/safe-text.js";
import { resolveHome } from "../../home/paths.js";
import type { DaemonJson } from "../../http/contract/daemon.js";
import { countOf } from "../arguments.js";
import {
	type Check,
	type CheckContext,
	type Finding,
	fail,
	ok,
	quote,
	statIfExists,
} from "../checks/check.js";
import {
	checkBackends,
	checkCrashes,
	checkDaemon,
	checkLimits,
	checkLog,
	checkSettings,
} from "../checks/daemon.js";
import { checkDatabase, checkStrays, inspect } from "../checks/inspected.js";
import { checkDisk, checkFiles, checkHome, checkSocket } from "../checks/places.js";
import { checkAgentClis, checkNode, checkTmux } from "../checks/programs.js";
import { checkService } from "../checks/service.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";

export async function runDoctor(
	options: { file: string; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const checks = await runChecks(options.file, env);
	const failed = checks.some(({ status }) => status === "fail");
	if (options.json) output.json({ ok: !failed, checks });
	else printChecks(checks, output);
	return failed ? CLI_EXIT.failed : CLI_EXIT.done;
}

function printChecks(checks: readonly Check[], output: Output): void {
	const { colors } = output;
	const paints = { ok: colors.green, warn: colors.yellow, fail: colors.red };
	const width = Math.max(...checks.map(({ name }) => name.length));
	for (const { name, status, detail, fix } of checks) {
		const mark = paints[status](status.padEnd(4));
		output.result(`${mark}  ${name.padEnd(width)}  ${plainLine(detail)}`);
		if (fix !== null)
			output.result(`${" ".repeat(width + 8)}${colors.dim("fix:")} ${plainLine(fix)}`);
	}
}

const DAEMON_MS_MAX = 3_000;

const CHECKS: Readonly<Record<string, (context: CheckContext) => Finding | Promise<Finding>>> = {
	node: () => checkNode(process.versions.node),
	tmux: checkTmux,
	"agent CLIs": checkAgentClis,
	home: checkHome,
	files: checkFiles,
	socket: checkSocket,
	disk: checkDisk,
	database: checkDatabase,
	service: checkService,
	settings: checkSettings,
	daemon: checkDaemon,
	crashes: checkCrashes,
	log: checkLog,
	backends: checkBackends,
	limits: checkLimits,
	processes: checkStrays,
	"fleet file": checkFleetFile,
};

async function runChecks(file: string, env: NodeJS.ProcessEnv): Promise<readonly Check[]> {
	const inspection = inspect(env);
	// Each check that needs it reports the error.
	inspection.catch(() => {});
	const context = { home: resolveHome(env), env, file, daemon: askDaemon(env), inspection };
	return Promise.all(
		Object.entries(CHECKS).map(async ([name, check]) => {
			try {
				return { name, ...(await check(context)) };
			} catch (error) {
				const detail = messageOf(error);
				return { name, ...fail(`check failed: ${detail}`, null) };
			}
		}),
	);
}

async function askDaemon(env: NodeJS.ProcessEnv): Promise<DaemonJson | ReeveError> {
	try {
		const signal = AbortSignal.timeout(DAEMON_MS_MAX);
		return await connect(env).client.call("GET /api/v1/daemon", { signal });
	} catch (error) {
		if (error instanceof ReeveError) return error;
		throw error;
	}
}

async function checkFleetFile({ file, env }: CheckContext): Promise<Finding> {
	if ((await statIfExists(file)) === null) {
		return ok(`no ${file} here (\`reeve init\` writes one)`);
	}
	const { loadFleetFile } = await import("../read-fleet.js");
	const loaded = await loadFleetFile(file, env);
	if (loaded.ok) return ok(`${file}: ${countOf(loaded.fleet.agents.length, "agent")}`);
	const problems = countOf(loaded.problems.length, "problem");
	return fail(`${file} has ${problems}`, `reeve validate ${quote(file)}`);
}
