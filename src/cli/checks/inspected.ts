/** What the daemon's own parts find when they are asked without a daemon: the database and stray processes. */

import { fileURLToPath } from "node:url";
import type { Inspection, Stray } from "../../client/inspection.js";
import { countOf } from "../arguments.js";
import { runProgram } from "../service/run-program.js";
import { type CheckContext, type Finding, fail, ok, quote, warn } from "./check.js";

const PROGRAM = fileURLToPath(new URL("../../daemon/inspect.js", import.meta.url));
const INSPECT_MS_MAX = 10_000;

export async function inspect(env: NodeJS.ProcessEnv): Promise<Inspection> {
	const args = [PROGRAM];
	const ran = await runProgram(process.execPath, args, { env, timeoutMs: INSPECT_MS_MAX });
	if (ran.code === 0) return JSON.parse(ran.stdout) as Inspection;
	throw new Error(
		ran.problem === "timeout"
			? `no answer within ${INSPECT_MS_MAX / 1_000} s`
			: (ran.stderr
					.trim()
					.split("\n")
					.find((line) => /Error/.test(line)) ?? "the look failed"),
	);
}

export async function checkDatabase({ inspection, home }: CheckContext): Promise<Finding> {
	const { database } = await inspection;
	if (database.state === "absent") return ok("there is none yet: the first daemon makes it");
	if (database.state === "unusable") return fail(database.reason, database.hint);
	const size = `${Math.ceil(database.bytes / 2 ** 20)} MiB`;
	if (database.state === "sound") return ok(`${home.database} is sound (${size})`);
	const look = `sqlite3 -readonly ${quote(home.database)} 'PRAGMA quick_check'`;
	return ok(`${home.database} opens (${size}: too large to read through here; \`${look}\` does)`);
}

const TOLD_MAX = 5;

export async function checkStrays({ inspection }: CheckContext): Promise<Finding> {
	const { strays } = await inspection;
	const left = strays.filter(({ what }) => what === "left");
	const others = strays.filter(({ what }) => what !== "left");
	if (strays.length === 0) return ok("no process of an agent is without a keeper");
	const agents = [...new Set(left.map(({ of }) => of))];
	const details = [
		...(left.length > 0
			? [`${countOf(agents.length, "agent")} without a daemon: ${some(agents)}`]
			: []),
		...(others.length > 0 ? [some(others.map(renderStray))] : []),
	];
	const fixes = [
		...(left.length > 0 ? ["reeve daemon start takes them up"] : []),
		...(others.length > 0
			? [`look at them (ps -fp ${pidsOf(others, ",")}), then kill ${pidsOf(others, " ")}`]
			: []),
	];
	return warn(details.join("; "), fixes.join("; "));
}

const pidsOf = (strays: readonly Stray[], between: string) =>
	strays.map(({ pid }) => pid).join(between);

function some(words: readonly (string | null)[]): string {
	const more = words.length > TOLD_MAX ? ` and ${words.length - TOLD_MAX} more` : "";
	return `${words.slice(0, TOLD_MAX).join(", ")}${more}`;
}

function renderStray({ what, pid, runId, of }: Stray): string {
	if (what === "holder") return `pid ${pid} holds terminals for ${of}, which is gone`;
	if (what === "ended") return `pid ${pid} is left of a run of ${of} that has ended`;
	return `pid ${pid} belongs to the run ${runId}, of which nothing is known`;
}
