/** systemd as the service manager, through `systemctl`. */

import { join } from "node:path";
import { ReeveError } from "../../core/errors.js";
import { type Answer, runProgram } from "./run-program.js";
import {
	type Command,
	readIfThere,
	type ServiceManager,
	type ServiceScope,
	type ServiceState,
} from "./service.js";
import { parseSystemdUnit, renderSystemdUnit } from "./systemd-unit.js";

const UNIT = "reeve.service";

const ASK_MS_MAX = 5_000;
/** Longer than a start or a stop of the unit may take. */
const RUN_MS_MAX = 720_000;
const LOG_LINES = "15";

export interface SystemdOptions {
	readonly scope: ServiceScope;
	readonly env: NodeJS.ProcessEnv;
	/** The directory of the user's own units. */
	readonly configDir: string;
	/** `/`, except in tests. */
	readonly root: string;
}

export function createSystemdManager(options: SystemdOptions): ServiceManager {
	const { scope, env, configDir, root } = options;
	const file =
		scope === "system"
			? join(root, "etc/systemd/system", UNIT)
			: join(configDir, "systemd/user", UNIT);
	const flags = scope === "system" ? [] : ["--user"];
	const systemctl = (...args: string[]): Command => ["systemctl", ...flags, ...args];
	const ask = ([program, ...args]: Command) =>
		runProgram(program, args, { env, timeoutMs: ASK_MS_MAX });

	return {
		name: "systemd",
		file,
		startHint: ["systemctl", ...flags, "start", "reeve"].join(" "),
		render: renderSystemdUnit,
		readHome: async () => parseSystemdUnit((await readIfThere(file)) ?? "")?.home ?? null,
		async inspect() {
			const answer = await ask(systemctl("show", `--property=${PROPERTIES.join(",")}`, UNIT));
			if (answer.code !== 0) throw explainUnreachable(answer, scope);
			return judgeUnit(parseProperties(answer.stdout), file);
		},
		installCommands: (state) => [
			systemctl("daemon-reload"),
			systemctl("enable", UNIT),
			// Earlier failures would count against the start limit.
			...(state.installed === "yes" && state.state === "failed"
				? [systemctl("reset-failed", UNIT)]
				: []),
			systemctl("restart", UNIT),
		],
		uninstallCommands: () => ({
			before: [systemctl("disable", "--now", UNIT)],
			after: [systemctl("daemon-reload")],
		}),
		startCommands: () => [systemctl("--no-ask-password", "start", UNIT)],
		async run([program, ...args]) {
			const answer = await runProgram(program, args, { env, timeoutMs: RUN_MS_MAX });
			if (answer.code === 0) return;
			throw await explainFailure([program, ...args], answer, () =>
				ask(["journalctl", ...flags, "--no-pager", "-o", "cat", "-n", LOG_LINES, "-u", UNIT]),
			);
		},
		async advice() {
			if (scope === "system") return [];
			const answer = await ask(["loginctl", "show-user", "--property=Linger", env["USER"] ?? ""]);
			if (!answer.stdout.includes("Linger=no")) return [];
			return [
				"the daemon and its agents stop when you log out and start at your next login: run `loginctl enable-linger` to keep them running",
			];
		},
	};
}

const PROPERTIES = ["LoadState", "FragmentPath", "ActiveState", "MainPID"] as const;

function parseProperties(text: string): Partial<Record<string, string>> {
	const lines = text.split("\n").filter((line) => line.includes("="));
	return Object.fromEntries(
		lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
	);
}

async function judgeUnit(
	shown: Partial<Record<string, string>>,
	file: string,
): Promise<ServiceState> {
	const loadedFrom = shown["FragmentPath"] ?? "";
	if (shown["LoadState"] === "masked") return { installed: "foreign", file: `${file} (masked)` };
	if (loadedFrom !== "" && loadedFrom !== file) return { installed: "foreign", file: loadedFrom };
	const text = await readIfThere(file);
	if (text === null) return { installed: "no" };
	const ours = parseSystemdUnit(text);
	if (ours === null) return { installed: "foreign", file };
	const pid = Number(shown["MainPID"] ?? 0);
	const state = shown["ActiveState"] || "unknown";
	return { installed: "yes", home: ours.home, pid: pid > 0 ? pid : null, state };
}

function explainUnreachable({ problem, stderr }: Answer, scope: ServiceScope): ReeveError {
	const code = "service_manager_missing";
	const without = "To run the daemon without systemd until the next reboot: `reeve daemon start`.";
	if (problem === "missing") {
		return new ReeveError(code, "systemd not found (systemctl is not on PATH)", without);
	}
	const said = stderr.trim().split("\n").at(-1) ?? "";
	if (/not been booted with systemd/.test(stderr) || scope === "system") {
		return new ReeveError(code, `systemd is not running: ${said || "no answer"}`, without);
	}
	return new ReeveError(
		code,
		`the systemd user manager is not reachable: ${said || "no answer"}`,
		"Log in as this user (`su` and `sudo` are not enough), or run `loginctl enable-linger` and `export XDG_RUNTIME_DIR=/run/user/$(id -u)`, or use --system.",
	);
}

async function explainFailure(
	command: Command,
	answer: Answer,
	readLog: () => Promise<Answer>,
): Promise<ReeveError> {
	const said = answer.problem === "timeout" ? "it did not exit in time" : answer.stderr.trim();
	const log = (await readLog()).stdout.trim();
	const lines = [...said.split("\n"), ...log.split("\n")].filter((line) => line.trim() !== "");
	return new ReeveError(
		"service_failed",
		[`\`${command.join(" ")}\` failed`, ...lines].join("\n  "),
	);
}
