/**
 * Rules over several keys: a threshold that can never be reached, a missing program. Each rule is
 * checked against the merged settings, and reported at the key that was written. A rule is skipped if
 * one of its keys is invalid itself.
 */

import { DEFAULT_CRASH_POLICY } from "../core/crash-state.js";
import { DEFAULT_HEALTH } from "../core/health.js";
import { LEASE_MS_MIN } from "../core/lease.js";
import { DEFAULT_RETRY } from "../core/retry.js";
import { ADAPTERS } from "../core/states.js";
import { renderDuration } from "../core/units.js";
import { originOf, settingsOf, type WrittenAgent } from "./agents.js";
import type { CheckedShape } from "./check-shape.js";
import { isMisspelt } from "./explain-key.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import { reportsCost, reportsTokens } from "./known-adapters.js";
import { FLEET_OUTLINE, findOutline, type Path } from "./outline.js";
import { type Explanation, type Finding, finding, quote } from "./problem.js";
import type { AgentKey, AgentSettings } from "./schema.js";
import { findTree, locateKey, locateValue, namesIn, type Tree } from "./tree.js";

interface Rule {
	/** The keys to compare; the problem is reported at the first one that was written. */
	readonly keys: readonly Path[];
	/** The problem, or null. `shown` returns a key as written in the file. */
	readonly judge: (
		settings: AgentSettings,
		shown: (key: Path, builtIn: string) => string,
	) => Explanation | null;
}

const FLAP: Path = ["crash_policy", "flap_threshold"];
const HALT: Path = ["crash_policy", "halt_threshold"];
const HISTORY: Path = ["crash_policy", "history"];
const WINDOW: Path = ["crash_policy", "window"];
const EXITS: Path = ["crash_policy", "budget", "exits"];
const WITHIN: Path = ["crash_policy", "budget", "within"];
const DELAY_INITIAL: Path = ["crash_policy", "delay", "initial"];
const DELAY_FACTOR: Path = ["crash_policy", "delay", "factor"];
const DELAY_MAX: Path = ["crash_policy", "delay", "max"];
const ON_FAILURE: Path = ["crash_policy", "on_failure"];
const HALTS: Path = ["crash_policy", "halt"];
const INITIAL: Path = ["retry", "initial_backoff"];
const MAX: Path = ["retry", "max_backoff"];
const WORKERS_MIN: Path = ["workers", "min"];
const WORKERS_MAX: Path = ["workers", "max"];

const flapsWithinHistory: Rule = {
	keys: [FLAP, HISTORY],
	judge: ({ crash_policy: policy }, shown) => {
		if (policy.flap_threshold <= policy.history) return null;
		const flap = shown(FLAP, String(DEFAULT_CRASH_POLICY.flapThreshold));
		const history = shown(HISTORY, String(DEFAULT_CRASH_POLICY.history));
		return {
			message: `flapping can never be reached: \`flap_threshold\` is ${flap}, but \`history\` keeps only ${history} exits`,
			hint: "raise `history` or lower `flap_threshold`",
		};
	},
};

const budgetBeforeHalt: Rule = {
	keys: [EXITS, WITHIN, WINDOW, FLAP, HALT],
	judge: ({ crash_policy: policy }, shown) => {
		const { budget, window, flap_threshold: flap, halt_threshold: halt } = policy;
		if (budget.within > window || budget.exits <= flap + halt - 1) return null;
		const within = shown(WITHIN, renderDuration(DEFAULT_CRASH_POLICY.budget.withinMs));
		return {
			message: `the budget can never be reached: that many failed exits within ${within} count as flapping, which halts the agent earlier`,
			hint: "make `budget.within` longer than `window`, or `budget.exits` smaller",
		};
	},
};

const delayGrows: Rule = {
	keys: [DELAY_FACTOR, DELAY_INITIAL, DELAY_MAX],
	judge: ({ crash_policy: { delay } }, shown) => {
		if (delay === undefined) return null;
		if (delay.factor < 1) {
			return {
				message: `\`factor\` (${shown(DELAY_FACTOR, "2")}) would make the delays shorter with each failure`,
				hint: "write a factor of 1 or more; 1 keeps the delay constant",
			};
		}
		if (delay.initial <= delay.max) return null;
		return {
			message: `\`initial\` (${shown(DELAY_INITIAL, "1s")}) is longer than \`max\` (${shown(DELAY_MAX, "5m")})`,
			hint: "raise `max` or lower `initial`",
		};
	},
};

const haltIsReachable: Rule = {
	keys: [HALTS, ON_FAILURE],
	judge: ({ crash_policy: { halt, on_failure: onFailure } }) => {
		if (halt !== "never" || onFailure !== "stop") return null;
		return {
			message: "`halt: never` has no effect, because `on_failure: stop` allows no restart",
			hint: "remove one of the two",
		};
	},
};

const backoffGrows: Rule = {
	keys: [INITIAL, MAX],
	judge: ({ retry }, shown) => {
		if (retry.initial_backoff <= retry.max_backoff) return null;
		const initial = shown(INITIAL, renderDuration(DEFAULT_RETRY.initialBackoffMs));
		const max = shown(MAX, renderDuration(DEFAULT_RETRY.maxBackoffMs));
		return {
			message: `\`initial_backoff\` (${initial}) is longer than \`max_backoff\` (${max})`,
			hint: "raise `max_backoff` or lower `initial_backoff`",
		};
	},
};

const workersFit: Rule = {
	keys: [WORKERS_MIN, WORKERS_MAX],
	judge: ({ workers }, shown) => {
		if (workers.min <= workers.max) return null;
		return {
			message: `\`workers.min\` (${shown(WORKERS_MIN, "1")}) is more than \`workers.max\` (${shown(WORKERS_MAX, "1")})`,
			hint: "raise `max` or lower `min`",
		};
	},
};

const oneAcpProcess: Rule = {
	keys: [WORKERS_MAX, ["adapter"]],
	judge: ({ workers, adapter }) => {
		if (adapter !== "acp" || workers.max === 1) return null;
		return {
			message: "an ACP agent runs as one process, so `workers` does not apply",
			hint: "remove `workers`; one process serves `concurrency` conversations at a time",
		};
	},
};

const BUDGET: Path = ["budget"];
const USD: Path = ["budget", "usd_per_day"];
const TOKENS: Path = ["budget", "tokens_per_day"];

const budgetIsKnown: Rule = {
	keys: [BUDGET, USD, TOKENS, ["adapter"]],
	judge: ({ budget, adapter, kind }) => {
		if (budget === undefined) return null;
		const { usd_per_day: usd, tokens_per_day: tokens } = budget;
		if (usd === undefined && tokens === undefined) {
			return { message: "the budget has no limit", expected: "`tokens_per_day` or `usd_per_day`" };
		}
		if (!reportsTokens(adapter)) {
			return {
				message: `the budget cannot be enforced: the adapter \`${adapter}\` does not report usage`,
				hint: "remove `budget`; claude, codex, gemini, opencode and pi report usage",
			};
		}
		if (usd === undefined || reportsCost(kind, adapter)) return null;
		return {
			message: `\`usd_per_day\` cannot be enforced: a ${kind} of \`${adapter}\` does not report its cost in time`,
			hint: "use `tokens_per_day`",
		};
	},
};

const oneSignOfReady: Rule = {
	keys: [["ready"], ...["log", "port", "http", "command", "delay"].map((sign) => ["ready", sign])],
	judge: ({ ready }) => {
		if (ready === undefined) return null;
		const signs = Object.values(ready).filter((sign) => sign !== undefined).length;
		if (signs === 1) return null;
		return {
			message: signs === 0 ? "`ready` has no condition" : `\`ready\` has ${signs} conditions`,
			expected: "exactly one of `log`, `port`, `http`, `command` or `delay`",
		};
	},
};

/** The spec is stored and shown (A5). */
const noPasswordInUrl = (key: "ready" | "health"): Rule => ({
	keys: [[key, "http"]],
	judge: ({ [key]: check }) => {
		if (check?.http === undefined) return null;
		const { username, password } = new URL(check.http);
		if (username === "" && password === "") return null;
		return {
			message: "the URL contains a user name or a password, which would be stored and shown",
			hint: `use \`${key}: { command: [...] }\`: the program gets the agent's environment`,
		};
	},
});

const HEALTH: Path = ["health"];
const HEALTH_KINDS = ["http", "port", "command"] as const;
const EVERY: Path = ["health", "every"];
const TIMEOUT: Path = ["health", "timeout"];
const INTERRUPTS: Path = ["health", "interrupt_turn"];
const ACTION: Path = ["health", "action"];

const oneHealthCheck: Rule = {
	keys: [HEALTH, ...HEALTH_KINDS.map((kind) => ["health", kind])],
	judge: ({ health }) => {
		if (health === undefined) return null;
		const set = HEALTH_KINDS.filter((kind) => health[kind] !== undefined).length;
		if (set === 1) return null;
		return {
			message: set === 0 ? "`health` has no check" : `\`health\` has ${set} checks`,
			expected: "exactly one of `http`, `port` or `command`",
		};
	},
};

const healthChecksDoNotOverlap: Rule = {
	keys: [TIMEOUT, EVERY],
	judge: ({ health }, shown) => {
		if (health?.timeout === undefined || health.timeout <= health.every) return null;
		const timeout = shown(TIMEOUT, "");
		const every = shown(EVERY, renderDuration(DEFAULT_HEALTH.everyMs));
		return {
			message: `the checks would overlap: \`timeout\` (${timeout}) is longer than \`every\` (${every})`,
			hint: "lower `health.timeout` or raise `health.every`",
		};
	},
};

const interruptNeedsRestart: Rule = {
	keys: [INTERRUPTS, ACTION],
	judge: ({ health }) => {
		if (health?.interrupt_turn !== true || health.action === "restart") return null;
		return {
			message: "`interrupt_turn` has no effect without `action: restart`",
			hint: "write `action: restart`, or remove `interrupt_turn`",
		};
	},
};

/** Adapters for arbitrary programs. */
const NAMELESS: ReadonlySet<string> = new Set(["acp", "generic"]);

const TERMINAL: Path = ["terminal"];

const cliHasTerminal: Rule = {
	keys: [TERMINAL, ["adapter"]],
	judge: ({ terminal, adapter }) => {
		if (terminal || NAMELESS.has(adapter) || !(ADAPTERS as readonly string[]).includes(adapter)) {
			return null;
		}
		return {
			message: `sessions of ${quote(adapter)} need a terminal`,
			hint: "remove `terminal`, or write `kind: call` to run it without a terminal",
		};
	},
};

const STEPS: Path = ["stall", "steps"];

const stepsDiffer: Rule = {
	keys: [STEPS],
	judge: ({ stall: { steps } }) => {
		const twice = steps.find((step, index) => index > 0 && step === steps[index - 1]);
		if (twice === undefined) return null;
		return {
			message: `${quote(twice)} appears twice in a row`,
			hint: `write it once; \`stall.after\` sets the time for each step`,
		};
	},
};

const nudgeSaysSomething: Rule = {
	keys: [["stall", "nudge"]],
	judge: ({ stall: { nudge } }) => {
		if (nudge.trim() !== "") return null;
		return {
			message: "the message is empty",
			hint: "remove `nudge` to use the built-in message",
		};
	},
};

const WATCH: Path = ["watch"];

/** A restart would interrupt the turn of an agent CLI, which changes files itself. */
const watchesNoCli: Rule = {
	keys: [WATCH, ["adapter"]],
	judge: ({ watch, adapter }) => {
		if (watch === undefined || watch.length === 0 || adapter === "generic") return null;
		return {
			message: `\`watch\` cannot restart an agent CLI (adapter ${quote(adapter)}): it changes files itself, and a restart would interrupt its turn`,
			hint: "remove `watch`; it is for servers, bots and other programs that load their files at the start",
		};
	},
};

const RULES: readonly Rule[] = [
	watchesNoCli,
	cliHasTerminal,
	stepsDiffer,
	nudgeSaysSomething,
	oneSignOfReady,
	noPasswordInUrl("ready"),
	noPasswordInUrl("health"),
	oneHealthCheck,
	healthChecksDoNotOverlap,
	interruptNeedsRestart,
	flapsWithinHistory,
	budgetBeforeHalt,
	delayGrows,
	haltIsReachable,
	backoffGrows,
	workersFit,
	oneAcpProcess,
	budgetIsKnown,
];

export function checkAgent(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
): readonly Finding[] {
	const settings = settingsOf(agent, shape);
	if (settings === null || shape.broken.covers(agent.path)) return [];
	const shown = (key: Path, builtIn: string) => {
		const origin = originOf(tree, agent, key);
		const written = origin === null ? null : findTree(tree, origin);
		return written?.type === "scalar" ? quote(written.written) : quote(builtIn);
	};
	const findings = [
		...checkCommand(tree, agent, shape, settings),
		...checkHibernate(tree, agent, shape, settings),
		...checkDelays(tree, agent),
		...checkLease(tree, agent, shape, settings),
	];
	for (const { keys, judge } of RULES) {
		const judged = keys.every((key) => holds(agent, key) && !isBroken(tree, agent, shape, key));
		const reported = judged ? judge(settings, shown) : null;
		if (reported !== null) findings.push(place(tree, agent, keys, reported));
	}
	return findings;
}

function checkCommand(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
	settings: AgentSettings,
): Finding[] {
	if (!NAMELESS.has(settings.adapter) || settings.command !== undefined) return [];
	const around = findOutline(FLEET_OUTLINE, agent.path) ?? FLEET_OUTLINE;
	const written = [...namesIn(tree, agent.path), ...namesIn(tree, ["defaults"])];
	// An invalid value of one of the two is already reported.
	const slipped = ["adapter", "command"].some(
		(key) => isBroken(tree, agent, shape, [key]) || isMisspelt(key, written, around),
	);
	if (slipped) return [];
	const said = {
		message: "required key is missing",
		expected: `the program and its arguments as a list, since the adapter is \`${settings.adapter}\``,
		hint: "write `command: [node, agent.mjs]`, or name the `adapter`",
	};
	return [finding(locateKey(tree, agent.path), [...agent.path, "command"], said)];
}

const HIBERNATE: Path = ["hibernate"];

/** A stopped agent that cannot resume its conversation would lose it. */
function checkHibernate(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
	{ hibernate, adapter }: AgentSettings,
): Finding[] {
	const keys: readonly Path[] = [HIBERNATE, ["adapter"]];
	if (hibernate === undefined || !keys.every((key) => holds(agent, key))) return [];
	if (keys.some((key) => isBroken(tree, agent, shape, key))) return [];
	const isCustom = !(ADAPTERS as readonly string[]).includes(adapter);
	const id = isCustom ? findTree(tree, ["adapters", adapter, "conversation", "id"]) : null;
	const resumes = isCustom
		? id?.type === "scalar" && id.written !== "none"
		: !NAMELESS.has(adapter);
	if (resumes) return [];
	return [
		place(tree, agent, keys, {
			message: `the agent cannot hibernate: its adapter ${quote(adapter)} cannot resume a conversation`,
			hint: "remove `hibernate`, or name an `adapter` with a `conversation`",
		}),
	];
}

const LEASE: Path = ["placement", "lease"];
const ON_LOST: Path = ["placement", "on_lost"];

/** A shorter lease leaves no time to end the agent before another host may start it. */
function checkLease(
	tree: Tree,
	agent: WrittenAgent,
	shape: CheckedShape,
	{ placement, kind }: AgentSettings,
): Finding[] {
	if (placement !== undefined && kind === "call") {
		return [LEASE, ON_LOST]
			.filter((key) => findTree(tree, [...agent.path, ...key]) !== null)
			.map((key) =>
				place(tree, agent, [key], {
					message: `only session agents have \`${key.at(-1)}\`: the tasks of a call agent have no lease`,
					hint: "remove it",
				}),
			);
	}
	if (placement === undefined || placement.lease >= LEASE_MS_MIN) return [];
	if (!holds(agent, LEASE) || isBroken(tree, agent, shape, LEASE)) return [];
	const shortest = renderDuration(LEASE_MS_MIN);
	return [
		place(tree, agent, [LEASE], {
			message: `the lease is too short: ${renderDuration(placement.lease)}`,
			expected: `at least \`${shortest}\``,
			hint: `write \`lease: ${shortest}\``,
		}),
	];
}

const FIXED_DELAYS = ["transient_delay", "flapping_delay"];

/** `delay` replaces both. A fixed delay in `defaults` still applies to the agents without `delay`. */
function checkDelays(tree: Tree, agent: WrittenAgent): Finding[] {
	const policy: Path = [...agent.path, "crash_policy"];
	const written = namesIn(tree, policy);
	if (!holds(agent, ["crash_policy"]) || !written.includes("delay")) return [];
	return FIXED_DELAYS.filter((key) => written.includes(key)).map((key) =>
		finding(locateKey(tree, [...policy, key]), [...policy, key], {
			message: `${quote(key)} has no effect, because \`delay\` replaces it`,
			hint: "remove one of the two",
		}),
	);
}

function holds(agent: WrittenAgent, key: Path): boolean {
	return agent.kind !== null && KINDS_OF_KEY[key[0] as AgentKey].includes(agent.kind);
}

function isBroken(tree: Tree, agent: WrittenAgent, shape: CheckedShape, key: Path): boolean {
	if (shape.broken.isEmpty) return false;
	const origin = originOf(tree, agent, key) ?? ["defaults", ...key];
	return shape.broken.covers(origin) || shape.broken.covers([...agent.path, ...key]);
}

/** At the agent's own key, else in `defaults`, else at the agent. */
function place(tree: Tree, agent: WrittenAgent, keys: readonly Path[], said: Explanation): Finding {
	const origins = keys.map((key) => originOf(tree, agent, key)).filter((each) => each !== null);
	const path = origins.find((each) => each[0] !== "defaults") ?? origins[0] ?? agent.path;
	return finding(locateValue(tree, path), path, said);
}
