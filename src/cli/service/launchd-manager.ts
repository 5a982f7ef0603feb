/** launchd as the service manager, through `launchctl`. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ReeveError } from "../../core/errors.js";
import { type PropertyValue, renderPropertyList, unescapeXml } from "../../home/property-list.js";
import { DAEMON_FLAGS } from "../daemon-program.js";
import { type Answer, runProgram } from "./run-program.js";
import {
	type Command,
	MARK,
	readIfExists,
	refuseControlCharacters,
	type ServiceFacts,
	type ServiceManager,
	type ServiceScope,
	type ServiceState,
} from "./service.js";

const ASK_MS_MAX = 5_000;
const RUN_MS_MAX = 60_000;
/** Longer than the daemon may take to exit. */
const GONE_MS_MAX = 60_000;
const POLL_MS = 100;
/** The exit code of \`launchctl print\` for an unknown job; other failures prove nothing. */
const NOT_LOADED = 113;

export interface LaunchdOptions {
	readonly scope: ServiceScope;
	readonly env: NodeJS.ProcessEnv;
	readonly userDir: string;
	readonly uid: number;
	/** `/`, except in tests. */
	readonly root: string;
}

export function createLaunchdManager(options: LaunchdOptions): ServiceManager {
	const { scope, env, userDir, uid, root } = options;
	const folder =
		scope === "system"
			? join(root, "Library/LaunchDaemons")
			: join(userDir, "Library/LaunchAgents");
	const file = join(folder, `${LAUNCHD_LABEL}.plist`);
	// Without a desktop, for example over ssh, `inspect` finds only the user's background domain.
	let domain = scope === "system" ? "system" : `gui/${uid}`;
	const target = () => `${domain}/${LAUNCHD_LABEL}`;
	const ask = (...args: string[]) => runProgram("launchctl", args, { env, timeoutMs: ASK_MS_MAX });

	return {
		name: "launchd",
		file,
		get startHint() {
			return `launchctl kickstart ${target()}`;
		},
		render: renderLaunchdPlist,
		readHome: async () => parseLaunchdPlist((await readIfExists(file)) ?? "")?.home ?? null,
		async inspect() {
			domain = await findDomain(ask, scope, uid);
			return checkJob(await ask("print", target()), file);
		},
		installCommands: (state) => [
			...(isLoaded(state) ? [["launchctl", "bootout", target()] as const] : []),
			["launchctl", "enable", target()],
			["launchctl", "bootstrap", domain, file],
			["launchctl", "kickstart", target()],
		],
		uninstallCommands: () => ({ before: [["launchctl", "bootout", target()]], after: [] }),
		startCommands: () => [["launchctl", "kickstart", target()]],
		async run([program, ...args]) {
			const answer = await runProgram(program, args, { env, timeoutMs: RUN_MS_MAX });
			const isGone = args[0] === "bootout" && /No such process|Could not find/.test(answer.stderr);
			if (answer.code !== 0 && !isGone) throw explainFailure([program, ...args], answer);
			// It returns before the job has exited, and until then there cannot be another.
			if (args[0] === "bootout") await waitUntilGone(() => ask("print", target()), target());
		},
		async advice() {
			return [];
		},
	};
}

function isLoaded(state: ServiceState): boolean {
	return state.installed === "yes" && state.state !== "not loaded";
}

async function findDomain(
	ask: (...args: string[]) => Promise<Answer>,
	scope: ServiceScope,
	uid: number,
): Promise<string> {
	const domains = scope === "system" ? ["system"] : [`gui/${uid}`, `user/${uid}`];
	for (const domain of domains) {
		const { code, problem } = await ask("print", domain);
		if (code === 0) return domain;
		if (problem === "missing") break;
	}
	throw new ReeveError(
		"service_manager_missing",
		"launchd is not reachable (`launchctl print` failed)",
		"Log in as this user, or use --system. To run the daemon without launchd: `reeve daemon start`.",
	);
}

/** A field of the job itself; nested fields are indented further. */
function fieldOf({ stdout }: Answer, name: string): string | undefined {
	return new RegExp(`^\\t${name} = (.*)$`, "m").exec(stdout)?.[1];
}

async function checkJob(printed: Answer, file: string): Promise<ServiceState> {
	if (printed.code !== 0 && printed.code !== NOT_LOADED) {
		throw explainFailure(["launchctl", "print"], printed);
	}
	const loadedFrom = fieldOf(printed, "path");
	if (printed.code === 0 && loadedFrom !== undefined && loadedFrom !== file) {
		return { installed: "foreign", file: loadedFrom };
	}
	const text = await readIfExists(file);
	if (text === null) return { installed: "no" };
	const ours = parseLaunchdPlist(text);
	if (ours === null) return { installed: "foreign", file };
	const pid = fieldOf(printed, "pid");
	const state = fieldOf(printed, "state") ?? "unknown";
	return {
		installed: "yes",
		home: ours.home,
		pid: pid === undefined ? null : Number(pid),
		state: printed.code === 0 ? state : "not loaded",
	};
}

async function waitUntilGone(print: () => Promise<Answer>, target: string): Promise<void> {
	const untilMs = performance.now() + GONE_MS_MAX;
	while ((await print()).code !== NOT_LOADED) {
		if (performance.now() > untilMs) {
			throw new ReeveError(
				"service_failed",
				`${target} is still loaded after \`launchctl bootout\``,
			);
		}
		await sleep(POLL_MS);
	}
}

function explainFailure(command: Command, { problem, stderr }: Answer): ReeveError {
	const reported = problem === "timeout" ? "it did not exit in time" : stderr.trim();
	return new ReeveError("service_failed", `\`${command.join(" ")}\` failed\n  ${reported}`);
}

const LAUNCHD_LABEL = "reeve.daemon";

export function renderLaunchdPlist(facts: ServiceFacts): string {
	refuseControlCharacters(facts);
	const entries: Readonly<Record<string, PropertyValue>> = {
		Label: LAUNCHD_LABEL,
		ProgramArguments: [facts.node, ...DAEMON_FLAGS, facts.program],
		WorkingDirectory: "/",
		EnvironmentVariables: {
			PATH: facts.path,
			REEVE_HOME: facts.home,
			// launchd does not set it for a system service.
			...(facts.account !== null && { HOME: facts.account.dir }),
		},
		...(facts.account !== null && { UserName: facts.account.name }),
		RunAtLoad: true,
		// A clean exit is intended; any other is restarted.
		KeepAlive: { SuccessfulExit: false },
		ThrottleInterval: 5,
		// A graceful stop takes up to 10 s for the services and 5 s for running calls.
		ExitTimeOut: 45,
		// Agents keep running when the daemon exits.
		AbandonProcessGroup: true,
		// Otherwise agents would be throttled as background work.
		ProcessType: "Interactive",
		StandardOutPath: facts.log,
		StandardErrorPath: facts.log,
		Umask: 0o077,
	};
	const comment = `${MARK} (version ${facts.version}), which overwrites it each time.`;
	return renderPropertyList(entries, comment);
}

/** Whether a property list was written by Reeve, and the home of its daemon. */
export function parseLaunchdPlist(text: string): { readonly home: string | null } | null {
	if (!text.includes(`<!-- ${MARK}`)) return null;
	const home = /<key>REEVE_HOME<\/key>\s*<string>([^<]*)<\/string>/.exec(text)?.[1];
	return { home: home === undefined ? null : unescapeXml(home) };
}
