/**
 * The vocabulary of agents: their states, and the names of kinds, backends and adapters. Four independent axes describe an agent: the state of its process,
 * its state in the crash policy, its activity, and the state of its circuit. The strings are wire
 * format: they appear in the fleet file, the database, the API and the page, and do not change.
 */

export const AGENT_KINDS = ["session", "call", "worker"] as const;
/** A session agent runs in a terminal, a call agent serves one request per process, a worker agent many. */
export type AgentKind = (typeof AGENT_KINDS)[number];

export const BACKENDS = ["auto", "tmux", "pty", "systemd", "launchd"] as const;
/** The technology that runs a session's process; `auto` selects the best for the host. */
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
/** The built-in agent CLIs; `acp` is any CLI that supports that protocol, `generic` any program. */
export type Adapter = (typeof ADAPTERS)[number];

export const HEADLESS_CLIS = ["claude", "codex", "gemini", "opencode", "pi"] as const;
/** CLIs that can be called without a terminal, one process per call. */
export type HeadlessCli = (typeof HEADLESS_CLIS)[number];

export const TMPDIR_CHOICES = ["own", "inherit"] as const;
/** Whether an agent has its own directory for temporary files. */
export type Tmpdir = (typeof TMPDIR_CHOICES)[number];

export const CLEAN_EXIT_CHOICES = ["prompt", "restart", "stop", "complete"] as const;
/** The action after an unrequested exit with code 0. */
export type OnCleanExit = (typeof CLEAN_EXIT_CHOICES)[number];

export const EXTRA_OUTPUT_CHOICES = ["tolerate", "refuse"] as const;
/** How output besides the response is handled. */
export type ExtraOutput = (typeof EXTRA_OUTPUT_CHOICES)[number];

export const DEPENDENCY_CONDITIONS = ["ready", "completed"] as const;
/** The state of another agent that an agent waits for before it starts. */
export type DependencyCondition = (typeof DEPENDENCY_CONDITIONS)[number];

/** Every state of a process. */
export const PROCESS_STATES = ["starting", "running", "stopping", "stopped", "unknown"] as const;
/** The state of an agent's process. */
export type ProcessState = (typeof PROCESS_STATES)[number];

/** Every state of the crash policy. */
export const POLICY_STATES = ["healthy", "degraded", "halted"] as const;
/** The state of an agent in the crash policy. */
export type PolicyState = (typeof POLICY_STATES)[number];

export const HOLDS = ["turn", "account", "budget"] as const;
/**
 * Reasons that hold a healthy agent: a turn that failed without a login, the usage limit of its account, its budget.
 */
export type HoldKind = (typeof HOLDS)[number];

/** Every activity of a session agent. */
export const ACTIVITIES = [
	"starting",
	"ready",
	"busy",
	"waiting_input",
	"rate_limited",
	"draining",
	"unknown",
] as const;
/** The activity of a session agent. */
export type Activity = (typeof ACTIVITIES)[number];

/** Every state of a circuit. */
export const CIRCUIT_STATES = ["closed", "open", "half_open"] as const;
/** Whether a circuit lets requests through. */
export type CircuitState = (typeof CIRCUIT_STATES)[number];

/** Every health of an agent. */
export const HEALTH_STATES = ["healthy", "degraded", "unhealthy"] as const;
/** The health of an agent: the worst of its runs, the calls to it, and its health check. */
export type Health = (typeof HEALTH_STATES)[number];

const HEALTH_OF_POLICY: Readonly<Record<PolicyState, Health>> = {
	healthy: "healthy",
	degraded: "degraded",
	halted: "unhealthy",
};

/** The worst of its runs, the calls to it, and its health check. */
export function overallHealth(policy: PolicyState, calls: Health, isUnhealthy: boolean): Health {
	const all = [HEALTH_OF_POLICY[policy], calls, isUnhealthy ? "unhealthy" : "healthy"];
	return HEALTH_STATES.findLast((each) => all.includes(each)) ?? "healthy";
}
