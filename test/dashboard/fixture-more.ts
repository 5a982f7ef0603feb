/** Answers of the fixture about schedules, remotes, search and output. */

import type { AgentJson } from "../../src/http/contract/agents.js";
import type { SearchMatchJson } from "../../src/http/contract/logs.js";
import type { RemoteJson } from "../../src/http/contract/remotes.js";
import type { ScheduleJson, ScheduleSlotJson } from "../../src/http/contract/schedules.js";
import type { MergedLogJson } from "../../src/http/contract/streams.js";
import { ago, fixtureAgent, inMs } from "./fixture-fleet.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const slot = (id: string, about: Partial<ScheduleSlotJson>): ScheduleSlotJson => ({
	...{ id, slot_at: ago(11 * HOUR), manual: false, status: "succeeded", action: "send" },
	...{ reason: "the message is delivered", decided_at: ago(11 * HOUR), missed: null },
	...{ ended_at: ago(11 * HOUR - 12_000), started: { type: "message", id: "m-7" } },
	...about,
});

/** The history of shop:review, newest first. */
export const SLOTS: readonly ScheduleSlotJson[] = [
	slot("slot-3", {}),
	slot("slot-2", {
		...{ slot_at: ago(83 * HOUR), decided_at: ago(83 * HOUR), ended_at: ago(83 * HOUR) },
		...{ status: "skipped", reason: "shop:coder is halted", started: null },
		missed: { count: 2, until: ago(59 * HOUR) },
	}),
	slot("slot-1", {
		...{ slot_at: ago(107 * HOUR), decided_at: ago(107 * HOUR), ended_at: ago(106.9 * HOUR) },
		...{ status: "failed", reason: "the message could not be delivered: its folder is gone" },
		manual: true,
	}),
];

const schedule = (id: string, about: Partial<ScheduleJson>): ScheduleJson => ({
	...{ id, cron: null, every_ms: null, timezone: "Europe/Berlin", overlap: "skip", jitter_ms: 0 },
	...{ catch_up: "none", fleet_file: "/home/ada/code/shop/reeve.yaml", paused_at: null },
	...{ next_at: null, blocked: null, open: [], last: null },
	action: { type: "restart", agent: "shop:coder" },
	...about,
});

export const SCHEDULES: readonly ScheduleJson[] = [
	schedule("shop:review", {
		...{ cron: "0 3 * * 1-5", next_at: inMs(12.5 * HOUR), last: SLOTS[0] ?? null },
		action: { type: "send", agent: "shop:coder", message: "Review the commits of yesterday." },
	}),
	schedule("api:sync", {
		...{ every_ms: 30 * MINUTE, next_at: inMs(7 * MINUTE), jitter_ms: 120_000, overlap: "queue" },
		action: { type: "call", agent: "api:search", action: "sync", payload: '{"full":false}' },
		last: slot("s-1", { status: "fired", ended_at: null, slot_at: ago(40_000), action: "call" }),
	}),
	schedule("ops:nightly", {
		...{ cron: "0 22 * * *", next_at: inMs(7.5 * HOUR) },
		blocked: "ops:nightly waits for your decision",
		action: { type: "restart", agent: "ops:nightly" },
	}),
	schedule("ops:release", {
		...{ cron: "30 5 * * 0", paused_at: ago(26 * HOUR) },
		action: { type: "plan", file: "/home/ada/ops/release.yaml" },
		last: slot("s-2", { status: "failed", reason: "the plan failed: push", action: "plan" }),
	}),
];

export const REMOTES: readonly RemoteJson[] = [
	{
		...{ name: "box", type: "ssh", address: "ada@box", state: "reachable", since: ago(3 * HOUR) },
		...{ seen_at: ago(1_000), reason: null, version: "0.1.0" },
	},
	{
		...{ name: "attic", type: "ssh", address: "ada@attic", state: "unreachable" },
		...{ since: ago(5 * MINUTE), seen_at: ago(5 * MINUTE), version: null },
		reason: "its daemon does not respond",
	},
];

/** The agents of `box`, as its own daemon names them. */
export const REMOTE_AGENTS: readonly AgentJson[] = [
	fixtureAgent("web:coder", {
		...{ state: "asks_you", sinceMs: 3 * MINUTE, why: "Which colour?", usd: 1.5, tokens: 4e5 },
		memory: 300,
		question: {
			...{ id: "q-9", kind: "text", title: "", text: "Which colour?", detail: null, choices: [] },
			...{ asked_at: ago(3 * MINUTE), source: "api", run_id: null },
		},
		more: { host: "box" },
	}),
	fixtureAgent("web:tests", {
		...{ state: "working", why: "Runs npm test", sinceMs: 30_000, memory: 200, cpu: 20 },
		more: { host: "box" },
	}),
];

/** Agents in the states that come from health checks, hibernation, dependencies and budgets. */
export const QUIET_STATES: readonly AgentJson[] = [
	fixtureAgent("web:migrate", {
		...{ state: "completed", why: "exit code 0 after 41s: completed", sinceMs: 60_000 },
	}),
	fixtureAgent("web:build", {
		...{ state: "waits_for_dependency", why: "waits for web:db; web:db is halted" },
		more: { blocked: "web:db is halted", process: "stopped" },
	}),
	fixtureAgent("web:api", {
		...{ state: "waits_for_dependency", why: "waits for web:db" },
		more: { process: "stopped" },
	}),
	fixtureAgent("web:oncall", {
		...{ state: "hibernated", why: "idle for 45 min; 612 MB freed", sinceMs: 2 * HOUR },
		more: {
			hibernation: {
				...{ state: "hibernated", after_ms: 45 * MINUTE, since: ago(2 * HOUR) },
				...{ idle_ms: 45 * MINUTE, freed_bytes: 612e6, why_awake: null },
			},
		},
	}),
	fixtureAgent("web:waking", {
		...{ state: "starting", why: "a message woke it", sinceMs: 3_000, memory: 90, cpu: 80 },
		more: { process: "starting" },
	}),
	fixtureAgent("web:server", {
		...{ state: "degraded", sinceMs: 4 * MINUTE, adapter: "generic", memory: 140, cpu: 2 },
		why: "unhealthy: 3 checks failed in a row: GET http://127.0.0.1:8080/healthz answered 503; it works, so the restart waits",
		more: {
			health: "unhealthy",
			health_check: {
				...{ state: "unhealthy", at: ago(12_000), consecutive_failures: 3, failures: 3 },
				error: "GET http://127.0.0.1:8080/healthz answered 503",
				...{ unhealthy_since: ago(4 * MINUTE), action: "restart", waits: "it works" },
			},
		},
	}),
	fixtureAgent("web:coder", {
		...{ state: "over_budget", until: inMs(9.5 * HOUR), usd: 20, tokens: 20.1e6 },
		why: "the budget of account work is used up (80 M of 80 M tokens); continues at 2026-06-16T00:00:00Z, or with `reeve resume web:coder`",
		more: {
			usage: {
				...{ tokens_today: 20.1e6, usd_today: 20, tokens_per_day: 2e7, usd_per_day: null },
				held_until: inMs(9.5 * HOUR),
			},
		},
	}),
];

export const MERGED: readonly MergedLogJson[] = [
	{ agent: "shop:coder", next: "a:1", at: ago(9_000), text: "compiled 214 files" },
	{ agent: "shop:tests", next: "b:1", at: ago(8_000), text: "FAIL src/login.test.ts" },
	{
		...{ agent: "api:search", next: "c:1", at: ago(7_000), until: ago(2_000) },
		text: "retrying in 5s <b>not bold</b>",
	},
];

export const MATCHES: readonly SearchMatchJson[] = [
	{
		...{ agent: "shop:coder", kind: "log", text: "FATAL ERROR: JavaScript heap out of memory" },
		...{ before: ["    compiling src/login.ts"], after: ["exit code 134"], at: ago(9 * HOUR) },
		...{ until: null, position: "log:1", file: null, offset: null },
	},
	{
		...{ agent: "shop:reviewer", kind: "transcript", text: "It ran out of memory again." },
		...{ before: [], after: [], at: ago(10 * HOUR), until: null, position: null },
		...{ file: "/home/ada/.codex/sessions/1.jsonl", offset: 81_240 },
	},
];
