/** Inspection by the daemon's own modules without a daemon: the database and stray processes. */

import { fileURLToPath } from "node:url";
import type { Inspection, Stray } from "../../client/inspection.js";
import { countOf } from "../arguments.js";
import { runProgram } from "../service/run-program.js";
import { type CheckContext, type Finding, fail, ok, quote, warn } from "./check.js";

const PROGRAM = fileURLToPath(new URL("../../daemon/inspection/inspect.js", import.meta.url));
const INSPECT_MS_MAX = 10_000;

export async function inspect(env: NodeJS.ProcessEnv): Promise<Inspection> {
	const args = [PROGRAM];
	const ran = await runProgram(process.execPath, args, { env, timeoutMs: INSPECT_MS_MAX });
	if (ran.code === 0) return JSON.parse(ran.stdout) as Inspection;
	throw new Error(
		ran.problem === "timeout"
			? `no result within ${INSPECT_MS_MAX / 1_000} s`
			: (ran.stderr
					.trim()
					.split("\n")
					.find((line) => /Error/.test(line)) ?? "the inspection failed"),
	);
}

export async function checkDatabase({ inspection, home }: CheckContext): Promise<Finding> {
	const { database } = await inspection;
	if (database.state === "absent") return ok("not created yet: the first daemon creates it");
	if (database.state === "unusable") return fail(database.reason, database.hint);
	const size = `${Math.ceil(database.bytes / 2 ** 20)} MiB`;
	if (database.state === "sound") return ok(`${home.database} is intact (${size})`);
	const look = `sqlite3 -readonly ${quote(home.database)} 'PRAGMA quick_check'`;
	return ok(`${home.database} opens (${size}: too large for a full check here; run \`${look}\`)`);
}

const SHOWN_MAX = 5;

export async function checkStrays({ inspection }: CheckContext): Promise<Finding> {
	const { strays } = await inspection;
	const left = strays.filter(({ what }) => what === "left");
	const others = strays.filter(({ what }) => what !== "left");
	// Other processes probably belong to Reeve, but that is not proven.
	const proven = others.filter(({ what }) => what !== "recorded");
	if (strays.length === 0) return ok("no orphaned agent processes");
	const agents = [...new Set(left.map(({ of }) => of))];
	const details = [
		...(left.length > 0
			? [`${countOf(agents.length, "agent")} without a daemon: ${some(agents)}`]
			: []),
		...(others.length > 0 ? [some(others.map(renderStray))] : []),
	];
	const fixes = [
		...(left.length > 0 ? ["`reeve daemon start` resumes supervision"] : []),
		...(others.length > 0 ? [`inspect them: ps -fp ${pidsOf(others, ",")}`] : []),
		...(proven.length > 0 ? [`if they are not needed: kill ${pidsOf(proven, " ")}`] : []),
	];
	return warn(details.join("; "), fixes.join("; "));
}

const pidsOf = (strays: readonly Stray[], between: string) =>
	strays.map(({ pid }) => pid).join(between);

function some(words: readonly (string | null)[]): string {
	const more = words.length > SHOWN_MAX ? ` and ${words.length - SHOWN_MAX} more` : "";
	return `${words.slice(0, SHOWN_MAX).join(", ")}${more}`;
}

function renderStray({ what, pid, runId, of }: Stray): string {
	if (what === "holder") return `pid ${pid} holds terminals in ${of}, which was removed or moved`;
	if (what === "ended") return `pid ${pid} is left over from a finished run of ${of}`;
	return `pid ${pid} belongs to run ${runId}, which is not in the database`;
}
