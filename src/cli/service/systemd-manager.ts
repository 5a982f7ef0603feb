/** systemd as the service manager, through `systemctl`. */

import { join } from "node:path";
import { ReeveError } from "../../core/errors.js";
import { DAEMON_FLAGS } from "../daemon-program.js";
import { type Answer, runProgram } from "./run-program.js";
import {
	type Advice,
	type Command,
	MARK,
	readIfExists,
	refuseControlCharacters,
	type ServiceFacts,
	type ServiceManager,
	type ServiceScope,
	type ServiceState,
} from "./service.js";

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
		readHome: async () => parseSystemdUnit((await readIfExists(file)) ?? "")?.home ?? null,
		async inspect() {
			const answer = await ask(systemctl("show", `--property=${PROPERTIES.join(",")}`, UNIT));
			if (answer.code !== 0) throw explainUnreachable(answer, scope);
			return checkUnit(parseProperties(answer.stdout), file);
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
			if (answer.stdout.includes("Linger=no")) return [STOPS_AT_LOGOUT];
			const { stdout } = await ask(["systemctl", "--version"]);
			const bug = answer.stdout.includes("Linger=yes") ? explainLingerBug(stdout) : null;
			return bug === null ? [] : [bug];
		},
	};
}

const STOPS_AT_LOGOUT: Advice = {
	text: "the daemon and its agents stop when you log out and start at your next login: run `loginctl enable-linger` to keep them running",
	fix: "loginctl enable-linger",
};

/**
 * systemd 255 may stop the user manager at the last logout although lingering is enabled; 256.3 fixed it. From the output
 * of `systemctl --version`.
 */
export function explainLingerBug(output: string): Advice | null {
	const [, whole = "", exact = whole] = /^systemd (\d+)(?: \((\d+(?:\.\d+)?))?/.exec(output) ?? [];
	const [major = 0, minor = 0] = exact.split(".").map(Number);
	if (major < 255 || major > 256 || (major === 256 && minor >= 3)) return null;
	const fix = "sudo reeve daemon install --system";
	const text = `systemd ${exact} may stop the daemon and its agents at your last logout although lingering is enabled (fixed in 256.3): run \`${fix}\`, whose units do not depend on a login`;
	return { text, fix };
}

const PROPERTIES = ["LoadState", "FragmentPath", "ActiveState", "MainPID"] as const;

function parseProperties(text: string): Partial<Record<string, string>> {
	const lines = text.split("\n").filter((line) => line.includes("="));
	return Object.fromEntries(
		lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
	);
}

async function checkUnit(
	shown: Partial<Record<string, string>>,
	file: string,
): Promise<ServiceState> {
	const loadedFrom = shown["FragmentPath"] ?? "";
	if (shown["LoadState"] === "masked") return { installed: "foreign", file: `${file} (masked)` };
	if (loadedFrom !== "" && loadedFrom !== file) return { installed: "foreign", file: loadedFrom };
	const text = await readIfExists(file);
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
	const reported = stderr.trim().split("\n").at(-1) ?? "";
	if (/not been booted with systemd/.test(stderr) || scope === "system") {
		return new ReeveError(code, `systemd is not running: ${reported || "no answer"}`, without);
	}
	return new ReeveError(
		code,
		`the systemd user manager is not reachable: ${reported || "no answer"}`,
		"Log in as this user (`su` and `sudo` are not enough), or run `loginctl enable-linger` and `export XDG_RUNTIME_DIR=/run/user/$(id -u)`, or use --system.",
	);
}

async function explainFailure(
	command: Command,
	answer: Answer,
	readLog: () => Promise<Answer>,
): Promise<ReeveError> {
	const message = answer.problem === "timeout" ? "it did not exit in time" : answer.stderr.trim();
	const log = (await readLog()).stdout.trim();
	const lines = [...message.split("\n"), ...log.split("\n")].filter((line) => line.trim() !== "");
	return new ReeveError(
		"service_failed",
		[`\`${command.join(" ")}\` failed`, ...lines].join("\n  "),
	);
}

export function renderSystemdUnit(facts: ServiceFacts): string {
	refuseControlCharacters(facts);
	const isSystem = facts.scope === "system";
	const control = isSystem ? "systemctl" : "systemctl --user";
	const account =
		facts.account === null ? "" : `User=${facts.account.name.replaceAll("%", "%%")}\n`;
	return `# ${MARK}, which overwrites it each time: put your own changes into a
# drop-in (\`${control} edit reeve\`). \`reeve daemon uninstall\` removes it.
[Unit]
Description=Reeve, supervisor for AI agents
X-Reeve-Version=${facts.version}
${isSystem ? "After=network.target\n" : ""}# Stop restarting after ten failures within five minutes.
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
# The daemon reports readiness through a small child process.
Type=notify
NotifyAccess=all
ExecStart=${quoteWord(facts.node)} ${DAEMON_FLAGS.join(" ")} ${quoteWord(facts.program).replaceAll("$", "$$$$")}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory=/
${account}Environment=${quoteWord(`REEVE_HOME=${facts.home}`)}
# The PATH at installation time: agents and their tools are found with it.
Environment=${quoteWord(`PATH=${facts.path}`)}

# Only the daemon is stopped and restarted with the service. Agents keep running, and the next daemon adopts them.
KillMode=process
# A graceful stop takes up to 10 s for the services and 5 s for running calls.
TimeoutStopSec=45
# Adopting a large fleet may take the daemon up to 10 min.
TimeoutStartSec=660
Restart=on-failure
RestartSec=2
# The daemon detects a blocked event loop within 30 s; this covers the case that it cannot.
WatchdogSec=60

# Control groups for the limits of agents; an agent that runs out of memory is not a failure of the daemon.
Delegate=yes
OOMPolicy=continue
TasksMax=infinity

# Agents inherit any hardening of this unit. They need to edit files of their user, run compilers,
# sudo and browsers: ProtectHome=, PrivateTmp=, NoNewPrivileges= and similar would break them, so there
# is none. Use \`limits\` in the fleet file to restrict agents.

[Install]
WantedBy=${isSystem ? "multi-user.target" : "default.target"}
`;
}

/** Whether a unit was written by Reeve, and the home of its daemon. */
export function parseSystemdUnit(text: string): { readonly home: string | null } | null {
	if (!text.startsWith(`# ${MARK}`)) return null;
	const words = [...text.matchAll(/^Environment=(.*)$/gm)].map(([, word = ""]) =>
		unquoteWord(word),
	);
	const home = words.find((word) => word.startsWith("REEVE_HOME="));
	return { home: home?.slice("REEVE_HOME=".length) ?? null };
}

/** Quotes a word of a line that is split into words. */
function quoteWord(word: string): string {
	const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
	return /[\s"'\\;]/.test(word) ? `"${escaped}"` : escaped;
}

function unquoteWord(word: string): string {
	const inner = word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word;
	return inner.replaceAll("%%", "%");
}
