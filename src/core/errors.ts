/**
 * Every error that a person or a program outside may see, once: its code, what it means, what to
 * do, and what it is called in HTTP and in exit codes. The reference page is generated from here.
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

export interface ErrorSpec {
	/** When it is raised, as a sentence. */
	readonly meaning: string;
	/** What to do about it. */
	readonly hint: string;
	readonly httpStatus: number;
	readonly cliExit: CliExit;
	/** Whether the same request may succeed later without anybody changing anything. */
	readonly retryable: boolean;
}

/** Things are not so that it could be done, and asking again does not change that. */
const CONFLICT = { httpStatus: 409, cliExit: CLI_EXIT.refused, retryable: false } as const;
const NOT_FOUND = { httpStatus: 404, cliExit: CLI_EXIT.not_found, retryable: false } as const;

export const ERRORS = {
	usage: {
		meaning: "The command line does not say what to do.",
		hint: "Run the command with --help.",
		httpStatus: 400,
		cliExit: CLI_EXIT.usage,
		retryable: false,
	},
	fleet_file_not_found: {
		meaning: "There is no fleet file where one was looked for.",
		hint: "Run `reeve init` to write one, or say where it is.",
		httpStatus: 404,
		cliExit: CLI_EXIT.usage,
		retryable: false,
	},
	fleet_file_invalid: {
		meaning: "The fleet file has problems; each is listed with its place.",
		hint: "Mend the listed places; nothing was changed.",
		httpStatus: 422,
		cliExit: CLI_EXIT.usage,
		retryable: false,
	},
	plan_file_invalid: {
		meaning: "The plan file has problems; each is listed with its place.",
		hint: "Mend the listed places; nothing was run.",
		httpStatus: 422,
		cliExit: CLI_EXIT.usage,
		retryable: false,
	},
	file_exists: {
		meaning: "A file that would have been written is already there.",
		hint: "Reeve never overwrites it: move it away, or write to another place.",
		...CONFLICT,
	},
	write_failed: {
		meaning: "A file could not be written.",
		hint: "Check that the folder exists, is writable, and that the disk is not full.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	agent_not_found: {
		meaning: "No agent of that id is in the fleet.",
		hint: "Ids are `project:agent`, by the names in the fleet file.",
		...NOT_FOUND,
	},
	store_unavailable: {
		meaning:
			"The daemon cannot store anything now; agents run on, and nothing that was stored is lost.",
		hint: "Make room on the disk, or end what holds the database; the daemon goes on by itself.",
		httpStatus: 503,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	events_pruned: {
		meaning: "The events to resume from are no longer kept.",
		hint: "Begin at the oldest that is kept, and look at the state of things as they are now.",
		httpStatus: 410,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	no_route: {
		meaning: "The API has no such request.",
		hint: "Client and daemon may be of different versions: `reeve daemon restart`.",
		httpStatus: 404,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	method_not_allowed: {
		meaning: "The API has this path, but not for this method.",
		hint: "The reference of the API lists what each path takes.",
		httpStatus: 405,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	upgrade_required: {
		meaning: "This path is a WebSocket and was asked as a plain request.",
		hint: "Open it with a WebSocket client.",
		httpStatus: 426,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	body_too_large: {
		meaning: "The body of a request is larger than any that makes sense.",
		hint: "Send less at once.",
		httpStatus: 413,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	unsupported_media_type: {
		meaning: "The body of a request is not declared as JSON.",
		hint: "Send it with `content-type: application/json`.",
		httpStatus: 415,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	unauthorized: {
		meaning: "The request came without a token, or with one that is not valid, or no longer.",
		hint: "Send `authorization: Bearer TOKEN`; `reeve token show` shows one.",
		httpStatus: 401,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	forbidden: {
		meaning: "The token is good, but not for this.",
		hint: "`reeve token create --scope` makes one that is; some things need the daemon's socket.",
		httpStatus: 403,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	foreign_origin: {
		meaning: "A page that is not the daemon's own asked through somebody's browser.",
		hint: "Programs send no Origin header; pages of others have no business here.",
		httpStatus: 403,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	misdirected: {
		meaning: "The request calls the daemon by a name that is not its own.",
		hint: "Use the address it listens at; other names are given with `--allow-host`.",
		httpStatus: 421,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	rate_limited: {
		meaning: "Too many logins from this address have failed.",
		hint: "Wait a minute; a right token is let in at any time.",
		httpStatus: 429,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	not_listening: {
		meaning: "The daemon is reached by its socket alone.",
		hint: "`reeve daemon restart --listen 127.0.0.1:4270` has it listen on the network too.",
		...CONFLICT,
	},
	token_not_found: {
		meaning: "There is no token of that id.",
		hint: "`reeve token ls` lists them.",
		...NOT_FOUND,
	},
	too_many_tokens: {
		meaning: "There are so many tokens that something must be making them.",
		hint: "`reeve token ls` lists them, `reeve token revoke` takes one away.",
		...CONFLICT,
	},
	no_daemon: {
		meaning: "No daemon is running for this home.",
		hint: "`reeve up` and `reeve daemon start` start one.",
		httpStatus: 503,
		cliExit: CLI_EXIT.no_daemon,
		retryable: true,
	},
	daemon_failed: {
		meaning: "The daemon could not be started, or ended at once.",
		hint: "Its last lines are shown above; `reeve doctor` looks for the cause.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	daemon_running: {
		meaning: "A daemon is already running for this home.",
		hint: "`reeve daemon status` shows it; `reeve daemon stop` ends it.",
		...CONFLICT,
	},
	service_manager_missing: {
		meaning: "Neither systemd nor launchd can be reached, so nothing would keep the daemon.",
		hint: "`reeve daemon start` runs the daemon without them.",
		...CONFLICT,
	},
	service_failed: {
		meaning: "The service manager (systemd, launchd) could not do what it was asked to.",
		hint: "Its words are shown above; `reeve doctor` looks for the cause.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	needs_root: {
		meaning: "What belongs to the whole host can be changed by root alone.",
		hint: "Run the command with sudo.",
		httpStatus: 403,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	connection_lost: {
		meaning: "The daemon went away in the middle of a request, so its outcome is not known.",
		hint: "`reeve daemon status` says whether it runs; its log says why it ended.",
		httpStatus: 503,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	home_denied: {
		meaning: "The home, or the socket in it, belongs to somebody else.",
		hint: "Run as its owner, or set REEVE_HOME to a folder of your own.",
		httpStatus: 403,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	agent_taken: {
		meaning: "An agent of that id is already kept, from another fleet file.",
		hint: "Rename the project or the agent in one of the two files.",
		...CONFLICT,
	},
	not_running: {
		meaning: "The agent is not running, so it has no terminal.",
		hint: "`reeve ps` shows what it is doing; `reeve logs` what it last said.",
		httpStatus: 409,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	no_question: {
		meaning: "The agent has no open question.",
		hint: "`reeve events` shows what was asked and answered.",
		...CONFLICT,
	},
	no_terminal: {
		meaning: "The agent runs without a terminal, so nothing can be typed or watched.",
		hint: "`reeve logs` shows what it prints; `terminal: true` gives a session one.",
		...CONFLICT,
	},
	not_waiting: {
		meaning: "The agent has not asked anything.",
		hint: "`reeve ps` shows which agents wait for an answer.",
		...CONFLICT,
	},
	inbox_full: {
		meaning: "Too many texts wait to be typed into the agent.",
		hint: "Wait until it has taken some, or discard them: `reeve inbox`.",
		httpStatus: 429,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	message_not_found: {
		meaning: "No text of that id waits in an inbox.",
		hint: "`reeve inbox` lists those that do.",
		...NOT_FOUND,
	},
	task_not_found: {
		meaning: "No task of that id is known.",
		hint: "`reeve tasks ls` lists the newest ones.",
		...NOT_FOUND,
	},
	plan_not_found: {
		meaning: "No plan of that id is known.",
		hint: "`reeve plan ls` lists the newest ones.",
		...NOT_FOUND,
	},
	not_a_dead_letter: {
		meaning: "The task has not been dead-lettered, or something has become of it already.",
		hint: "`reeve dead-letters ls` lists those that wait for somebody.",
		...CONFLICT,
	},
	already_ended: {
		meaning: "What was to be cancelled has ended already, and an end is final.",
		hint: "`reeve tasks show` and `reeve plan show` say how it ended.",
		...CONFLICT,
	},
	cancelled: {
		meaning: "The task was cancelled, by somebody or with its plan.",
		hint: "`reeve tasks show` says why.",
		httpStatus: 409,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	idempotency_conflict: {
		meaning: "The idempotency key was used before, for something else.",
		hint: "Use a new key for a new request.",
		...CONFLICT,
	},
	queue_full: {
		meaning: "Too many tasks wait already; nothing was taken on.",
		hint: "Try again when some have ended; `reeve tasks ls` shows what waits.",
		httpStatus: 503,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	over_budget: {
		meaning: "The agent has used what its `budget` lets it use in a day.",
		hint: "Wait for the next day, raise the `budget`, or let it go on for today with `reeve resume`.",
		httpStatus: 429,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	not_callable: {
		meaning: "The agent is a session, which takes no requests.",
		hint: "Call agents of kind `call` or `worker`; to type at a session use `reeve send`.",
		...CONFLICT,
	},
	validation_failed: {
		meaning: "A request is malformed, or the agent refused it as the caller's mistake.",
		hint: "Correct the request; sending it again unchanged will fail again.",
		httpStatus: 400,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	planning_failed: {
		meaning: "A plan cannot be run: a cycle, an unknown task, or a reference to nothing.",
		hint: "Correct the plan.",
		httpStatus: 422,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	execution_failed: {
		meaning: "The agent failed at a task, also after its retries.",
		hint: "Its dead letter holds the input, every attempt's error and log.",
		httpStatus: 502,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	agent_unavailable: {
		meaning: "The agent's circuit is open, or its program cannot be started.",
		hint: "Wait for the cooldown, or close the circuit with `reeve resume` once it is cured.",
		httpStatus: 503,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	timeout: {
		meaning: "There was no answer in time.",
		hint: "Raise the agent's `timeout` if the work takes this long.",
		httpStatus: 504,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	internal: {
		meaning: "Reeve itself failed. This is a bug.",
		hint: "Please report it with the lines above.",
		httpStatus: 500,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;

/** An error for people: its code says what kind it is, its message what happened here. */
export class ReeveError extends Error {
	override readonly name = "ReeveError";
	readonly code: ErrorCode;
	readonly hint: string;
	/** More, for programs; what is in it depends on the code. */
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
