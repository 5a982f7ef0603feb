/**
 * The schema of the fleet file, defined once. Types, validator, defaults, the editor's JSON Schema and
 * the reference page come from it; numbers come from the policies in core that use them. Large sections
 * are in `…-schema.ts` beside it; `kinds-of-key` lists which kinds of agents support which key.
 */

import type { z } from "zod";
import { DEFAULT_BREAKER } from "../core/breaker.js";
import { DEFAULT_HEALTH, HEALTH_ACTIONS } from "../core/health.js";
import { DEFAULT_LEASE_MS, ON_LOST_CHOICES } from "../core/lease.js";
import { DEFAULT_RETRY } from "../core/retry.js";
import { CATCH_UP_CHOICES, OVERLAP_CHOICES } from "../core/schedule.js";
import { DEFAULT_NUDGE, STALL_STEPS } from "../core/stall.js";
import {
	ADAPTERS,
	AGENT_KINDS,
	BACKENDS,
	CLEAN_EXIT_CHOICES,
	DEPENDENCY_CONDITIONS,
	EXTRA_OUTPUT_CHOICES,
	TMPDIR_CHOICES,
} from "../core/states.js";
import { DEFAULT_TURN_RETRY } from "../core/turn-retry.js";
import { renderDuration } from "../core/units.js";
import { account, dailyBudget, sharedBudget, usageLimit } from "./account-schema.js";
import { adapterSchema } from "./adapter-schema.js";
import { crashPolicy } from "./crash-policy-schema.js";
import {
	accountName,
	adapterName,
	argv,
	choice,
	count,
	cron,
	data,
	dependencies,
	duration,
	envMap,
	envName,
	flag,
	fraction,
	idMap,
	list,
	path,
	pattern,
	percent,
	reference,
	section,
	size,
	text,
	timezone,
	url,
	version,
} from "./values.js";

/** The maximum number of process ids on Linux. */
const PIDS_MAX = 4_194_304;

const retry = section("How failed attempts are retried.", {
	max_attempts: count("Total number of attempts, including the first.").prefault(
		DEFAULT_RETRY.maxAttempts,
	),
	initial_backoff: duration(
		"The delay before the second attempt. It doubles with each attempt.",
	).prefault(renderDuration(DEFAULT_RETRY.initialBackoffMs)),
	max_backoff: duration("The longest delay.").prefault(renderDuration(DEFAULT_RETRY.maxBackoffMs)),
	jitter: fraction("Delays vary randomly by up to this fraction; 0 turns it off.").prefault(
		DEFAULT_RETRY.jitter,
	),
});

const circuitBreaker = section("When calls to a failing agent are refused without an attempt.", {
	failure_threshold: count("This many failures in a row open the circuit.").prefault(
		DEFAULT_BREAKER.failureThreshold,
	),
	cooldown: duration("How long an open circuit refuses all calls before one probe.").prefault(
		renderDuration(DEFAULT_BREAKER.cooldownMs),
	),
});

const limits = section(
	"Resource limits for the whole process tree of an agent. No limit unless set.",
	{
		memory: size(
			"Memory. An agent that exceeds it is killed, and the exit reports the cause.",
		).optional(),
		cpu: percent("CPU time; `100%` is one CPU, `200%` two.").optional(),
		pids: count("Processes and threads.", { max: PIDS_MAX }).optional(),
	},
);

const drain = section("How an agent is asked to exit.", {
	timeout: duration(
		"How long the agent has to exit before its process tree is killed; `0s` kills it immediately.",
	).prefault("10s"),
});

const ready = section(
	"When the agent counts as ready, so that agents that depend on it can start. Set exactly one of these. If not set, an agent is ready as soon as it runs.",
	{
		log: pattern("Its output matches this pattern.").optional(),
		port: count("A process listens on this TCP port of the host.", { max: 65_535 }).optional(),
		http: url(
			"A GET request to this URL, sent every second, gets a status from 200 to 399. Redirects are not followed.",
		).optional(),
		command: argv(
			"This program, run every second in the agent's working directory, exits with 0.",
		).optional(),
		delay: duration("It has been running for this long.").optional(),
	},
);

const health = section(
	"A check of a running agent that is repeated while the agent is ready. Set exactly one of `http`, `port` and `command`.",
	{
		http: url(
			"A GET request to this URL gets a status from 200 to 399. Redirects are not followed.",
		).optional(),
		port: count("A process accepts connections on this TCP port of the host.", {
			max: 65_535,
		}).optional(),
		command: argv(
			"This program, run in the agent's working directory and with its environment, exits with 0.",
		).optional(),
		every: duration("The time between two checks.", { positive: true }).prefault(
			renderDuration(DEFAULT_HEALTH.everyMs),
		),
		timeout: duration(
			"How long one check may take. A check that takes longer has failed, and its process tree is killed. If not set: 10s, or `every` if that is shorter.",
			{ positive: true },
		).optional(),
		failures: count("This many failed checks in a row make the agent unhealthy.").prefault(
			DEFAULT_HEALTH.failures,
		),
		start_period: duration(
			"Failed checks in this time after the start do not count, until one has succeeded.",
		).prefault(renderDuration(DEFAULT_HEALTH.startPeriodMs)),
		action: choice(
			"The reaction to an unhealthy agent. `notify` reports it. `restart` also stops it within `drain.timeout`, and `crash_policy` decides about the restart as after a crash.",
			HEALTH_ACTIONS,
		).prefault(DEFAULT_HEALTH.action),
		interrupt_turn: flag(
			"Whether `restart` may interrupt an agent CLI in the middle of a turn. Otherwise the restart waits until the CLI is idle. Programs whose activity Reeve cannot observe are restarted immediately.",
		).prefault(DEFAULT_HEALTH.interruptTurn),
	},
);

const placement = section(
	"Which hosts of a cluster run the agent: those that have it up from their own copies of the fleet file. Write `{}` for any of them. A lease in the shared database ensures that only one runs a session agent. The tasks of a call agent are shared by all of them: `concurrency` counts in the whole cluster. If not set, every host with the fleet file runs the agent and its tasks for itself.",
	{
		labels: idMap(
			"Labels that the host must have, by name.",
			text("The value of the label."),
		).prefault({}),
		on_lost: choice(
			"For session agents: the reaction of the other hosts if that host is down, frozen, or cut off from the database. `keep` leaves the agent to its host, where it goes on running; its files and its conversation are there. `ask` waits until an operator removes the host with `reeve host remove`. `replace` starts it on another host. With `ask` and `replace`, a host that cannot renew the lease ends the agent first.",
			ON_LOST_CHOICES,
		).prefault("keep"),
		lease: duration(
			"For session agents: how long a lease lasts without renewal, at least `6s`. When it is lost, the agent has a third of it to exit, or `drain.timeout` if that is shorter.",
			{ positive: true },
		).prefault(renderDuration(DEFAULT_LEASE_MS)),
	},
);

const hibernate = section(
	"When an idle agent CLI hibernates: its process is stopped, which frees its memory, and the next message, attach, schedule or `reeve up` starts it again with its conversation. Needs an adapter that can resume a conversation. Off unless set.",
	{
		after: duration(
			"How long the agent must have been idle: no turn, message, question, draft, attached terminal or running tool.",
			{ positive: true },
		),
	},
);

const stall = section(
	"When a busy agent CLI counts as stalled, and the steps that Reeve then takes.",
	{
		after: duration(
			"How long a busy agent may make no progress: no event, no new line in its transcript, no new text above the status line of its screen, no activity of its tools, no data of an answer from the network (on Linux). While Reeve knows that a tool is running, it waits.",
			{ positive: true },
		).prefault("30m"),
		steps: list(
			"The steps to take, each after another `after`: `nudge` sends a message, `interrupt` presses the keys that interrupt a turn in this CLI, `restart` restarts the agent with its conversation. You are always notified.",
			choice("One step.", STALL_STEPS),
		).prefault([]),
		nudge: text(
			"The message for `nudge`. If `nudge` is one of the steps, it is also sent after a restart, and after an interrupt unless the CLI itself processes an earlier nudge, so that the agent resumes its work.",
		).prefault(DEFAULT_NUDGE),
	},
);

const turnRetry = section(
	"Asks an agent CLI to continue after a turn that failed because the service was overloaded or unreachable, or after its usage limit. Needs an adapter that confirms messages.",
	{
		max_attempts: count(
			"How many failed turns in a row are retried; 0 turns it off. Usage limits are not counted.",
			{ min: 0, max: 1_000 },
		).prefault(DEFAULT_TURN_RETRY.maxAttempts),
		initial_backoff: duration("The delay after the first failure. It doubles with each failure.", {
			positive: true,
		}).prefault("15s"),
		max_backoff: duration("The longest delay.", { positive: true }).prefault("5m"),
		prompt: text("The message to send.").prefault(DEFAULT_TURN_RETRY.prompt),
	},
);

const workers = section("How many processes serve a worker agent.", {
	min: count("Processes to keep running when there are no requests.", { min: 0 }).prefault(1),
	max: count("The largest number of processes.").prefault(1),
	idle: duration("How long an idle process beyond `min` is kept.").prefault("60s"),
});

const agentKeys = {
	kind: choice(
		"`session` runs in a terminal, `call` is one process per request, `worker` is one process that serves many requests.",
		AGENT_KINDS,
	).prefault("session"),
	adapter: adapterName(
		`Which agent CLI this is: ${ADAPTERS.map((name) => `\`${name}\``).join(", ")}, or one of \`adapters\`. \`acp\` is a worker that speaks the Agent Client Protocol, \`generic\` any other program; both need a \`command\`.`,
		ADAPTERS,
	).prefault("generic"),
	command: argv(
		"The program and its first arguments, as a list. It is not run through a shell. Adapters other than `generic` have a default program.",
	).optional(),
	args: list(
		"Arguments that follow the command, or the adapter's own program.",
		text("One argument."),
	).prefault([]),
	cwd: path(
		"The working directory, relative to the fleet file; a leading `~/` is the home directory. If not set, the project's.",
	).optional(),
	env_file: path(
		"A file of `KEY=VALUE` lines, relative to the fleet file, read at every start. It may be missing.",
	).optional(),
	pass_env: list(
		"Variables that the agent gets from the shell that runs `reeve up` or `reeve reload`, such as API keys and proxies. Reeve stores the values for restarts. They take precedence over the env file. A variable that the shell does not set keeps its earlier value.",
		envName("A variable name."),
	).prefault([]),
	env: envMap(
		"Environment variables. They take precedence over `pass_env` and the env file; null removes a variable.",
	).prefault({}),
	limits: limits.prefault({}),
	backend: choice(
		"The backend that runs the session's process; `auto` selects the best one that the host supports.",
		BACKENDS,
	).prefault("auto"),
	terminal: flag(
		"Whether it runs in a terminal. Without one, its output goes directly to its log.",
	).prefault(true),
	tmpdir: choice(
		"`own` is a private directory for temporary files, emptied before every start; `inherit` leaves `TMPDIR` unchanged. If not set, the adapter decides: agent CLIs use `own`.",
		TMPDIR_CHOICES,
	).optional(),
	start_timeout: duration(
		"How long a start may take until the agent is ready. After that, Reeve reports the last screen and kills the agent, and `crash_policy` decides what happens next. Time in which the agent shows a question, waits for a usage limit, or has text in its input that a person has typed does not count. 0s turns it off. If not set: 3m for adapters that know the ready screen of their CLI, no timeout for other programs. For other programs it needs `ready`.",
	).optional(),
	stall: stall.prefault({}),
	turn_retry: turnRetry.prefault({}),
	hibernate: hibernate.optional(),
	placement: placement.optional(),
	account: accountName(
		"The account that its CLI is logged in to. A usage limit that one agent hits parks all agents of the same account. If not set, the agent has its own account.",
	).optional(),
	usage_limit: usageLimit.prefault({}),
	budget: dailyBudget.optional(),
	seed: flag(
		"Whether Reeve answers the questions of a CLI's first start in advance (folder trust, onboarding), as far as its adapter supports that.",
	).prefault(true),
	on_clean_exit: choice(
		"The action after an exit with code 0: ask the operator (`prompt`), `restart`, stay down (`stop`), or count as finished work (`complete`). An agent that has completed stays down until the next `reeve up`, and agents that wait for its completion start.",
		CLEAN_EXIT_CHOICES,
	).prefault("prompt"),
	drain: drain.prefault({}),
	depends_on: dependencies(
		"Agents that must be ready before this one starts, as a list; or a map from each to `ready` or `completed`, such as `{ db: ready, migrate: completed }`. An agent that has completed also counts as ready.",
		DEPENDENCY_CONDITIONS,
	).prefault([]),
	ready: ready.optional(),
	health: health.optional(),
	watch: list(
		"Restarts the agent when one of these files, or a file in one of these folders, has changed. Only for programs that are no agent CLI. Files that `.gitignore` ignores, `.git`, `node_modules` and the temporary files of editors do not count, unless they are listed here themselves.",
		path("A file or folder, relative to the agent's working directory."),
	).optional(),
	crash_policy: crashPolicy.prefault({}),
	timeout: duration(
		"How long one attempt may take, from starting the process to reading its response.",
		{ positive: true },
	).prefault("30s"),
	retry: retry.prefault({}),
	circuit_breaker: circuitBreaker.prefault({}),
	concurrency: count("How many requests may run at once.").prefault(4),
	idempotent: flag(
		"Whether running an action twice is harmless. If not, an attempt that may have taken effect is not retried automatically: the task becomes a dead letter for the operator.",
	).prefault(true),
	unsafe_actions: list(
		"Actions that must not run twice although `idempotent` is true.",
		text("An action name."),
	).prefault([]),
	extra_output: choice(
		"How to handle output on stdout besides the response: `tolerate` ignores it, `refuse` fails the attempt.",
		EXTRA_OUTPUT_CHOICES,
	).prefault("tolerate"),
	workers: workers.prefault({}),
};

export type AgentKey = keyof typeof agentKeys;

export const agentSchema = section("One agent.", agentKeys);

const AN_AGENT = "`name` for an agent of the same project, or `project:name`.";

const schedule = section(
	"An action that Reeve performs at certain times. Set exactly one of `cron` and `every`, and exactly one of `send`, `call`, `plan` and `restart`.",
	{
		cron: cron(
			"The times, as minute, hour, day of the month, month and day of the week. In the night of a clock change, an expression with one minute and one hour (`30 2 * * *`) fires once: at the first of two such times, or right after the change if there is none. Any other fires at each matching time, so also in both of two equal hours.",
		).optional(),
		timezone: timezone("The time zone of `cron`. If not set, the daemon's time zone.").optional(),
		every: duration(
			"The interval between two slots, at least `1s`, counted from when the schedule was added.",
			{
				positive: true,
			},
		).optional(),
		send: section("Sends a message to a session. It is delivered when the agent is ready.", {
			agent: reference(AN_AGENT),
			message: text("The message."),
		}).optional(),
		call: section("Calls a call or worker agent, as a task.", {
			agent: reference(AN_AGENT),
			action: text("The action."),
			payload: data("The payload.").optional(),
		}).optional(),
		plan: path("Runs this plan file, relative to the fleet file. It is read each time.").optional(),
		restart: reference(
			`Restarts this session or worker, and starts it if it has completed: ${AN_AGENT}`,
		).optional(),
		overlap: choice(
			"The action if the previous slot is still running: `skip` this one, `queue` it until the previous one has ended, or `replace` the previous one, which is cancelled. A message is running until it is delivered and the turn that it started is over.",
			OVERLAP_CHOICES,
		).prefault("skip"),
		jitter: duration(
			"Each slot is delayed by a random time up to this one, so that schedules do not all start at the same moment.",
		).prefault("0s"),
		catch_up: choice(
			"The action after the daemon was down or the host was asleep: `none` skips slots that are more than a minute late, `once` fires the last one late. Earlier ones never fire.",
			CATCH_UP_CHOICES,
		).prefault("none"),
	},
);

const project = section("One project: agents that belong together.", {
	cwd: path(
		"The working directory of its agents, relative to the fleet file. If not set, the fleet file's directory.",
	).optional(),
	budget: sharedBudget.optional(),
	agents: idMap("The project's agents by name.", agentSchema),
	schedules: idMap("The project's schedules by name.", schedule).optional(),
});

export const fleetSchema = section("The agents that Reeve runs.", {
	version: version("The version of this format."),
	defaults: section(
		"Any agent key. It applies to every agent whose kind supports the key and that does not set it.",
		agentKeys,
	).optional(),
	adapters: idMap("Agent CLIs that are not built in, by name.", adapterSchema).optional(),
	accounts: idMap(
		"Accounts by name. A budget applies to the agents of this file, and counts the usage of all agents of the account.",
		account,
	).optional(),
	projects: idMap("Projects by name.", project),
});

export const scheduleSchema = schedule;
/** A schedule's keys with all defaults and parsed units. */
export type ScheduleSettings = z.output<typeof schedule>;

/** An agent's keys with all defaults and parsed units. */
export type AgentSettings = z.output<typeof agentSchema>;
