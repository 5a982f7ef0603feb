import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TURN_CAUSES } from "./adapter.js";
import {
	AGENT_STATUS_STATES,
	type AgentStatusState,
	ATTENTION_ORDER,
	decideStatus,
	repeatsState,
	STATUS_ROWS,
	STATUS_STYLES,
	type StatusFacts,
	shortReason,
} from "./agent-status.js";
import { EXIT_CAUSES } from "./exit.js";
import { QUESTION_KINDS } from "./question.js";
import { SIGN_SOURCES } from "./sign.js";
import {
	ACTIVITIES,
	AGENT_KINDS,
	CIRCUIT_STATES,
	POLICY_STATES,
	PROCESS_STATES,
} from "./states.js";

/** A program without a status source, running. */
const RUNNING: StatusFacts = {
	kind: "session",
	desired: "up",
	process: "running",
	policy: "healthy",
	activity: "unknown",
	activitySource: null,
	activityAtMs: null,
	activityDetail: null,
	isAttended: false,
	turnFailure: null,
	lastExit: null,
	hasCompleted: false,
	waiting: false,
	question: null,
	budgetUntilMs: null,
	hold: null,
	nextStartAtMs: null,
	missing: [],
	isAway: false,
	startedAtMs: 100,
	stalledSinceMs: null,
	unhealthySinceMs: null,
	hibernatedSinceMs: null,
	circuit: "closed",
	circuitOpenUntilMs: null,
	lastFailureAtMs: null,
	deadLetters: { count: 0, sinceMs: null },
	callsRunning: 0,
	finished: null,
	undelivered: 0,
	reason: "the agent's own reason",
};

const question = (kind: "permission" | "choice" | "text" | "clean_exit") => ({
	question: { kind, text: `${kind}?`, askedAtMs: 30, source: "hook" as const },
});
const exit = (cause: "auth" | "crash") => ({ lastExit: { cause, atMs: 20 } });
const READY = {
	activity: "ready",
	activitySource: "hook",
	activityAtMs: 40,
	isAttended: true,
} as const;

/** Facts that make each row fit, together with what the status then says. */
const ROWS: Readonly<
	Record<AgentStatusState, { readonly facts: Partial<StatusFacts>; readonly says: object }>
> = {
	login_lost: {
		facts: { policy: "halted", ...exit("auth") },
		says: { needsYou: true, sinceMs: 20, why: RUNNING.reason },
	},
	halted: { facts: { policy: "halted", ...exit("crash") }, says: { needsYou: true, sinceMs: 20 } },
	asks_permission: {
		facts: question("permission"),
		says: { needsYou: true, sinceMs: 30, why: "permission?", source: "hook" },
	},
	asks_you: {
		facts: question("choice"),
		says: { needsYou: true, sinceMs: 30, why: "choice?", source: "hook" },
	},
	ended: { facts: { waiting: true, ...exit("crash") }, says: { needsYou: true, sinceMs: 20 } },
	over_budget: { facts: { budgetUntilMs: 900 }, says: { needsYou: true, untilMs: 900 } },
	stopping: { facts: { process: "stopping" }, says: { needsYou: false } },
	limited: { facts: { hold: { untilMs: 800 } }, says: { needsYou: false, untilMs: 800 } },
	restarting: {
		facts: { process: "stopped", nextStartAtMs: 700 },
		says: { needsYou: false, untilMs: 700 },
	},
	hibernated: {
		facts: { process: "stopped", hibernatedSinceMs: 80 },
		says: { needsYou: false, sinceMs: 80 },
	},
	stopped: { facts: { desired: "down", process: "stopped" }, says: { needsYou: false } },
	waits_for_dependency: {
		facts: { missing: ["p:db"] },
		says: { needsYou: false, why: RUNNING.reason },
	},
	starting: { facts: { process: "starting" }, says: { needsYou: false, sinceMs: 100 } },
	stalled: { facts: { stalledSinceMs: 50 }, says: { needsYou: true, sinceMs: 50 } },
	circuit_open: {
		facts: { circuit: "open", circuitOpenUntilMs: 600 },
		says: { needsYou: true, untilMs: 600 },
	},
	dead_letters: {
		facts: { deadLetters: { count: 3, sinceMs: 60 } },
		says: { needsYou: true, sinceMs: 60, why: "3 tasks failed permanently." },
	},
	degraded: { facts: { policy: "degraded" }, says: { needsYou: false } },
	working: {
		facts: { ...READY, activity: "busy", activityDetail: "runs npm test" },
		says: { needsYou: false, sinceMs: 40, why: "runs npm test", source: "hook" },
	},
	finished: {
		facts: { ...READY, finished: { atMs: 45, text: "All done.", seen: false } },
		says: { needsYou: false, sinceMs: 45, why: "All done." },
	},
	ready: { facts: READY, says: { needsYou: false, sinceMs: 40, why: "Waits for a message." } },
	completed: {
		facts: {
			hasCompleted: true,
			desired: "down",
			process: "stopped",
			lastExit: { cause: "completed", atMs: 20 },
		},
		says: { needsYou: false, sinceMs: 20, why: RUNNING.reason },
	},
	running: { facts: {}, says: { needsYou: false, sinceMs: 100, why: RUNNING.reason } },
	unknown: { facts: { isAttended: true }, says: { needsYou: false } },
};

const TESTED = AGENT_STATUS_STATES;

describe("the table of states", () => {
	test.each(TESTED)("%s, with its reason and times", (state) => {
		const { facts, says } = ROWS[state];
		expect(decideStatus({ ...RUNNING, ...facts })).toMatchObject({ state, ...says });
	});

	const pairs = TESTED.flatMap((first, index) =>
		TESTED.slice(index + 1).map((second) => [first, second] as const),
	);

	test("the earlier of two rows that fit wins", () => {
		let compared = 0;
		for (const [first, second] of pairs) {
			const facts = { ...RUNNING, ...ROWS[second].facts, ...ROWS[first].facts };
			if (!STATUS_ROWS[first].when(facts) || !STATUS_ROWS[second].when(facts)) continue;
			compared += 1;
			const won = AGENT_STATUS_STATES.indexOf(decideStatus(facts).state);
			expect(won).toBeLessThanOrEqual(AGENT_STATUS_STATES.indexOf(first));
		}
		// Rows that exclude each other, such as two states of the process, cannot be compared.
		expect(compared).toBeGreaterThan(pairs.length / 2);
	});

	test("a failed login while it runs", () => {
		const facts = { ...RUNNING, ...READY, turnFailure: "auth" as const };
		expect(decideStatus(facts)).toMatchObject({ state: "login_lost", sinceMs: 40 });
	});

	test("a turn that fails for another reason that needs a person", () => {
		const facts = { ...RUNNING, ...READY, turnFailure: "billing" as const };
		expect(decideStatus(facts)).toMatchObject({ state: "degraded", needsYou: true });
	});

	test("a question that cannot be read", () => {
		const facts = { ...RUNNING, ...READY, activity: "waiting_input" as const };
		expect(decideStatus(facts)).toMatchObject({
			state: "asks_you",
			sinceMs: 40,
			why: "It shows a question on its screen.",
		});
	});

	test("a question of the agent itself", () => {
		expect(decideStatus({ ...RUNNING, ...READY, ...question("text") }).state).toBe("asks_you");
	});

	test("a finished turn that was seen", () => {
		const facts = { ...RUNNING, ...READY, finished: { atMs: 45, text: null, seen: true } };
		expect(decideStatus(facts).state).toBe("ready");
	});

	test("calls in progress, and an agent that runs when it is called", () => {
		const call = { ...RUNNING, kind: "call" as const, process: "stopped" as const };
		expect(decideStatus(call).state).toBe("ready");
		expect(decideStatus({ ...call, callsRunning: 2 })).toMatchObject({
			state: "working",
			why: "2 calls running",
		});
		expect(decideStatus({ ...call, desired: "down" }).state).toBe("stopped");
	});

	test("one call, one dead letter, and work or a finished turn without a text", () => {
		const call = { ...RUNNING, kind: "call" as const, process: "stopped" as const };
		expect(decideStatus({ ...call, callsRunning: 1 }).why).toBe("1 call running");
		const deadLetters = { count: 1, sinceMs: 60 };
		expect(decideStatus({ ...call, deadLetters }).why).toBe("A task failed permanently.");
		expect(decideStatus({ ...RUNNING, ...READY, activity: "busy" }).why).toBe("");
		const finished = { atMs: 45, text: null, seen: false };
		expect(decideStatus({ ...RUNNING, ...READY, finished }).why).toBe(
			"It completed its turn and waits.",
		);
	});

	test("a circuit that lets a test request through, and a limit of a running agent", () => {
		expect(decideStatus({ ...RUNNING, circuit: "half_open" }).state).toBe("degraded");
		expect(decideStatus({ ...RUNNING, unhealthySinceMs: 70 })).toMatchObject({
			state: "degraded",
			sinceMs: 70,
		});
		expect(decideStatus({ ...RUNNING, process: "stopped", unhealthySinceMs: 70 }).state).not.toBe(
			"degraded",
		);
		const limited = { ...RUNNING, ...READY, activity: "rate_limited" as const, nextStartAtMs: 70 };
		expect(decideStatus(limited)).toMatchObject({ state: "limited", sinceMs: 40, untilMs: 70 });
	});

	test("an undelivered message needs a person, whatever the state", () => {
		expect(decideStatus({ ...RUNNING, ...READY, undelivered: 1 })).toMatchObject({
			state: "ready",
			needsYou: true,
		});
	});

	test("every state has a word, a shape and a tone", () => {
		for (const state of AGENT_STATUS_STATES) {
			expect(STATUS_STYLES[state]).toMatchObject({ word: expect.stringMatching(/^[A-Z]/) });
		}
	});
});

const time = fc.option(fc.nat(1_000));

const anyFacts: fc.Arbitrary<StatusFacts> = fc.record({
	kind: fc.constantFrom(...AGENT_KINDS),
	desired: fc.constantFrom("up", "down"),
	process: fc.constantFrom(...PROCESS_STATES),
	policy: fc.constantFrom(...POLICY_STATES),
	activity: fc.constantFrom(...ACTIVITIES),
	activitySource: fc.option(fc.constantFrom(...SIGN_SOURCES)),
	activityAtMs: time,
	activityDetail: fc.option(fc.string()),
	isAttended: fc.boolean(),
	turnFailure: fc.option(fc.constantFrom(...TURN_CAUSES)),
	lastExit: fc.option(fc.record({ cause: fc.constantFrom(...EXIT_CAUSES), atMs: fc.nat() })),
	hasCompleted: fc.boolean(),
	waiting: fc.boolean(),
	question: fc.option(
		fc.record({
			kind: fc.constantFrom(...QUESTION_KINDS),
			text: fc.string(),
			askedAtMs: fc.nat(),
			source: fc.option(fc.constantFrom(...SIGN_SOURCES)),
		}),
	),
	budgetUntilMs: time,
	hold: fc.option(fc.record({ untilMs: time })),
	nextStartAtMs: time,
	missing: fc.array(fc.string(), { maxLength: 2 }),
	isAway: fc.boolean(),
	startedAtMs: time,
	stalledSinceMs: time,
	unhealthySinceMs: time,
	hibernatedSinceMs: time,
	circuit: fc.constantFrom(...CIRCUIT_STATES),
	circuitOpenUntilMs: time,
	lastFailureAtMs: time,
	deadLetters: fc.record({ count: fc.nat(3), sinceMs: time }),
	callsRunning: fc.nat(2),
	finished: fc.option(
		fc.record({ atMs: fc.nat(), text: fc.option(fc.string()), seen: fc.boolean() }),
	),
	undelivered: fc.nat(1),
	reason: fc.string(),
});

test("any combination of facts has exactly one state: the first row that fits", () => {
	fc.assert(
		fc.property(anyFacts, (facts) => {
			const { state, needsYou } = decideStatus(facts);
			const index = AGENT_STATUS_STATES.indexOf(state);
			expect(STATUS_ROWS[state].when(facts)).toBe(true);
			for (const earlier of AGENT_STATUS_STATES.slice(0, index)) {
				expect(STATUS_ROWS[earlier].when(facts)).toBe(false);
			}
			if (facts.undelivered > 0 || facts.policy === "halted") expect(needsYou).toBe(true);
		}),
		{ numRuns: 2_000 },
	);
});

test("the order of attention has every state once, and what needs a person first", () => {
	expect([...ATTENTION_ORDER].sort()).toEqual([...AGENT_STATUS_STATES].sort());
	const needs = ATTENTION_ORDER.map((state) => STATUS_ROWS[state].needsYou === true);
	expect(needs.lastIndexOf(true)).toBeLessThan(needs.indexOf(false));
});

test("a short reason leaves out what a view shows in other ways", () => {
	const cases = [
		["restarting at 2031-04-05T14:29:12.000Z; exit code 1", "exit code 1"],
		["the last 3 calls failed; calls are refused until 2031-04-05", "the last 3 calls failed"],
		["waits until it lifts (2031-04-05T14:29:12.000Z)", "waits until it lifts"],
		["exit code 3 (a config file is missing)", "exit code 3 (a config file is missing)"],
	] as const;
	for (const [why, short] of cases) expect(shortReason(why)).toBe(short);
	expect(repeatsState("running", "running")).toBe(true);
	expect(repeatsState("running", "runs a build")).toBe(false);
});
