/**
 * The fleet file, said once. Types, validator, defaults, the editor's JSON Schema and the reference
 * page all come from this schema; numbers come from the policies in core that use them. Which kinds
 * of agent take which key stands below it.
 */

import type { z } from "zod";
import { DEFAULT_USAGE_LIMIT } from "../core/account.js";
import { DEFAULT_BREAKER } from "../core/breaker.js";
import { DEFAULT_CRASH_POLICY } from "../core/crash-state.js";
import { DEFAULT_RETRY } from "../core/retry.js";
import { DEFAULT_NUDGE, STALL_STEPS } from "../core/stall.js";
import {
	ADAPTERS,
	AGENT_KINDS,
	type AgentKind,
	BACKENDS,
	CLEAN_EXIT_CHOICES,
	EXTRA_OUTPUT_CHOICES,
	TMPDIR_CHOICES,
} from "../core/states.js";
import { renderDuration } from "../core/units.js";
import { adapterSchema } from "./adapter-schema.js";
import {
	accountName,
	adapterName,
	amount,
	argv,
	choice,
	count,
	duration,
	envMap,
	exitCode,
	flag,
	fraction,
	hours,
	idMap,
	list,
	path,
	pattern,
	percent,
	reference,
	section,
	size,
	text,
	version,
} from "./values.js";

const TOKENS_MAX = 1_000_000_000_000;
/** Linux gives out no more process ids than this. */
const PIDS_MAX = 4_194_304;

const crash = DEFAULT_CRASH_POLICY;

const budget = section("The slow-burn budget, for an agent that fails too seldom to flap.", {
	exits: count("This many failed exits within the span halt the agent.").prefault(
		crash.budget.exits,
	),
	within: duration("The span, in the agent's own running time.", { positive: true }).prefault(
		renderDuration(crash.budget.withinMs),
	),
});

const crashPolicy = section("When an agent that keeps failing is restarted, and when it is not.", {
	window: duration(
		"How much of the agent's own running time is looked back over. A run this long is a stable one.",
		{ positive: true },
	).prefault(renderDuration(crash.windowMs)),
	flap_threshold: count("This many failed exits within the window are flapping.").prefault(
		crash.flapThreshold,
	),
	halt_threshold: count(
		"This many flapping exits without a stable run between them halt the agent until it is resumed.",
	).prefault(crash.haltThreshold),
	history: count("How many exits are remembered.").prefault(crash.history),
	transient_delay: duration("The wait before a restart after a failure.").prefault(
		renderDuration(crash.transientDelayMs),
	),
	flapping_delay: duration("The wait before a restart while flapping.").prefault(
		renderDuration(crash.flappingDelayMs),
	),
	jitter: fraction(
		"Delays are spread by up to this fraction, so that agents that died together do not come back together; 0 turns it off.",
	).prefault(crash.jitter),
	budget: budget.prefault({}),
	permanent_exit_codes: list(
		"Exit codes that trying again cannot cure. Such an exit halts the agent at once.",
		exitCode("A failed exit code."),
	).prefault([...crash.permanentExitCodes]),
});

const retry = section("Whether a failed attempt is followed by another.", {
	max_attempts: count("Tries in all, the first one included.").prefault(DEFAULT_RETRY.maxAttempts),
	initial_backoff: duration("The wait before the second try; it doubles from there.").prefault(
		renderDuration(DEFAULT_RETRY.initialBackoffMs),
	),
	max_backoff: duration("The wait never grows beyond this.").prefault(
		renderDuration(DEFAULT_RETRY.maxBackoffMs),
	),
	jitter: fraction("Waits are spread by up to this fraction; 0 turns it off.").prefault(
		DEFAULT_RETRY.jitter,
	),
});

const circuitBreaker = section("When calls to a failing agent are refused without trying.", {
	failure_threshold: count("This many failures in a row open the circuit.").prefault(
		DEFAULT_BREAKER.failureThreshold,
	),
	cooldown: duration("How long an open circuit lets nothing through before one probe.").prefault(
		renderDuration(DEFAULT_BREAKER.cooldownMs),
	),
});

const limits = section("What the whole process tree of an agent may use. No limit unless given.", {
	memory: size("Memory. An agent that needs more is ended, and the exit says so.").optional(),
	cpu: percent("CPU time; `100%` is one CPU, `200%` two.").optional(),
	pids: count("Processes and threads.", { max: PIDS_MAX }).optional(),
});

const drain = section("How an agent is asked to end.", {
	timeout: duration(
		"How long it has to end by itself before its process tree is killed; `0s` kills at once.",
	).prefault("10s"),
});

const ready = section(
	"When the agent counts as ready, so that what depends on it may start. One of these; without it, an agent is ready as soon as it runs.",
	{
		log: pattern("It has printed something that matches.").optional(),
		port: count("Something listens on this TCP port of the host.", { max: 65_535 }).optional(),
		command: argv("This program, run every second in the agent's folder, exits with 0.").optional(),
		delay: duration("It has been running for this long.").optional(),
	},
);

const stall = section("When an agent CLI that says it works counts as standing still.", {
	after: duration(
		"No progress for this long while it is busy: no event, no line in its record, nothing new on its screen, no work of its tools. A tool that is known to run is waited for.",
		{ positive: true },
	).prefault("30m"),
	steps: list(
		"What is done about it, one after the other, each after as long again: `nudge` types a text, `interrupt` presses the keys by which this CLI breaks off a turn, `restart` takes the conversation up anew. You are told in any case.",
		choice("One step.", STALL_STEPS),
	).prefault([]),
	nudge: text(
		"What `nudge` types. With `nudge` among the steps it is also sent after a restart, and after an interrupt unless the CLI takes up an earlier nudge by itself, so that the agent takes up its work.",
	).prefault(DEFAULT_NUDGE),
});

const usageLimit = section(
	"What follows when an account has met its usage limit. The agent that meets it decides for all of its account.",
	{
		auto_resume: flag(
			"Whether its agents go on by themselves once the limit lifts; if not, they wait for `reeve resume`.",
		).prefault(DEFAULT_USAGE_LIMIT.autoResume),
		quiet_hours: hours(
			"Nobody goes on in these hours of the host's clock, but after them. None unless given.",
		).optional(),
		max_wait: duration(
			"If they would have to wait longer than this in all, they wait for `reeve resume` instead.",
			{ positive: true },
		).prefault(renderDuration(DEFAULT_USAGE_LIMIT.maxWaitMs)),
	},
);

const dailyBudget = section(
	"What an agent CLI may use in a day of the host. When it is used up, a session is stopped until the next day and calls are refused; you are told. No bound unless given.",
	{
		usd_per_day: amount(
			"Cost in US dollars, as the CLI tells it: `opencode` and `pi`, and calls to `claude`.",
		).optional(),
		tokens_per_day: count("Tokens of all kinds, those from a cache included.", {
			max: TOKENS_MAX,
		}).optional(),
	},
);

const workers = section("How many processes serve a worker agent.", {
	min: count("Kept running also while nothing is asked.", { min: 0 }).prefault(1),
	max: count("Never more than this at once.").prefault(1),
	idle: duration("How long a process beyond `min` is kept while nothing is asked of it.").prefault(
		"60s",
	),
});

const agentKeys = {
	kind: choice(
		"`session` lives in a terminal, `call` is one process per request, `worker` one process that serves many.",
		AGENT_KINDS,
	).prefault("session"),
	adapter: adapterName(
		`Which agent CLI this is: ${ADAPTERS.map((name) => `\`${name}\``).join(", ")}, or one of \`adapters\`. \`acp\` is a worker that speaks the Agent Client Protocol, \`generic\` any other program; both need a \`command\`.`,
		ADAPTERS,
	).prefault("generic"),
	command: argv(
		"The program and its first arguments, as a list. No shell reads it. Adapters other than `generic` know their program.",
	).optional(),
	args: list(
		"Arguments that follow the command, or the adapter's own program.",
		text("One argument."),
	).prefault([]),
	cwd: path(
		"The working directory, relative to the fleet file; a leading `~/` is the home directory. When it is not set, the project's.",
	).optional(),
	env_file: path(
		"A file of `KEY=VALUE` lines, relative to the fleet file, read at every start. It may be missing.",
	).optional(),
	env: envMap(
		"Environment variables. They win over the env file; null removes an inherited variable.",
	).prefault({}),
	limits: limits.prefault({}),
	backend: choice(
		"What holds the session's process; `auto` takes the best that the host offers.",
		BACKENDS,
	).prefault("auto"),
	terminal: flag(
		"Whether it runs in a terminal. Without one, its output goes straight to its log.",
	).prefault(true),
	tmpdir: choice(
		"`own` is a folder for temporary files that no other agent has, emptied before every start; `inherit` leaves `TMPDIR` as it is. When it is not set, as the adapter has it: agent CLIs have their own.",
		TMPDIR_CHOICES,
	).optional(),
	stall: stall.prefault({}),
	account: accountName(
		"The account that its CLI is logged in to. A usage limit that one agent meets parks all agents of the same account. When it is not set, the agent has an account of its own.",
	).optional(),
	usage_limit: usageLimit.prefault({}),
	budget: dailyBudget.optional(),
	seed: flag(
		"Whether the questions that a CLI asks at its first start (trust in the folder, first steps) are settled before it, as far as its adapter knows how.",
	).prefault(true),
	on_clean_exit: choice(
		"What follows an exit with code 0: ask the operator, restart, or stay down.",
		CLEAN_EXIT_CHOICES,
	).prefault("prompt"),
	drain: drain.prefault({}),
	depends_on: list(
		"Agents that must be ready before this one starts.",
		reference("`name` for an agent of the same project, or `project:name`."),
	).prefault([]),
	ready: ready.optional(),
	crash_policy: crashPolicy.prefault({}),
	timeout: duration(
		"How long one attempt may take, from starting the process to reading its answer.",
		{ positive: true },
	).prefault("30s"),
	retry: retry.prefault({}),
	circuit_breaker: circuitBreaker.prefault({}),
	concurrency: count("How many requests may be under way at once.").prefault(4),
	idempotent: flag(
		"Whether doing an action twice is harmless. If not, one that may have taken effect is never tried again by itself: it waits as a dead letter for the operator.",
	).prefault(true),
	unsafe_actions: list(
		"Actions that must not be done twice although `idempotent` is true.",
		text("The name of an action."),
	).prefault([]),
	extra_output: choice(
		"What the agent prints to stdout besides its answer: `tolerate` passes over it, `refuse` fails the attempt.",
		EXTRA_OUTPUT_CHOICES,
	).prefault("tolerate"),
	workers: workers.prefault({}),
};

export type AgentKey = keyof typeof agentKeys;

const EVERY_KIND = AGENT_KINDS;
const LIVES_ON = ["session", "worker"] as const;
const TAKES_REQUESTS = ["call", "worker"] as const;

/** Which kinds of agent take which key. In `defaults` a key is for the kinds that take it. */
export const KINDS_OF_KEY: Readonly<Record<AgentKey, readonly AgentKind[]>> = {
	kind: EVERY_KIND,
	adapter: EVERY_KIND,
	command: EVERY_KIND,
	args: EVERY_KIND,
	cwd: EVERY_KIND,
	env_file: EVERY_KIND,
	env: EVERY_KIND,
	limits: EVERY_KIND,
	backend: ["session"],
	terminal: ["session"],
	tmpdir: ["session"],
	stall: ["session"],
	account: ["session", "call"],
	usage_limit: ["session", "call"],
	budget: ["session", "call"],
	seed: ["session"],
	on_clean_exit: ["session"],
	drain: LIVES_ON,
	depends_on: LIVES_ON,
	ready: LIVES_ON,
	crash_policy: LIVES_ON,
	timeout: TAKES_REQUESTS,
	retry: TAKES_REQUESTS,
	circuit_breaker: TAKES_REQUESTS,
	concurrency: TAKES_REQUESTS,
	idempotent: TAKES_REQUESTS,
	unsafe_actions: TAKES_REQUESTS,
	extra_output: TAKES_REQUESTS,
	workers: ["worker"],
};

export const agentSchema = section("One agent.", agentKeys);

const project = section("One project: agents that belong together.", {
	cwd: path(
		"The working directory of its agents, relative to the fleet file. When it is not set, the fleet file's folder.",
	).optional(),
	agents: idMap("The project's agents by name.", agentSchema),
});

export const fleetSchema = section("What Reeve is to keep running.", {
	version: version("The version of this format."),
	defaults: section(
		"Any agent key. It holds for every agent whose kind takes it and that does not set it.",
		agentKeys,
	).optional(),
	adapters: idMap(
		"Agent CLIs that Reeve does not know by itself, by name.",
		adapterSchema,
	).optional(),
	projects: idMap("Projects by name.", project),
});

/** An agent's keys with every default filled in and every unit counted. */
export type AgentSettings = z.output<typeof agentSchema>;
