/** A fleet of 14 agents in 3 projects on a Monday at 14:28, in every kind of state, for pictures of the page. */

import type { AgentStatusState } from "../../src/core/agent-status.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { AgentHistoryJson, RunJson } from "../../src/http/contract/history.js";

/** Monday, 14:28 in the zone of the browser, which the tests set to UTC. */
export const NOW_MS = Date.UTC(2026, 5, 15, 14, 28, 0);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const ago = (ms: number) => new Date(NOW_MS - ms).toISOString();
export const inMs = (ms: number) => new Date(NOW_MS + ms).toISOString();

interface Described {
	readonly state: AgentStatusState;
	readonly why: string;
	readonly sinceMs?: number;
	readonly until?: string;
	readonly source?: "hook" | "transcript" | "screen";
	readonly adapter?: string;
	readonly kind?: AgentJson["kind"];
	readonly usd?: number | null;
	readonly tokens?: number;
	readonly memory?: number;
	readonly cpu?: number;
	readonly question?: AgentJson["question"];
	readonly more?: Partial<AgentJson>;
}

const NEEDS_YOU = new Set<AgentStatusState>([
	...(["login_lost", "halted", "asks_permission", "asks_you", "ended", "over_budget"] as const),
	...(["stalled", "circuit_open", "dead_letters"] as const),
]);
const NOT_RUNNING = new Set<AgentStatusState>([
	...(["halted", "ended", "stopped", "restarting", "hibernated", "completed"] as const),
]);

export function fixtureAgent(id: string, about: Described): AgentJson {
	const [project = "", agent = ""] = id.split(":");
	const { state, why, adapter = "claude", kind = "session" } = about;
	const runs = kind === "session" && !NOT_RUNNING.has(state);
	const since = about.sinceMs === undefined ? null : ago(about.sinceMs);
	return {
		...{ id, agent_id: id, project, agent, kind, adapter, backend: "systemd" },
		...{ desired: state === "stopped" ? "down" : "up", process: runs ? "running" : "stopped" },
		policy: state === "halted" ? "halted" : "healthy",
		activity: state === "working" ? "busy" : "ready",
		activity_source: about.source ?? null,
		...{ activity_at: since, activity_detail: null, turn_failure: null },
		circuit: state === "circuit_open" ? "open" : "closed",
		health: "healthy",
		...{ pid: runs ? 4711 : null, run_id: runs ? `run-${id}` : null, started_at: ago(11 * HOUR) },
		...{ uptime_ms: 11 * HOUR, restarts: 5, consecutive_failures: 0, last_failure_at: null },
		...{ last_success_at: null, circuit_open_until: null, processes: runs ? 1 : 0 },
		...{ last_exit: null, next_restart_at: null, waiting: state === "ended", ready: true },
		blocked: null,
		conversation: "827b4261-0000-4000-8000-000000000000",
		usage:
			about.tokens === undefined
				? null
				: {
						...{ tokens_today: about.tokens, usd_today: about.usd ?? null },
						...{ tokens_per_day: null, usd_per_day: null, held_until: null },
					},
		resources:
			about.memory === undefined
				? null
				: {
						...{ memory_bytes: about.memory * 1e6, memory: "cgroup", processes: 3 },
						...{ cpu_percent: about.cpu ?? 0, at: ago(1_000) },
					},
		reason: why,
		status: {
			...{ state, why, since, until: about.until ?? null, source: about.source ?? null },
			needs_you: NEEDS_YOU.has(state),
		},
		question: about.question ?? null,
		finished: state === "finished" ? { at: since ?? "", text: why, seen: false } : null,
		host: "box-1",
		fleet_file: `/home/ada/code/${project}/reeve.yaml`,
		...about.more,
	} as AgentJson;
}

export const PERMISSION: NonNullable<AgentJson["question"]> = {
	id: "q-1",
	kind: "permission",
	title: "Apply migration 0042 to the staging database",
	text: "Do you want to proceed?",
	detail: "npm run db:migrate -- --env staging",
	choices: [
		{ number: 1, label: "Yes", lasting: false },
		{
			number: 2,
			label: "Yes, and don't ask again for npm run db:migrate commands in ~/code/shop",
			lasting: true,
		},
		{ number: 3, label: "No, and explain what to do differently", lasting: false },
	],
	asked_at: ago(4 * MINUTE),
	source: "hook",
	run_id: "run-shop:coder",
};

const TEXT_QUESTION: NonNullable<AgentJson["question"]> = {
	...{ id: "q-2", kind: "text", title: "Question", choices: [], detail: null, run_id: null },
	text: "Keep the column legacy_price for one release, or drop it now? Both pass the tests.",
	asked_at: ago(11 * MINUTE),
	source: "api",
};

const EXIT_QUESTION: NonNullable<AgentJson["question"]> = {
	...{ id: "q-3", kind: "clean_exit", title: "", choices: [], detail: null, run_id: null },
	text: "Exit code 0 after 3 h 4 min. What next?",
	asked_at: ago(22 * MINUTE),
	source: "api",
};

export const FLEET: readonly AgentJson[] = [
	fixtureAgent("shop:planner", {
		...{ state: "finished", sinceMs: 6 * MINUTE, source: "hook" },
		why: "The checkout split is planned in docs/plan.md. Three open questions are at its end.",
		...{ usd: 3.08, tokens: 1.1e6, memory: 412 },
	}),
	fixtureAgent("shop:coder", {
		...{ state: "asks_permission", sinceMs: 4 * MINUTE, source: "hook", question: PERMISSION },
		why: "Bash: npm run db:migrate -- --env staging",
		...{ usd: 9.64, tokens: 4.2e6, memory: 688, cpu: 1 },
		more: {
			usage: {
				...{ tokens_today: 4.2e6, usd_today: 9.64, tokens_per_day: null, usd_per_day: 20 },
				held_until: null,
			},
		},
	}),
	fixtureAgent("shop:reviewer", {
		...{ state: "working", sinceMs: 2 * MINUTE, source: "transcript", adapter: "codex" },
		why: "Reads packages/cart/src/totals.ts",
		...{ usd: null, tokens: 2.6e6, memory: 236, cpu: 14 },
	}),
	fixtureAgent("shop:tests", {
		...{ state: "working", sinceMs: 48_000, source: "hook", why: "Runs npm test -- cart" },
		...{ usd: 2.17, tokens: 1.9e6, memory: 540, cpu: 61 },
	}),
	fixtureAgent("shop:docs", {
		...{ state: "limited", sinceMs: 20 * MINUTE, source: "screen", adapter: "gemini" },
		why: "Account google-team has used its daily quota. 1 message waits.",
		until: inMs(72 * MINUTE),
		...{ usd: null, tokens: 3.3e6, memory: 301 },
	}),
	fixtureAgent("shop:git", {
		...{ state: "working", kind: "call", adapter: "generic", why: "1 call running" },
		...{ memory: 21, cpu: 3 },
	}),
	fixtureAgent("api:coder", {
		...{ state: "halted", sinceMs: 38 * MINUTE, adapter: "codex" },
		why: "crashed 7 times without a stable run; the last run lasted 0.4 s",
		...{ usd: null, tokens: 200_000 },
	}),
	fixtureAgent("api:tester", {
		...{ state: "restarting", sinceMs: 6_000, until: inMs(24_000) },
		why: "exit code 1 after 12 s. Crash 4 in 60 s of running: slowed down.",
		...{ usd: 1.05, tokens: 500_000 },
	}),
	fixtureAgent("api:migrator", {
		...{ state: "asks_you", sinceMs: 11 * MINUTE, adapter: "opencode", question: TEXT_QUESTION },
		why: "Keep the column legacy_price for one release, or drop it now?",
		...{ usd: 0.86, tokens: 600_000, memory: 377 },
	}),
	fixtureAgent("api:types", {
		...{ state: "finished", sinceMs: 31 * MINUTE, adapter: "codex", source: "transcript" },
		why: "All 212 endpoints have types now; 4 needed a cast.",
		...{ usd: null, tokens: 900_000, memory: 228 },
	}),
	fixtureAgent("api:search", {
		...{ state: "circuit_open", kind: "worker", adapter: "generic", sinceMs: 19_000 },
		why: "the last 3 calls failed: connection refused, 127.0.0.1:7700",
		until: inMs(41_000),
		...{ memory: 164, cpu: 2 },
		more: {
			...{ circuit_open_until: inMs(41_000), consecutive_failures: 3, processes: 3 },
			last_failure_at: ago(19_000),
		},
	}),
	fixtureAgent("ops:oncall", {
		...{ state: "hibernated", sinceMs: 130 * MINUTE, why: "idle for 45 min; 612 MB freed" },
		...{ usd: 0.4, tokens: 200_000 },
		more: {
			hibernation: {
				...{ state: "hibernated", after_ms: 45 * MINUTE, since: ago(130 * MINUTE) },
				...{ idle_ms: 45 * MINUTE, freed_bytes: 612e6, why_awake: null },
			},
		},
	}),
	fixtureAgent("ops:nightly", {
		...{ state: "ended", sinceMs: 22 * MINUTE, question: EXIT_QUESTION },
		why: "Exit code 0 after 3 h 4 min.",
		...{ usd: 6.31, tokens: 3.4e6 },
	}),
	fixtureAgent("ops:deploy", {
		...{ state: "dead_letters", kind: "call", adapter: "generic", sinceMs: 52 * MINUTE },
		why: "3 tasks failed permanently.",
		more: { last_failure_at: ago(12_000), consecutive_failures: 2 },
	}),
];

type PastRun = AgentHistoryJson["runs"][number];

/** States in which the last run is over, and how it ended. */
const LAST_EXITS: Partial<Record<AgentStatusState, readonly [PastRun[2], PastRun[3]]>> = {
	halted: ["crash", "flapping"],
	restarting: ["crash", "transient"],
	ended: ["completed", "clean"],
	completed: ["completed", "clean"],
	hibernated: ["requested", null],
	stopped: ["requested", null],
};

/** A day of runs, work and exits that fits the state of the agent, and is the same every time. */
export function fixtureHistory(agent: AgentJson, index: number): AgentHistoryJson {
	const { id, kind, status } = agent;
	const to = NOW_MS / 1_000;
	const from = to - 86_400;
	let seed = index * 7_919 + 13;
	const random = () => {
		seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
		return seed / 2_147_483_648;
	};
	const work: [number, number][] = [];
	for (let at = from + random() * 4_000; at < to - 3_000; at += 1_500 + random() * 9_000) {
		work.push([at, at + 300 + random() * 4_000]);
	}
	const ended = LAST_EXITS[status.state];
	const end = status.since === null ? to : Date.parse(status.since) / 1_000;
	const runs = kind === "call" ? [] : id === "shop:coder" ? nightRuns() : [...earlier()];
	const waits: AgentHistoryJson["waits"] = runs.flatMap(([, limitAt, cause], n) => {
		const next = runs[n + 1]?.[0];
		const isLimit = cause === "usage_limit" && limitAt !== null && next !== undefined;
		return isLimit ? [[limitAt, next, "limit"] as const] : [];
	});
	const isUp = (at: number) =>
		kind === "call" || runs.some(([start, over]) => at >= start && at < (over ?? to));
	return {
		...{ id, runs, waits },
		work: work.filter(([at, over]) => isUp(at) && isUp(over)),
		restarts: Math.max(0, runs.length - 1),
	};

	function* earlier(): Generator<PastRun> {
		const crash = from + 86_400 * (0.3 + random() * 0.3);
		const crashes = index % 3 === 1 && status.state !== "completed";
		if (crashes) {
			yield [from, crash, "crash", "transient"];
			yield [crash + 30, crash + 900, "usage_limit", null];
		}
		const start = crashes ? crash + 8_000 : from;
		if (status.state !== "halted") {
			yield [start, ...(ended === undefined ? ([null, null, null] as const) : lastExit())];
			return;
		}
		// Crashes a few seconds apart, then it is halted.
		for (let n = 6; n >= 0; n--) {
			const began = n === 6 ? start : end - n * 40 - 5;
			yield [began, end - n * 40, "crash", n > 3 ? "transient" : "flapping"];
		}
	}

	function lastExit(): readonly [number, PastRun[2], PastRun[3]] {
		return [end, ended?.[0] ?? null, ended?.[1] ?? null];
	}
}

const at = (h: number, m: number, s: number) =>
	new Date(Date.UTC(2026, 5, 15, h, m, s)).toISOString();

const ACTIONS: Readonly<Record<string, string>> = { usage_limit: "park", requested: "none" };

/** The night of shop:coder: a usage limit, out of memory, then two crashes. */
export const RUNS: readonly RunJson[] = [
	run(43, at(3, 12, 58), null, null, null),
	run(
		42,
		at(3, 12, 47),
		at(3, 12, 56),
		["crash", "exit code 1: lock file held by process 48211"],
		2_000,
	),
	run(
		41,
		at(3, 12, 34),
		at(3, 12, 45),
		["crash", "exit code 1: lock file held by process 48211"],
		2_000,
	),
	run(
		40,
		at(0, 0, 12),
		at(3, 12, 4),
		["out_of_memory", "out of memory: over its limit of 2 GB"],
		30_000,
	),
	run(39, at(-7, 6, 20), at(-3, 52, 4), ["usage_limit", "usage limit of account work"], 7_688_000),
	run(
		38,
		at(-15, 14, 2),
		at(-7, 6, 20),
		["requested", "reload: args changed, by token laptop"],
		null,
	),
];

function run(
	number: number,
	started: string,
	ended: string | null,
	exit: readonly [cause: string, reason: string] | null,
	delay: number | null,
): RunJson {
	const uptime = ended === null ? null : Date.parse(ended) - Date.parse(started);
	const cause = exit?.[0] ?? "";
	return {
		...{ number, run_id: `run-${number}`, started_at: started, ended_at: ended, uptime_ms: uptime },
		exit:
			exit === null || ended === null
				? null
				: {
						...{ code: cause === "crash" ? 1 : null, signal: null, cause, at: ended },
						...{ class: cause === "crash" ? "transient" : null, uptime_ms: uptime ?? 0 },
						reason: exit[1],
					},
		decision:
			exit === null
				? null
				: {
						action: ACTIONS[cause] ?? "restart",
						...{ delay_ms: delay, reason: cause === "requested" ? "" : "same conversation" },
					},
	} as RunJson;
}

/** The same as a history: its first run began before the window. */
function nightRuns(): readonly PastRun[] {
	const second = (time: string) => Date.parse(time) / 1_000;
	return RUNS.toReversed().map(
		({ started_at: started, ended_at: ended, exit }): PastRun => [
			Math.max(second(started ?? ""), NOW_MS / 1_000 - 86_400),
			ended === null ? null : second(ended),
			exit?.cause ?? null,
			exit?.cause === "crash" ? "transient" : null,
		],
	);
}

/** Many agents: projects of different sizes, most of them healthy. */
export function largeFleet(count: number): readonly AgentJson[] {
	const projects = "billing checkout search data-eu mobile infra docs auth cart mail web ads".split(
		" ",
	);
	const names = "coder tests review docs types refactor triage bench i18n deps flaky perf".split(
		" ",
	);
	return Array.from({ length: count }, (_, index) => {
		const project = projects[index % projects.length] ?? "p";
		const round = Math.floor(index / projects.length);
		const id = `${project}:${names[round % names.length]}-${String(Math.floor(round / names.length) + 1).padStart(2, "0")}`;
		const usage = {
			usd: index % 5 === 0 ? null : (index % 90) / 10,
			tokens: 10_000 * (index % 400),
		};
		const common = { memory: 200 + (index % 450), cpu: index % 60, ...usage };
		if (index % 55 === 0) {
			const why = "Cannot find module '../config/env.js'";
			return fixtureAgent(id, { state: "halted", why, sinceMs: 38 * MINUTE, ...usage });
		}
		if (index % 71 === 3) {
			const question = {
				...PERMISSION,
				id: `q-${index}`,
				title: "",
				detail: "git push origin agent/*",
			};
			return fixtureAgent(id, {
				state: "asks_permission",
				why: "Bash: git push",
				sinceMs: 14 * MINUTE,
				question,
				...common,
			});
		}
		if (index % 8 === 5)
			return fixtureAgent(id, {
				state: "limited",
				why: "Account work: 5-hour limit reached",
				sinceMs: HOUR,
				until: inMs(72 * MINUTE),
				...common,
			});
		if (index % 3 === 0)
			return fixtureAgent(id, {
				state: "ready",
				why: "Waits for a message.",
				sinceMs: (index % 50) * MINUTE,
				...common,
			});
		if (index % 17 === 1)
			return fixtureAgent(id, {
				state: "stopped",
				why: "stopped by the operator",
				sinceMs: 8 * HOUR,
				...usage,
			});
		return fixtureAgent(id, {
			state: "working",
			why: "Edits src/prices/round.ts",
			sinceMs: (index % 9) * MINUTE,
			source: "hook",
			...common,
		});
	});
}

/** Every problem at once, with long texts. */
export function troubledFleet(): readonly AgentJson[] {
	const long = "Should the migration keep both columns? ".repeat(50);
	const name = `ops:${"very-long-name-".repeat(4)}x`.slice(0, 64);
	const states = [
		"halted",
		"asks_permission",
		"asks_you",
		"ended",
		"over_budget",
		"stalled",
		"circuit_open",
		"login_lost",
	] as const;
	const many = Array.from({ length: 36 }, (_, index) => {
		const state = states[index % states.length] ?? "halted";
		const question =
			state === "asks_permission"
				? { ...PERMISSION, id: `p-${index}`, detail: `rm -rf build-${index}` }
				: state === "asks_you"
					? { ...TEXT_QUESTION, id: `t-${index}`, text: index === 2 ? long : `Question ${index}?` }
					: state === "ended"
						? { ...EXIT_QUESTION, id: `e-${index}` }
						: null;
		const more = state === "circuit_open" ? { circuit_open_until: inMs(41_000) } : {};
		const why =
			state === "over_budget" ? "$12,345.67 of $12,000.00 today" : `reason ${index} of this state`;
		return fixtureAgent(index === 2 ? name : `p${index % 4}:agent-${index}`, {
			...{ state, why, question, more, sinceMs: index * MINUTE },
			...{ usd: index === 0 ? 12_345.67 : 1, tokens: 1e6, memory: 300 },
		});
	});
	return many;
}
