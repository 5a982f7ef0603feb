/**
 * The registry of user-facing errors: code, meaning, hint, HTTP status and CLI exit code. The
 * reference page is generated from it.
 */

/** The CLI's exit codes. */
export const CLI_EXIT = {
	done: 0,
	failed: 1,
	usage: 2,
	no_daemon: 3,
	not_found: 4,
	refused: 5,
} as const;
export type CliExit = (typeof CLI_EXIT)[keyof typeof CLI_EXIT];

/** The properties of an error code. */
export interface ErrorSpec {
	/** When it is raised, as a sentence. */
	readonly meaning: string;
	/** How to fix it. */
	readonly hint: string;
	readonly httpStatus: number;
	readonly cliExit: CliExit;
	/** Whether the same request may succeed later without any change by the user. */
	readonly retryable: boolean;
}

/** The current state does not permit the request, and repeating it does not help. */
const CONFLICT = { httpStatus: 409, cliExit: CLI_EXIT.refused, retryable: false } as const;
/** The request itself is wrong. */
const BAD_REQUEST = { httpStatus: 400, cliExit: CLI_EXIT.failed, retryable: false } as const;
const FORBIDDEN = { httpStatus: 403, cliExit: CLI_EXIT.refused, retryable: false } as const;
const FAILED = { httpStatus: 500, cliExit: CLI_EXIT.failed, retryable: true } as const;
const UNAVAILABLE = { httpStatus: 503, cliExit: CLI_EXIT.failed, retryable: true } as const;
const TOO_MANY = { httpStatus: 429, cliExit: CLI_EXIT.refused, retryable: true } as const;
const BAD_FILE = { httpStatus: 422, cliExit: CLI_EXIT.usage, retryable: false } as const;
/** Not accepted now; the same request may be accepted later. */
const NOT_NOW = { httpStatus: 503, cliExit: CLI_EXIT.refused, retryable: true } as const;
const TIMED_OUT = { httpStatus: 504, cliExit: CLI_EXIT.failed, retryable: true } as const;
const NOT_FOUND = { httpStatus: 404, cliExit: CLI_EXIT.not_found, retryable: false } as const;

/**
 * Every error of Reeve: its meaning, a hint, the HTTP status, the exit code of the CLI, and whether a retry can help.
 */
export const ERRORS = {
	usage: {
		meaning: "Invalid command-line arguments.",
		hint: "Run the command with --help.",
		httpStatus: 400,
		cliExit: CLI_EXIT.usage,
		retryable: false,
	},
	wait_failed: {
		meaning: "`reeve up --wait` ended before every agent was ready or had completed.",
		hint: "Run `reeve explain AGENT`.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	fleet_file_not_found: {
		meaning: "The fleet file does not exist.",
		hint: "Run `reeve init` to create one, or pass its path with `--file`.",
		httpStatus: 404,
		cliExit: CLI_EXIT.usage,
		retryable: false,
	},
	fleet_file_invalid: {
		meaning: "The fleet file is invalid. Each problem is listed with its line.",
		hint: "Fix the problems listed above. Nothing was changed.",
		...BAD_FILE,
	},
	plan_file_invalid: {
		meaning: "The plan file is invalid. Each problem is listed with its line.",
		hint: "Fix the problems listed above. Nothing was run.",
		...BAD_FILE,
	},
	file_exists: {
		meaning: "The file to be written already exists.",
		hint: "Reeve does not overwrite it. Move the file, or choose another path.",
		...CONFLICT,
	},
	write_failed: {
		meaning: "A file could not be written.",
		hint: "Check that the directory exists and is writable, and that the disk is not full.",
		...FAILED,
	},
	agent_not_found: {
		meaning: "The fleet has no agent with this id.",
		hint: "Agent ids have the form `project:agent`. `reeve ps` lists them.",
		...NOT_FOUND,
	},
	notify_route_not_found: {
		meaning: "The daemon's settings have no notification route with this name.",
		hint: "`reeve daemon settings` lists the routes.",
		...NOT_FOUND,
	},
	settings_invalid: {
		meaning: "The daemon's settings are invalid. Each problem is listed with its line.",
		hint: "Fix the file and run `reeve daemon reload`. Until then the previous settings stay in effect.",
		...BAD_FILE,
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
	body_too_deep: {
		meaning: "The JSON of the request is nested too deeply.",
		hint: "Flatten it, or send the inner part as a string.",
		...BAD_REQUEST,
	},
	input_not_read: {
		meaning: "The agent does not read its terminal, so the input was not delivered.",
		hint: "`reeve attach` shows what the agent is doing. `reeve restart` restarts it.",
		...TIMED_OUT,
	},
	events_pruned: {
		meaning: "The event to continue after was removed, or belongs to another event history.",
		hint: "Read the current state, then read events from the oldest one available.",
		httpStatus: 410,
		cliExit: CLI_EXIT.failed,
		retryable: false,
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
	no_route: {
		meaning: "The API has no such route.",
		hint: "Client and daemon may have different versions. Restart the daemon with `reeve daemon restart`.",
		httpStatus: 404,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	method_not_allowed: {
		meaning: "The route does not support this HTTP method.",
		hint: "The API reference lists the methods of each route.",
		httpStatus: 405,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	upgrade_required: {
		meaning: "The route is a WebSocket, but the request is plain HTTP.",
		hint: "Connect with a WebSocket client.",
		httpStatus: 426,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	body_too_large: {
		meaning: "The request body is too large.",
		hint: "Send a smaller request, or split it.",
		httpStatus: 413,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	unsupported_media_type: {
		meaning: "The request body is not declared as JSON.",
		hint: "Send the header `content-type: application/json`.",
		httpStatus: 415,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	unauthorized: {
		meaning: "The API token is missing, invalid or expired.",
		hint: "Send `authorization: Bearer TOKEN`. `reeve token show` prints a token.",
		httpStatus: 401,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	forbidden: {
		meaning: "The token is valid, but does not permit this request.",
		hint: "Create a token with a wider scope: `reeve token create --scope`. Some requests are only accepted on the daemon's socket.",
		...FORBIDDEN,
	},
	foreign_origin: {
		meaning: "A web page from another origin sent the request.",
		hint: "Only the daemon's own page may send an Origin header. Programs should leave it out.",
		...FORBIDDEN,
	},
	misdirected: {
		meaning: "The request's Host header is not allowed (DNS rebinding protection).",
		hint: "Use the address that the daemon listens on, or allow the name with `--allow-host`.",
		httpStatus: 421,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	rate_limited: {
		meaning: "Too many failed logins from this address.",
		hint: "Wait a minute. A valid token is always accepted.",
		...TOO_MANY,
	},
	not_listening: {
		meaning: "The daemon does not listen on the network, only on its socket.",
		hint: "Run `reeve daemon restart --listen 127.0.0.1:4270` to also listen on TCP.",
		...CONFLICT,
	},
	token_not_found: {
		meaning: "There is no API token with this id.",
		hint: "`reeve token ls` lists the tokens.",
		...NOT_FOUND,
	},
	too_many_tokens: {
		meaning: "The limit of API tokens is reached.",
		hint: "Revoke one with `reeve token revoke ID`. `reeve token ls` lists the tokens.",
		...CONFLICT,
	},
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
	schedule_not_found: {
		meaning: "There is no schedule with this id.",
		hint: "`reeve schedule ls` lists them.",
		...NOT_FOUND,
	},
	schedule_taken: {
		meaning: "Another fleet file already defines a schedule with this id.",
		hint: "Rename the project or the schedule in one of the two files.",
		...CONFLICT,
	},
	agent_taken: {
		meaning: "Another fleet file already defines an agent with this id.",
		hint: "Rename the project or the agent in one of the two files.",
		...CONFLICT,
	},
	not_running: {
		meaning: "The agent is not running, so it has no terminal.",
		hint: "`reeve ps` shows its state, `reeve logs` its last output.",
		httpStatus: 409,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	no_question: {
		meaning: "The agent has no open question.",
		hint: "`reeve events` lists earlier questions and answers.",
		...CONFLICT,
	},
	question_gone: {
		meaning:
			"The question is no longer open: it was answered in the terminal or by another client, or the agent withdrew it.",
		hint: "`reeve answer AGENT` shows the current question of the agent, if there is one.",
		...CONFLICT,
	},
	choice_needed: {
		meaning: "The question is answered with one of its choices; text never grants a permission.",
		hint: "`reeve answer AGENT` shows the question and its choices.",
		...BAD_REQUEST,
	},
	choice_not_found: {
		meaning: "The question has no such choice.",
		hint: "`reeve answer AGENT` shows the question and its choices.",
		...BAD_REQUEST,
	},
	answer_not_taken: {
		meaning:
			"The answer had no visible effect on the agent's screen, or the screen could not be read.",
		hint: "Look at it with `reeve attach AGENT`. Answering again is safe: Reeve checks the screen first.",
		httpStatus: 504,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	terminal_in_use: {
		meaning: "A person is typing at the agent's terminal, so its question is not answered now.",
		hint: "Answer in that terminal, or try again when no keys are pressed there.",
		httpStatus: 409,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	no_terminal: {
		meaning: "The agent runs without a terminal, so it cannot be attached to or receive messages.",
		hint: "`reeve logs` shows its output. Set `terminal: true` to run a session in a terminal.",
		...CONFLICT,
	},
	not_waiting: {
		meaning: "The agent is not waiting for an answer.",
		hint: "`reeve ps` shows which agents are waiting for an answer.",
		...CONFLICT,
	},
	inbox_full: {
		meaning: "Too many messages are queued for the agent.",
		hint: "Wait until some are delivered, or discard some: `reeve inbox --discard ID`.",
		...TOO_MANY,
	},
	message_not_found: {
		meaning: "No undelivered message has this id.",
		hint: "`reeve inbox` lists undelivered messages.",
		...NOT_FOUND,
	},
	subscription_not_found: {
		meaning: "There is no push subscription with this id for this browser.",
		hint: "Subscribe again on the page.",
		...NOT_FOUND,
	},
	task_not_found: {
		meaning: "There is no task with this id.",
		hint: "`reeve tasks ls` lists the newest tasks.",
		...NOT_FOUND,
	},
	plan_not_found: {
		meaning: "There is no plan with this id.",
		hint: "`reeve plan ls` lists the newest plans.",
		...NOT_FOUND,
	},
	not_a_dead_letter: {
		meaning: "The task is not a dead letter, or was already replayed or discarded.",
		hint: "`reeve dead-letters ls` lists the dead letters that are neither replayed nor discarded.",
		...CONFLICT,
	},
	already_ended: {
		meaning: "The task or plan has already finished and cannot be cancelled.",
		hint: "`reeve tasks show` and `reeve plan show` print its result.",
		...CONFLICT,
	},
	cancelled: {
		meaning: "The task was cancelled, directly or together with its plan.",
		hint: "`reeve tasks show` prints the reason.",
		httpStatus: 409,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	idempotency_conflict: {
		meaning: "The idempotency key was already used for a different request.",
		hint: "Use a new key for a new request.",
		...CONFLICT,
	},
	queue_full: {
		meaning: "Too many tasks are queued. The request was not accepted.",
		hint: "Try again when some tasks have finished. `reeve tasks ls` lists them.",
		...NOT_NOW,
	},
	over_budget: {
		meaning: "The agent has used up its `budget` for today.",
		hint: "Wait until tomorrow, raise the `budget`, or lift it for today with `reeve resume`.",
		...TOO_MANY,
	},
	not_callable: {
		meaning: "The agent is a session, and sessions accept no requests.",
		hint: "Call an agent of kind `call` or `worker`, or send the session a message with `reeve send`.",
		...CONFLICT,
	},
	validation_failed: {
		meaning: "The request is invalid, or the agent rejected it as invalid.",
		hint: "Fix the request. Sending it again unchanged fails again.",
		...BAD_REQUEST,
	},
	planning_failed: {
		meaning:
			"The plan is invalid: it has a cycle, an unknown task, or a reference that cannot be resolved.",
		hint: "Fix the plan.",
		httpStatus: 422,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	execution_failed: {
		meaning: "The agent failed the task, including all retries.",
		hint: "The dead letter contains the input and the error and log of every attempt: `reeve dead-letters show ID`.",
		httpStatus: 502,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	agent_unavailable: {
		meaning:
			"The agent is unavailable: its circuit is open (the request was not accepted; `Retry-After` is the time to wait), or its program cannot be started.",
		hint: "Wait for the cooldown, or fix the cause and close the circuit with `reeve resume`.",
		...NOT_NOW,
	},
	timeout: {
		meaning: "The agent did not respond in time.",
		hint: "Raise the agent's `timeout` if the task needs more time.",
		...TIMED_OUT,
	},
	open_files_limit: {
		meaning: "The limit on open files in this shell or service is too low for Reeve.",
		hint: "Raise it: `ulimit -n 1024` in this shell, or `LimitNOFILE=` in the service.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	internal: {
		meaning: "Internal error. This is a bug in Reeve.",
		hint: "Report it with the output above.",
		...FAILED,
	},
} as const satisfies Record<string, ErrorSpec>;

/** The code of an error; stable. */
export type ErrorCode = keyof typeof ERRORS;

/** A user-facing error. The code identifies the kind of error; the message describes this case. */
export class ReeveError extends Error {
	override readonly name = "ReeveError";
	readonly code: ErrorCode;
	readonly hint: string;
	/** Additional data for programs; its shape depends on the code. */
	readonly details: unknown;

	constructor(
		code: ErrorCode,
		message: string,
		hint: string = ERRORS[code].hint,
		details: unknown = null,
	) {
		super(message);
		this.code = code;
		this.hint = hint;
		this.details = details;
	}
}
