/**
 * Starts a run, once for each id (S1): the process that creates the run's claim starts it, and all
 * others wait for the handle. The start specification is on the disk only until the launcher has read
 * it.
 */

import { mkdirSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Argv, RunGroups } from "../../host/cgroup.js";
import { isAlive, readIdentity } from "../../host/process-identity.js";
import { killTree } from "../../host/process-tree.js";
import { checkLaunch, explainSpawnError } from "../../host/spawn-errors.js";
import type {
	ProcessIdentity,
	Recovered,
	RunHandle,
	StartRequest,
	StartResult,
} from "../../ports/backend.js";
import { ConnectionLost } from "./control-client.js";
import { quote } from "./control-parser.js";
import { createHandle, sessionOf, targetOf } from "./handle.js";
import { encodeSpec, environmentOf, parseStarted } from "./launcher.js";
import { logWriterCommand } from "./log-writer.js";
import type { RunFiles } from "./run-files.js";
import { LAUNCHER_FILE, LOG_WRITER_FILE, type TmuxPlace } from "./tmux-place.js";

/** Only `recover` can determine whether the run was started. */
class OutcomeUnknown extends Error {
	override readonly name = "OutcomeUnknown";
}

const STARTED_MS_MAX = 20_000;
const LOOK_MS = 2_000;
const OTHER_MS_MAX = 30_000;

const passing = (detail: string): StartResult => ({
	ok: false,
	failure: { permanent: false, detail },
});

export function readHandle(files: RunFiles, runId: string): RunHandle | null {
	return parseJson<RunHandle>(files.read(runId, "handle")?.text);
}

/** The process that has claimed the start of a run. */
export function readClaim(files: RunFiles, runId: string): ProcessIdentity | null {
	return parseJson<ProcessIdentity>(files.read(runId, "claim")?.text);
}

function parseJson<T>(text: string | undefined): T | null {
	try {
		return text === undefined ? null : (JSON.parse(text) as T);
	} catch {
		return null;
	}
}

/** `find` looks up a run whose start was not confirmed. */
export async function startRun(
	place: TmuxPlace,
	request: StartRequest,
	find: () => Promise<Recovered>,
): Promise<StartResult> {
	const { runId } = request;
	const problem = checkLaunch({ ...request, env: environmentOf(request) });
	if (problem !== null) return { ok: false, failure: problem };
	if (request.logDir.includes("\n")) {
		return {
			ok: false,
			failure: { permanent: true, detail: "the path of the log directory contains a newline" },
		};
	}
	try {
		const early = await claim(place, runId, find);
		if (early !== null) return early;
	} catch (error) {
		// Nothing was started.
		return passing((error as Error).message);
	}
	const groups = place.groups.create(runId, request.limits);
	try {
		return await launch(place, request, groups);
	} catch (error) {
		// A launcher has read the specification, and does not report the result.
		if (error instanceof OutcomeUnknown) throw error;
		await abandon(place, runId, groups.paths);
		return passing((error as Error).message);
	}
}

/** Null if this process starts the run; otherwise the result of another's start. */
async function claim(
	{ files }: TmuxPlace,
	runId: string,
	find: () => Promise<Recovered>,
): Promise<StartResult | null> {
	const deadlineMs = performance.now() + OTHER_MS_MAX;
	while (!files.create(runId, "claim", JSON.stringify(readIdentity(process.pid)))) {
		const handle = readHandle(files, runId);
		if (handle !== null) return { ok: true, handle };
		const owner = readClaim(files, runId);
		if (owner !== null && isAlive(owner) === false) {
			const found = await find();
			if (found.state === "running") return { ok: true, handle: found.handle };
			if (found.state !== "gone")
				return passing("an earlier start of this run is still in progress");
			files.remove(runId);
		} else if (performance.now() > deadlineMs) {
			return passing("another process is starting this run");
		} else {
			await files.waitFor(runId, ["handle"], 200);
		}
	}
	return null;
}

async function launch(
	place: TmuxPlace,
	request: StartRequest,
	groups: RunGroups,
): Promise<StartResult> {
	const { files, server } = place;
	const { runId } = request;
	mkdirSync(request.logDir, { recursive: true, mode: 0o700 });
	files.write(runId, "logs", `${request.logDir}\n`);
	files.reserve(runId);
	const argv = groups.limitedArgv(request.argv, request.limits);
	files.write(runId, "spec", encodeSpec({ ...request, argv }, groups));
	const startedAtMs = Date.now();
	const commands = startCommands(place, request, groups);
	let serverPid: number | null = null;
	try {
		const answers = await server.create(commands.join(" ; "), commands.length);
		serverPid = Number(answers.at(-1)?.[0]);
	} catch (error) {
		// Sent, and possibly executed: the launcher reports it.
		if (!(error instanceof ConnectionLost)) throw error;
	}
	const said = await hearLauncher(place, runId);
	if (said === "failed") {
		const errno = Number.parseInt(files.read(runId, said)?.text ?? "", 10);
		await abandon(place, runId, groups.paths);
		const launched = { ...request, env: environmentOf(request) };
		return { ok: false, failure: explainSpawnError(errorOf(errno), launched) };
	}
	const started = parseStarted(files.read(runId, "started")?.text ?? "");
	if (started === null) {
		if (!files.has(runId, "spec")) throw new OutcomeUnknown("the launcher does not respond");
		throw new Error(`the launcher failed to start: ${await readLastWords(place, runId)}`);
	}
	if (started.missedGroups === 0) groups.joined();
	const missed = started.missedGroups > 0 ? ["the run could not join its control groups"] : [];
	const handle = createHandle({
		...started,
		backend: place.name,
		runId,
		serverPid,
		startedAtMs,
		groups: groups.paths,
		missingLimits: [...groups.applyLimits(request.limits), ...missed],
	});
	try {
		files.write(runId, "handle", JSON.stringify(handle));
	} catch {
		// Only a cache: the launcher has recorded the start, and a full disk must not stop a running agent.
	}
	return { ok: true, handle };
}

/** The launcher's report; null if it exited without one, or takes too long. */
async function hearLauncher({ files, server }: TmuxPlace, runId: string) {
	const deadlineMs = performance.now() + STARTED_MS_MAX;
	for (;;) {
		const said = await files.waitFor(runId, ["failed", "started"], LOOK_MS);
		if (said !== null || performance.now() > deadlineMs) return said;
		const pane = await server.pane(sessionOf(runId));
		if (pane?.dead !== false) return files.waitFor(runId, ["failed", "started"], 0);
	}
}

/** The screen of a failed start, which shows the reason. */
async function readLastWords({ server }: TmuxPlace, runId: string): Promise<string> {
	try {
		// With and without lines that tmux has scrolled away.
		const [lines = []] = await server.run(`capture-pane -p -J -S - -t '${targetOf(runId)}'`);
		const said = lines.filter((line) => line.trim() !== "" && !line.startsWith("Pane is dead"));
		return said.join(" ").trim() || "it said nothing";
	} catch (error) {
		return (error as Error).message;
	}
}

/** In one line: tmux reads no output of the agent before the last command is done. */
function startCommands(
	{ folder, files }: TmuxPlace,
	request: StartRequest,
	groups: RunGroups,
): string[] {
	const { runId, size, terminal } = request;
	const target = `'${targetOf(runId)}'`;
	const perl: Argv = ["perl", join(folder, LAUNCHER_FILE), files.base(runId)];
	const launcher = groups.enclosedArgv(perl, request).map(quote).join(" ");
	const shape = `-x ${size.columns} -y ${size.rows}`;
	const tag = (name: string, value: string) => `set-option -t ${target} ${name} ${quote(value)}`;
	return [
		`new-session -d -s ${sessionOf(runId)} ${shape} -c / ${launcher}`,
		tag("@reeve", "1"),
		tag("@reeve-agent", request.agentId.replaceAll(/[^\w:.-]/g, "_")),
		tag("@reeve-run", runId),
		tag("@reeve-root", folder),
		...(terminal
			? [`pipe-pane -o -t ${target} ${quote(logWriterCommand(LOG_WRITER_FILE, runId))}`]
			: []),
		"display-message -p '#{pid}'",
	];
}

function errorOf(errno: number): NodeJS.ErrnoException {
	const [code = "unknown"] =
		Object.entries(constants.errno).find(([, number]) => number === errno) ?? [];
	return Object.assign(new Error(code), { code });
}

/** Removes all traces of a failed start. A late launcher finds nothing to launch. */
async function abandon(
	{ files, server, groups }: TmuxPlace,
	runId: string,
	paths: readonly string[],
): Promise<void> {
	files.remove(runId, ["spec"]);
	await killTree({ runId, root: null, groups: paths });
	await server.kill(sessionOf(runId)).catch(() => {});
	groups.remove(paths);
	files.remove(runId);
}
