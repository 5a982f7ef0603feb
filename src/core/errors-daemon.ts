/** Errors of the daemon, its home and store, and of other hosts. */

import { CLI_EXIT } from "./cli-exit.js";
import {
	CONFLICT,
	type ErrorSpec,
	FAILED,
	FORBIDDEN,
	NOT_FOUND,
	NOT_NOW,
	UNAVAILABLE,
} from "./errors-kinds.js";

export const DAEMON_ERRORS = {
	no_daemon: {
		meaning: "No daemon is running for this home.",
		hint: "Start one with `reeve up` or `reeve daemon start`. Session agents keep running without a daemon.",
		httpStatus: 503,
		cliExit: CLI_EXIT.no_daemon,
		retryable: true,
	},
	not_ready: {
		meaning:
			"The daemon is starting or shutting down, cannot write to its database, or is restarting one of its services.",
		hint: "The message contains the reason. `reeve daemon status` shows every service.",
		...UNAVAILABLE,
	},
	daemon_failed: {
		meaning: "The daemon could not be started, or exited immediately.",
		hint: "Its last log lines are shown above. Run `reeve doctor` to find the cause.",
		...FAILED,
	},
	daemon_running: {
		meaning: "A daemon is already running for this home.",
		hint: "`reeve daemon status` shows the daemon, `reeve daemon stop` stops it.",
		...CONFLICT,
	},
	daemon_stopping: {
		meaning: "The daemon is stopping and accepts no new work.",
		hint: "Try again when the daemon is running again. `reeve daemon status` shows its state.",
		...NOT_NOW,
	},
	connection_lost: {
		meaning: "The connection to the daemon broke during the request, so the outcome is unknown.",
		hint: "`reeve daemon status` shows whether the daemon is running. Its log shows why it stopped.",
		...UNAVAILABLE,
	},
	home_denied: {
		meaning: "The home directory of Reeve, or the socket in it, belongs to another user.",
		hint: "Run the command as its owner, or set REEVE_HOME to a directory that you own.",
		...FORBIDDEN,
	},
	not_listening: {
		meaning: "The daemon does not listen on the network, only on its socket.",
		hint: "Run `reeve daemon restart --listen 127.0.0.1:4270` to also listen on TCP.",
		...CONFLICT,
	},
	service_manager_missing: {
		meaning: "Neither systemd nor launchd is available to run the daemon as a service.",
		hint: "Run the daemon without a service manager: `reeve daemon start`.",
		...CONFLICT,
	},
	service_failed: {
		meaning: "A command of the service manager (systemd, launchd) failed.",
		hint: "Its output is shown above. Run `reeve doctor` to find the cause.",
		...FAILED,
	},
	needs_root: {
		meaning: "Only root can change a service of the whole host.",
		hint: "Run the command with sudo.",
		...FORBIDDEN,
	},
	store_unavailable: {
		meaning:
			"The daemon cannot write to its database. Agents keep running, and stored data is not lost.",
		hint: "Free disk space, or stop the program that locks the database. The daemon then recovers automatically.",
		...UNAVAILABLE,
	},
	outcome_pending: {
		meaning:
			"Part of the request was stored and carried out before writes to the database started to fail. The rest is queued in memory: it is written when the database recovers, and lost if the daemon stops first.",
		hint: "Free disk space, or stop the program that locks the database. Then check `reeve ps` and `reeve events`, and repeat the request only if something is missing.",
		httpStatus: 202,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	notify_route_not_found: {
		meaning: "The daemon's settings have no notification route with this name.",
		hint: "`reeve daemon settings` lists the routes.",
		...NOT_FOUND,
	},
	remote_not_found: {
		meaning: "There is no remote with this name.",
		hint: "`reeve remote ls` lists the remotes.",
		...NOT_FOUND,
	},
	remote_exists: {
		meaning: "There is a remote with this name already.",
		hint: "Choose another name, or remove it first with `reeve remote rm NAME`.",
		...CONFLICT,
	},
	remote_unreachable: {
		meaning: "The daemon of a remote does not answer. Its agents may be running.",
		hint: "`reeve remote ls` shows why. `reeve remote connect NAME` tries again immediately.",
		httpStatus: 503,
		cliExit: CLI_EXIT.no_daemon,
		retryable: true,
	},
	remote_incompatible: {
		meaning:
			"The daemon of a remote answered in a form that this version of Reeve cannot read. The request may have been carried out.",
		hint: "Run the same version of Reeve on both hosts.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	cluster_off: {
		meaning: "This host belongs to no cluster.",
		hint: "Add `cluster` to the daemon's settings and run `reeve daemon reload`. `reeve remote ls` lists hosts that are reached without a cluster.",
		...CONFLICT,
	},
	cluster_unavailable: {
		meaning:
			"The database of the cluster does not answer, or the other hosts do not accept this one. Agents of this host keep running.",
		hint: "`reeve daemon status` shows the reason. The daemon tries again by itself.",
		...UNAVAILABLE,
	},
	host_not_found: {
		meaning: "The cluster has no host with this name.",
		hint: "`reeve host ls` lists the hosts.",
		...NOT_FOUND,
	},
	host_alive: {
		meaning: "Only a host without a heartbeat can be removed from the cluster.",
		hint: "Stop its daemon, or remove `cluster` from its settings. Then wait until `reeve host ls` shows it as silent.",
		...CONFLICT,
	},
	installation_changed: {
		meaning:
			"A file of the running daemon was replaced or removed since its start, usually by an upgrade.",
		hint: "Run `reeve daemon restart` to start the installed version. Sessions keep running.",
		httpStatus: 503,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	internal: {
		meaning: "Internal error. This is a bug in Reeve.",
		hint: "Report it with the output above.",
		...FAILED,
	},
} as const satisfies Record<string, ErrorSpec>;
