/** Commands for the daemon itself, and for finding out why it does not work. */

import { type AddCommands, FILE_OPTION, JSON_OPTION } from "./group.js";

const LISTEN_OPTION = [
	"--listen <address>",
	"serve the API at HOST:PORT too, as 127.0.0.1:4270; remembered",
] as const;
const CERT_OPTION = ["--tls-cert <file>", "its certificate; needed beyond this host"] as const;
const KEY_OPTION = ["--tls-key <file>", "the key of the certificate"] as const;
const ALLOW_OPTION = [
	"--allow-host <host:port...>",
	"further names by which requests may call it",
] as const;

export const addDaemonCommands: AddCommands = (program, run) => {
	const daemon = program
		.command("daemon")
		.description("Run, start, stop, show or install the daemon.");
	addStarting(daemon, run);
	addStopping(daemon, run);
	addInstalling(daemon, run);

	program
		.command("doctor")
		.description("Look for what would keep Reeve from working here, and say how to mend it.")
		.option("-f, --file <path>", "the fleet file to check, if it is there", FILE_OPTION[2])
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runDoctor } = await import("../commands/doctor.js");
				return runDoctor(options, output, env);
			}),
		);
};

const addStarting: AddCommands = (daemon, run) => {
	daemon
		.command("run")
		.description("Run the daemon in the foreground, until it is told to end.")
		.option("--json", "print failures as JSON")
		.action(() =>
			run(async (_, env) => {
				const { runDaemonRun } = await import("../commands/daemon.js");
				return runDaemonRun(env);
			}),
		);

	daemon
		.command("start")
		.description("Start the daemon in the background, unless it runs.")
		.option(...LISTEN_OPTION)
		.option("--no-listen", "be reached by the socket alone, from now on")
		.option(...CERT_OPTION)
		.option(...KEY_OPTION)
		.option(...ALLOW_OPTION)
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runDaemonStart } = await import("../commands/daemon.js");
				return runDaemonStart(options, output, env);
			}),
		);

	daemon
		.command("restart")
		.description("Replace the daemon by a new one; sessions run on, workers are started anew.")
		.option(...LISTEN_OPTION)
		.option("--no-listen", "be reached by the socket alone, from now on")
		.option(...CERT_OPTION)
		.option(...KEY_OPTION)
		.option(...ALLOW_OPTION)
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runDaemonRestart } = await import("../commands/daemon.js");
				return runDaemonRestart(options, output, env);
			}),
		);
};

const addStopping: AddCommands = (daemon, run) => {
	daemon
		.command("stop")
		.description("Stop the daemon; agents run on unless --all is given.")
		.option("--all", "stop all agents first")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runDaemonStop } = await import("../commands/daemon.js");
				return runDaemonStop(options, output, env);
			}),
		);

	daemon
		.command("reload")
		.description("Have the daemon read its settings and open its log anew; nothing is restarted.")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runDaemonReload } = await import("../commands/daemon.js");
				return runDaemonReload(options, output, env);
			}),
		);

	daemon
		.command("status")
		.description("Show whether the daemon runs, and how its parts are.")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runDaemonStatus } = await import("../commands/daemon.js");
				return runDaemonStatus(options, output, env);
			}),
		);
};

const SYSTEM_OPTION = ["--system", "for the whole host, started with it; needs root"] as const;

const addInstalling: AddCommands = (daemon, run) => {
	daemon
		.command("install")
		.description("Have systemd or launchd keep the daemon; agents run on.")
		.option(...SYSTEM_OPTION)
		.option("--user <name>", "who it runs as, for --system (default: who called sudo)")
		.option("--dry-run", "print the file and the commands, and do nothing")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runDaemonInstall } = await import("../commands/daemon-install.js");
				return runDaemonInstall(options, output, env);
			}),
		);

	daemon
		.command("uninstall")
		.description("Stop the daemon and remove what install wrote; agents run on.")
		.option(...SYSTEM_OPTION)
		.option("--dry-run", "print the commands, and do nothing")
		.option(...JSON_OPTION)
		.action((options) =>
			run(async (output, env) => {
				const { runDaemonUninstall } = await import("../commands/daemon-install.js");
				return runDaemonUninstall(options, output, env);
			}),
		);
};
