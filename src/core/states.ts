/**
 * The words for what an agent is and how it is doing. Four axes describe an agent and are never
 * mixed: what its process does, what the crash policy thinks of it, what the agent itself is busy
 * with, and whether calls to it are let through. The strings are wire format: they appear in the
 * fleet file, the database, the API and the page, and are never renamed.
 */

export const AGENT_KINDS = ["session", "call", "worker"] as const;
/** A session agent lives in a terminal, a call agent for one request, a worker agent for many. */
export type AgentKind = (typeof AGENT_KINDS)[number];

export const BACKENDS = ["auto", "tmux", "pty", "systemd", "launchd"] as const;
/** What holds a session's process; `auto` lets the host decide. */
export type Backend = (typeof BACKENDS)[number];

export const ADAPTERS = [
	"claude",
	"codex",
	"gemini",
	"opencode",
	"pi",
	"aider",
	"acp",
	"generic",
] as const;
/** The agent CLIs that Reeve knows by itself; `acp` is any that speaks that protocol, `generic` any program. */
export type Adapter = (typeof ADAPTERS)[number];

export const HEADLESS_CLIS = ["claude", "codex", "gemini", "opencode", "pi"] as const;
/** Those that can be called without a terminal, one process per call. */
export type HeadlessCli = (typeof HEADLESS_CLIS)[number];

export const TMPDIR_CHOICES = ["own", "inherit"] as const;
/** Whether an agent has a folder of its own for temporary files. */
export type Tmpdir = (typeof TMPDIR_CHOICES)[number];

export const CLEAN_EXIT_CHOICES = ["prompt", "restart", "stop"] as const;
/** What follows an exit with code 0 that nobody asked for. */
export type OnCleanExit = (typeof CLEAN_EXIT_CHOICES)[number];

export const EXTRA_OUTPUT_CHOICES = ["tolerate", "refuse"] as const;
/** What is made of output that is not the answer. */
export type ExtraOutput = (typeof EXTRA_OUTPUT_CHOICES)[number];

export const PROCESS_STATES = ["starting", "running", "stopping", "stopped", "unknown"] as const;
export type ProcessState = (typeof PROCESS_STATES)[number];

export const POLICY_STATES = ["healthy", "degraded", "halted"] as const;
export type PolicyState = (typeof POLICY_STATES)[number];

export const HOLDS = ["turn", "account", "budget"] as const;
/** What may keep an agent that is well: a turn that failed for want of a login, the limit of its account, its budget. */
export type HoldKind = (typeof HOLDS)[number];

export const ACTIVITIES = [
	"starting",
	"ready",
	"busy",
	"waiting_input",
	"rate_limited",
	"draining",
	"unknown",
] as const;
export type Activity = (typeof ACTIVITIES)[number];

export const CIRCUIT_STATES = ["closed", "open", "half_open"] as const;
export type CircuitState = (typeof CIRCUIT_STATES)[number];

export const HEALTH_STATES = ["healthy", "degraded", "unhealthy"] as const;
/** How well calls to an agent have been going: a summary of its circuit. */
export type Health = (typeof HEALTH_STATES)[number];
