/** The facts of this host for a service: who installs it, where and for which user. */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ReeveError } from "../../core/errors.js";
import { type Home, resolveHome } from "../../home/paths.js";
import { readVersion } from "../../home/version.js";
import { DAEMON_PROGRAM } from "../daemon-program.js";
import { createLaunchdManager } from "./launchd-manager.js";
import { runProgram } from "./run-program.js";
import type { Account, ServiceFacts, ServiceManager, ServiceScope } from "./service.js";
import { createSystemdManager } from "./systemd-manager.js";

/** Replaced in tests. */
export interface Host {
	readonly platform: NodeJS.Platform;
	readonly uid: number;
	/** The root directory of `/etc` and `/Library`. */
	readonly root: string;
	readonly node: string;
	readonly program: string;
}

export const thisHost = (): Host => ({
	platform: process.platform,
	uid: process.getuid?.() ?? -1,
	root: "/",
	node: process.execPath,
	program: DAEMON_PROGRAM,
});

export function createManager(
	scope: ServiceScope,
	env: NodeJS.ProcessEnv,
	{ platform, uid, root }: Host,
): ServiceManager {
	const userDir = env["HOME"] || homedir();
	if (platform === "darwin") return createLaunchdManager({ scope, env, userDir, uid, root });
	const configDir = env["XDG_CONFIG_HOME"] || join(userDir, ".config");
	if (platform === "linux") return createSystemdManager({ scope, env, configDir, root });
	throw new ReeveError(
		"service_manager_missing",
		`services are not supported on ${platform}`,
		"Run the daemon without a service: `reeve daemon start`.",
	);
}

export interface Installer {
	readonly facts: ServiceFacts;
	readonly home: Home;
	/** Warnings: settings that may break later or may be unintended. */
	readonly warnings: readonly string[];
}

export async function gatherFacts(
	scope: ServiceScope,
	env: NodeJS.ProcessEnv,
	host: Host,
	asked: { readonly user?: string },
): Promise<Installer> {
	if (asked.user !== undefined && scope === "user") {
		const hint = "A user service runs as yourself. Remove --user, or add --system.";
		throw new ReeveError("usage", "--user needs --system", hint);
	}
	const account = scope === "system" ? await findAccount(env, host, asked.user) : null;
	const home =
		account === null ? resolveHome(env) : resolveHome({ ...env, ...homeOf(account, env) });
	const node = stablePath(host.node);
	const path = env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
	const facts: ServiceFacts = {
		scope,
		node,
		program: host.program,
		version: readVersion(),
		path,
		home: home.dir,
		account,
		// launchd cannot write to a directory that the daemon's user has not created yet.
		log: account === null ? home.daemonLog : "/Library/Logs/reeve.log",
	};
	return { facts, home, warnings: warningsFor(facts, env) };
}

/** The user who called sudo owns the agents. */
async function findAccount(
	env: NodeJS.ProcessEnv,
	{ platform }: Host,
	asked: string | undefined,
): Promise<Account> {
	const name = asked ?? env["SUDO_USER"] ?? "root";
	const [program, ...args] =
		platform === "darwin"
			? ["dscl", ".", "-read", `/Users/${name}`, "NFSHomeDirectory"]
			: ["getent", "passwd", name];
	const { stdout } = await runProgram(program as string, args, { env, timeoutMs: 5_000 });
	const dir =
		platform === "darwin"
			? /^NFSHomeDirectory: (.*)$/m.exec(stdout)?.[1]
			: stdout.split("\n")[0]?.split(":")[5];
	if (dir !== undefined && dir !== "") return { name, dir };
	throw new ReeveError("usage", `unknown user ${name}`, "Choose a user with --user.");
}

/** The state directory of the installing user is not that of the service's user. */
function homeOf({ dir }: Account, env: NodeJS.ProcessEnv): Record<string, string | undefined> {
	return env["REEVE_HOME"] ? {} : { HOME: dir, XDG_STATE_HOME: undefined };
}

/** Homebrew moves a program with every version, and keeps a link to the newest one. */
function stablePath(node: string): string {
	const linked = node.replace(/\/Cellar\/(node[^/]*)\/[^/]+\/bin\/node$/, "/opt/$1/bin/node");
	return existsSync(linked) ? linked : node;
}

const VERSION_MANAGED =
	/\/(\.nvm|nvm|fnm|\.fnm|fnm_multishells|\.volta|\.asdf|\.nodenv|nodenv|mise|n)\/.*\bv?\d+\.\d+/;

function warningsFor(facts: ServiceFacts, env: NodeJS.ProcessEnv): string[] {
	const { node, program, account } = facts;
	const again = "run `reeve daemon install` again";
	return [
		...(VERSION_MANAGED.test(node)
			? [
					`the service runs ${node}, one of several Node versions: if you remove that version, ${again}`,
				]
			: []),
		...(VERSION_MANAGED.test(program) && !VERSION_MANAGED.test(node)
			? [
					`the service runs ${program}, which belongs to one version of Node: if you remove that version, ${again}`,
				]
			: []),
		...(program.includes("/_npx/")
			? [
					`the service runs ${program}, which npx may remove: run \`npm install -g reeve\` first, then ${again}`,
				]
			: []),
		...(account?.name === "root"
			? ["all agents will run as root: use `--user NAME` to run them as another user"]
			: []),
		...(account !== null && env["SUDO_USER"] !== undefined
			? [
					'agents get the PATH of this command, which under sudo is often the PATH of root: to use yours, run `sudo env PATH="$PATH" reeve daemon install --system`',
				]
			: []),
	];
}
