/** Commands for the daemon itself, and for diagnosing it. */

import { type AddCommands, FILE_OPTION, JSON_OPTION } from "./group.js";

type Program = Parameters<AddCommands>[0];

/** Where the daemon listens; both commands that start it in the background take these. */
const addListenOptions = (command: Program): Program =>
	command
		.option(
			"--listen <address>",
			"also serve the API on HOST:PORT, such as 127.0.0.1:4270; saved in the settings",
		)
		.option("--no-listen", "stop listening on TCP; saved in the settings")
		.option("--tls-cert <file>", "the TLS certificate; required for addresses beyond this host")
		.option("--tls-key <file>", "the key of the TLS certificate")
		.option("--allow-host <host:port...>", "additional host names that requests may use")
		.option(...JSON_OPTION);

export const addDaemonCommands: AddCommands = (program, run) => {
	const daemon = program
		.command("daemon")
		.description("Run, start, stop, show or install the daemon.");
	addStarting(daemon, run);
	addStopping(daemon, run);
	addInstalling(daemon, run);

	program
		.command("notify")
		.description("Manage notifications.")
		.command("test")
		.description("Send a test notification over the routes in the daemon's settings.")
		.argument("[route]", "the name of a route (default: all routes)")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/daemon-settings.js")).runNotifyTest));

	program
		.command("doctor")
		.description("Check this machine for problems and print how to fix them.")
		.option("-f, --file <path>", "the fleet file to check, if it exists", FILE_OPTION[2])
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/doctor.js")).runDoctor));
};

const addStarting: AddCommands = (daemon, run) => {
	daemon
		.command("run")
		.description("Run the daemon in the foreground until it is stopped.")
		.option("--json", "print errors as JSON")
		.action(run(async () => (await import("../commands/daemon.js")).runDaemonRun));

	addListenOptions(daemon.command("start"))
		.description("Start the daemon in the background, unless it is running.")
		.action(run(async () => (await import("../commands/daemon.js")).runDaemonStart));

	addListenOptions(daemon.command("restart"))
		.description("Restart the daemon. Sessions keep running, workers are restarted.")
		.action(run(async () => (await import("../commands/daemon.js")).runDaemonRestart));
};

const addStopping: AddCommands = (daemon, run) => {
	daemon
		.command("stop")
		.description("Stop the daemon. Agents keep running unless --all is set.")
		.option("--all", "stop all agents first")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/daemon.js")).runDaemonStop));

	daemon
		.command("reload")
		.description("Apply the settings in daemon.json and reopen the log, without a restart.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/daemon.js")).runDaemonReload));

	daemon
		.command("settings")
		.description("Check the daemon's settings and show them with their defaults.")
		.option("-f, --file <path>", "check this file instead of daemon.json in the home")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/daemon-settings.js")).runDaemonSettings));

	daemon
		.command("status")
		.description("Show the state of the daemon and its services.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/daemon.js")).runDaemonStatus));
};

const SYSTEM_OPTION = [
	"--system",
	"install for the whole host, started at boot; needs root",
] as const;

const addInstalling: AddCommands = (daemon, run) => {
	daemon
		.command("install")
		.description("Run the daemon as a service of systemd or launchd. Agents keep running.")
		.option(...SYSTEM_OPTION)
		.option(
			"--user <name>",
			"the user to run as, with --system (default: the user who called sudo)",
		)
		.option("--dry-run", "print the file and the commands, but change nothing")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/daemon-install.js")).runDaemonInstall));

	daemon
		.command("uninstall")
		.description("Stop the daemon and remove its service. Agents keep running.")
		.option(...SYSTEM_OPTION)
		.option("--dry-run", "print the commands, but change nothing")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/daemon-install.js")).runDaemonUninstall));
};
