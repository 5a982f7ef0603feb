import { describe, expect, test } from "vitest";
import type { ReeveEvent } from "./events.js";
import {
	decideRoute,
	NOTICE_KINDS,
	type Notice,
	type NoticeRoute,
	noticeOf,
	REPEAT_MS,
	topicOf,
	withCount,
} from "./notice.js";

const event = (type: string, data: object, agent: string | null = "web:coder") =>
	({
		seq: 7,
		at: "2031-04-05T06:07:08.000Z",
		type,
		data,
		...(agent !== null && { agent }),
	}) as unknown as ReeveEvent;

const EXIT = { code: 1, signal: null, kind: "failed", class: null, uptime_ms: 1 };
const MOVED = { from: "in_progress", attempt: 3, error: null, duration_ms: 1, reason: "why" };

/** Sets the clipboard and the title, clears the screen, reverses the text and hides a part of it. */
const HOSTILE =
	"x\u001b]52;c;Y3VybA==\u0007\u001b]0;owned\u001b\\\u001b[2J\u009b31m\r\u202eevil\u200b\u0008\nsecond";

test("a question is reported with its choices, how to answer, and a link to its agent", () => {
	const choices = ["Yes", "No"];
	const text = "Bash: npm run db:migrate";
	const data = { detail: null, question: "q1", kind: "permission", text, choices };
	expect(noticeOf(event("agent.asks", data))).toMatchObject({
		title: "web:coder asks permission",
		text: `${text}\n1. Yes\n2. No\nAnswer with \`reeve answer web:coder NUMBER\`.`,
		needs_you: true,
		link: "/#/agents/web:coder",
		question: { id: "q1", choices },
	});
});

test("a finished turn is reported with the first sentence of its answer", () => {
	expect(noticeOf(event("agent.turn_finished", { text: "All done." }))).toMatchObject({
		kind: "finished",
		title: "web:coder finished",
		text: "All done.",
		needs_you: false,
	});
	expect(noticeOf(event("agent.turn_finished", { text: null }))?.text).toBe(
		"It waits for a message.",
	);
});

describe("events that cause notifications", () => {
	const reported: readonly [string, ReeveEvent][] = [
		["halted", event("agent.policy_changed", { from: "degraded", to: "halted", reason: "why" })],
		["waiting", event("agent.waiting", { reason: "it ended" })],
		["question", event("agent.asked", { question: "May I?" })],
		["question", event("agent.asks", { detail: null })],
		["finished", event("agent.turn_finished", { text: "All endpoints have types now." })],
		[
			"turn_failed",
			event("agent.turn_failed", { cause: "auth", detail: "401", retry_in_ms: null }),
		],
		[
			"turn_failed",
			event("agent.turn_failed", { cause: "unknown", detail: null, retry_in_ms: null }),
		],
		[
			"retrying",
			event("agent.retrying", { cause: "overloaded", detail: "503", attempts: 3, for_ms: 31_000 }),
		],
		["usage_limit", event("account.limited", { account: "work", until: null, reason: "why" })],
		["budget_low", event("agent.budget_low", { reason: "why", until: "tomorrow" })],
		["over_budget", event("agent.over_budget", { reason: "why", until: "tomorrow" })],
		["stalled", event("agent.stalled", { step: "notice", after_ms: 1 })],
		["start_timeout", event("agent.start_timeout", { after_ms: 1, screen: ["Loading"] })],
		["health", event("agent.unhealthy", { error: "refused", failures: 3, action: "restart" })],
		["health", event("agent.unhealthy", { error: "refused", failures: 3, action: "notify" })],
		["health", event("agent.recovered", { unhealthy_ms: 60_000 })],
		[
			"watch",
			event("agent.watch_loop", { restarts: 5, within_ms: 60_000, files: ["src/own.log"] }),
		],
		["watch", event("agent.watch_incomplete", { reason: "src does not exist" })],
		[
			"schedule_failed",
			event("schedule.failed", { schedule: "p:s", slot: "1", slot_at: "then", reason: "why" }),
		],
		["undelivered", event("inbox.dead", { message: "m", reason: "why" })],
		["dead_letter", event("task.changed", { ...MOVED, to: "dead_lettered" })],
		["circuit_open", event("circuit.changed", { from: "closed", to: "open", reason: "why" })],
		[
			"circuit_closed",
			event("circuit.changed", { from: "half_open", to: "closed", reason: "why" }),
		],
		[
			"service_restarted",
			event("service.ended", { service: "http", action: "restart", reason: "why" }, null),
		],
		["remote_lost", event("remote.lost", { remote: "box", reason: "why" }, null)],
	];

	test.each(reported)("%s", (kind, about) => {
		const notice = noticeOf(about);
		expect(notice).toMatchObject({ kind, agent: about.agent ?? null, seq: 7 });
		expect(notice?.title).not.toBe("");
		expect(notice?.text).not.toBe("");
	});

	test("is every kind that there is", () => {
		expect([...new Set(reported.map(([kind]) => kind))]).toEqual([...NOTICE_KINDS]);
	});

	test.each([
		[
			"agent.asks",
			{ detail: "Permission to run rm" },
			"Permission to run rm\nRun `reeve attach web:coder`",
		],
		["agent.asks", { detail: null }, "Run `reeve attach web:coder` to see it."],
		["agent.asked", { question: "May I?" }, "May I?\nAnswer with `reeve reply web:coder ANSWER`."],
		[
			"account.limited",
			{ account: "work", until: "2031-04-05T09:00:00.000Z", reason: "usage limit" },
			"usage limit; until 2031-04-05T09:00:00.000Z",
		],
	])("contains the next step or the end time: %s %o", (type, data, text) => {
		expect(noticeOf(event(type, data))?.text).toContain(text);
	});

	test.each(reported)("has nothing in it that acts on a terminal or misleads: %s", (_, about) => {
		const data = Object.fromEntries(
			Object.entries(about.data).map(([key, value]) => {
				// Names of states decide what is reported; any other text may come from an agent.
				const isText = typeof value === "string" && !["from", "to", "step", "action"].includes(key);
				return [key, isText ? HOSTILE : value];
			}),
		);
		const notice = noticeOf({ ...about, data } as unknown as ReeveEvent);
		const shown = `${notice?.title}\n${notice?.text}`;
		expect(notice).not.toBeNull();
		// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
		expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e]/u);
		expect(shown).not.toContain("Y3VybA==");
		expect(notice?.title).not.toContain("\n");
	});

	test("has the same topic as others of its kind about its agent", () => {
		const topic = (about: ReeveEvent, task: string) => {
			const notice = noticeOf({ ...about, task } as ReeveEvent);
			return notice === null ? null : topicOf(notice);
		};
		const letter = event("task.changed", { ...MOVED, to: "dead_lettered" });
		const stall = event("agent.stalled", { step: "notice", after_ms: 1 });
		expect(topic(letter, "t1")).toBe(topic(letter, "t2"));
		expect(topic(letter, "t1")).not.toBe(topic(stall, "t1"));
	});

	test("reports how many events it represents", () => {
		const notice = noticeOf(event("agent.stalled", { step: "notice", after_ms: 1 }));
		if (notice === null) throw new Error("there is a notice");
		expect(withCount(notice)).toBe(notice);
		expect(withCount({ ...notice, more: 1 }).text).toContain(
			"1 earlier notice of this kind about web:coder not sent",
		);
		expect(withCount({ ...notice, agent: null, more: 7 }).text).toContain(
			"7 earlier notices of this kind not sent",
		);
	});

	test("is sent once when a circuit opens and once when it closes, regardless of its probes", () => {
		const states = ["closed", "open", "half_open", "open", "half_open", "open", "half_open"];
		const kinds = [...states, "closed"].slice(1).map((to, index) => {
			const about = event("circuit.changed", { from: states[index], to, reason: "why" });
			return noticeOf(about)?.kind ?? null;
		});
		expect(kinds.filter((kind) => kind !== null)).toEqual(["circuit_open", "circuit_closed"]);
	});

	test("is one notice for all tasks that could not be tried", () => {
		const untried = { ...MOVED, to: "dead_lettered", error: null, code: "agent_unavailable" };
		const topics = ["t1", "t2"].map((task) => {
			const notice = noticeOf({ ...event("task.changed", untried), task } as ReeveEvent);
			return notice === null ? null : topicOf(notice);
		});
		expect(topics[0]).toBe(topics[1]);
		expect(topics[0]).not.toBeNull();
	});

	test("is no successful event", () => {
		const quiet = [
			event("agent.policy_changed", { from: "halted", to: "healthy", reason: "" }),
			event("agent.exited", { ...EXIT, cause: "usage_limit" }),
			event("task.changed", { ...MOVED, to: "succeeded" }),
			event("circuit.changed", { from: "open", to: "half_open", reason: "" }),
			event("service.ended", { service: "http", action: "fatal", reason: "" }, null),
			event("agent.turn_failed", { cause: "overloaded", detail: null, retry_in_ms: 15_000 }),
			event("agent.turn_failed", { cause: "usage_limit", detail: null, retry_in_ms: null }),
			event("agent.started", { pid: 1, with_continue: false }),
			event("agent.waiting", { reason: "no agent" }, null),
		];
		// Waiting causes a notification even if it concerns no agent.
		const kinds = quiet.map(noticeOf).flatMap((notice) => notice?.kind ?? []);
		expect(kinds).toEqual(["waiting"]);
	});
});

describe("a route", () => {
	const all: NoticeRoute = { name: "phone", kinds: null, agents: null, quiet: null };
	const notice = noticeOf(event("agent.waiting", { reason: "it ended" }));
	if (notice === null) throw new Error("there is a notice");
	const noon = { minuteOfDay: 720, lastSentAgoMs: null };

	test("gets the notices of its kinds, agents and projects", () => {
		expect(decideRoute(all, notice, noon)).toBe("send");
		expect(decideRoute({ ...all, kinds: ["halted"] }, notice, noon)).toBe("not_meant");
		expect(decideRoute({ ...all, agents: ["web"] }, notice, noon)).toBe("send");
		expect(decideRoute({ ...all, agents: ["web:coder"] }, notice, noon)).toBe("send");
		expect(decideRoute({ ...all, agents: ["we", "web:other"] }, notice, noon)).toBe("not_meant");
		expect(decideRoute({ ...all, agents: ["web"] }, { ...notice, agent: null }, noon)).toBe(
			"not_meant",
		);
	});

	test("accepts groups of kinds", () => {
		const about = (type: string, data: object) => noticeOf(event(type, data)) as Notice;
		const low = about("agent.budget_low", { reason: "80 of 100 tokens", until: "" });
		const over = about("agent.over_budget", { reason: "100 of 100 tokens", until: "" });
		const finished = about("agent.turn_finished", { text: null });
		const takes = (kinds: NoticeRoute["kinds"]) =>
			[low, over, finished].map((each) => decideRoute({ ...all, kinds }, each, noon) === "send");
		expect(takes(["budget"])).toEqual([true, true, false]);
		expect(takes(["needs_you"])).toEqual([false, true, false]);
		expect(takes(["budget_low", "finished"])).toEqual([true, false, true]);
	});

	test("gets one notice on a topic within a while, and counts the others", () => {
		const again = (lastSentAgoMs: number) => decideRoute(all, notice, { ...noon, lastSentAgoMs });
		expect([again(0), again(REPEAT_MS - 1), again(REPEAT_MS)]).toEqual([
			...["count", "count", "send"],
		]);
	});

	test("always learns that a circuit opened or closed, however soon after the last time", () => {
		for (const [from, to] of [
			["closed", "open"],
			["half_open", "closed"],
		]) {
			const circuit = noticeOf(event("circuit.changed", { from, to, reason: "why" }));
			if (circuit === null) throw new Error("there is a notice");
			expect(decideRoute(all, circuit, { ...noon, lastSentAgoMs: 1 })).toBe("send");
		}
	});

	test("has quiet hours, also over midnight", () => {
		const at = (quiet: NoticeRoute["quiet"], minuteOfDay: number) =>
			decideRoute({ ...all, quiet }, notice, { minuteOfDay, lastSentAgoMs: null });
		const day = { fromMinute: 600, toMinute: 660 };
		expect([599, 600, 659, 660].map((minute) => at(day, minute))).toEqual([
			...["send", "quiet", "quiet", "send"],
		]);
		const night = { fromMinute: 1_320, toMinute: 420 };
		expect([1_319, 1_320, 0, 419, 420].map((minute) => at(night, minute))).toEqual([
			...["send", "quiet", "quiet", "quiet", "send"],
		]);
	});
});

test("a limit that was hit on another host is reported by that host", () => {
	const data = { account: "work", until: null, reason: "why", host: "build-2" };
	expect(noticeOf(event("account.limited", data))).toBeNull();
});
