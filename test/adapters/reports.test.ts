/** The reports of Reeve's own plugin and extension, from events recorded with the real CLIs. */

import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { KnownActivity } from "../../src/core/activity.js";
import { lastTurn } from "../../src/core/last-turn.js";
import { adapterOf } from "../../src/sessions/adapters.js";
import { createSpoolReader, spoolOf } from "../../src/sessions/spool.js";

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "reeve-reports-"));
	mkdirSync(spoolOf(folder));
	vi.stubEnv("REEVE_SPOOL", spoolOf(folder));
});
afterEach(() => {
	vi.unstubAllEnvs();
	rmSync(folder, { recursive: true, force: true });
});

/** Loads a fresh copy of the program that an adapter gives its CLI. */
async function load(adapter: string): Promise<Record<string, unknown>> {
	const [program] = adapterOf({ adapter, profile: null }).programs ?? [];
	if (program === undefined) throw new Error(`${adapter} has no program`);
	const path = join(folder, program.name);
	copyFileSync(program.source, path);
	return import(/* @vite-ignore */ path);
}

async function signs(adapter: string) {
	const reader = createSpoolReader(folder, adapterOf({ adapter, profile: null }));
	return reader.read(() => ({ resetAtMs: () => null }));
}
const last = async (adapter: string) => (await signs(adapter)).at(-1);

type Hook = (input: object, output: object) => Promise<void>;

it("leaves npm's own settings to the tools of opencode, which uses others for the install before plugins", async () => {
	const { env } = adapterOf({ adapter: "opencode", profile: null }).profile;
	const ours = Object.entries(env).filter(([name]) => name.startsWith("npm_config_"));
	expect(ours.map(([name]) => name)).toEqual([
		...["npm_config_fetch_retries", "npm_config_fetch_timeout"],
	]);
	for (const [name, value] of ours) vi.stubEnv(name, value ?? "");
	await load("opencode");
	for (const [name] of ours) expect(process.env[name]).toBeUndefined();
});

async function openOpencode() {
	const { Reeve } = (await load("opencode")) as { Reeve: () => Promise<Record<string, Hook>> };
	const hooks = await Reeve();
	const call = (name: string, input: object, output = {}) => hooks[name]?.(input, output);
	const event = (type: string, properties: object) =>
		call("event", { event: { type, properties } });
	let messages = 0;
	return {
		event,
		call,
		status: (status: object) => event("session.status", { sessionID: "s", status }),
		idle: () => event("session.idle", { sessionID: "s" }),
		answered: () =>
			event("message.updated", { sessionID: "s", info: { role: "assistant", finish: "stop" } }),
		async prompt(text: string, sessionID = "s") {
			const id = `m${++messages}`;
			const parts = [
				{ type: "text", text },
				{ type: "text", text: "of a file", synthetic: true },
			];
			await call("chat.message", { sessionID }, { message: { id }, parts });
			await event("message.updated", { sessionID, info: { role: "user", id } });
			await event("message.updated", { sessionID, info: { role: "user", id, summary: {} } });
		},
	};
}

it("writes a report that could not be written later, with the time of its event", async () => {
	const { prompt, status } = await openOpencode();
	const away = `${spoolOf(folder)}-away`;
	renameSync(spoolOf(folder), away);
	await prompt("one");
	const beforeMs = Date.now();
	renameSync(away, spoolOf(folder));
	expect(await signs("opencode")).toEqual([]);
	await expect.poll(async () => (await signs("opencode")).length).toBe(1);
	const [sign] = await signs("opencode");
	expect(sign).toMatchObject({ prompt: "one" });
	expect(sign?.atMs).toBeLessThanOrEqual(beforeMs + 1);
	// The next report takes earlier ones with it.
	renameSync(spoolOf(folder), away);
	await prompt("two");
	renameSync(away, spoolOf(folder));
	await status({ type: "busy" });
	expect((await signs("opencode")).slice(1)).toMatchObject([
		{ prompt: "two" },
		{ activity: "busy" },
	]);
});

describe("opencode", () => {
	it("reports a prompt once it is stored, and only once", async () => {
		const { call, prompt, status } = await openOpencode();
		const parts = [{ type: "text", text: "hello" }];
		await call("chat.message", { sessionID: "s" }, { message: { id: "m" }, parts });
		expect(await signs("opencode")).toEqual([]);
		await prompt("say\nhello");
		await status({ type: "busy" });
		expect(await signs("opencode")).toMatchObject([
			{ activity: "busy", prompt: "say\nhello", conversation: "s" },
			{ activity: "busy" },
		]);
	});

	it("reports how a turn ended: success, an error, or an interruption", async () => {
		const { prompt, status, idle, answered, event } = await openOpencode();
		await prompt("one");
		await answered();
		// Within one millisecond.
		await status({ type: "busy" });
		await idle();
		expect(await last("opencode")).toMatchObject({ activity: "ready", failure: null });
		await prompt("two");
		const data = { message: "invalid key", statusCode: 401 };
		await event("session.error", { sessionID: "s", error: { name: "APIError", data } });
		await status({ type: "idle" });
		await idle();
		await idle();
		expect(await last("opencode")).toMatchObject({
			...{ activity: "ready", failure: { cause: "auth" }, detail: "401 invalid key" },
		});
		await prompt("three");
		await status({ type: "busy" });
		await idle();
		const broken = await last("opencode");
		expect(broken).toMatchObject({ activity: "ready" });
		expect(broken).not.toHaveProperty("failure");
	});

	it.each([
		[{ message: "oh no", statusCode: 500 }, "overloaded"],
		[{ message: "Overloaded", statusCode: 529 }, "overloaded"],
		[{ message: "usage limit reached", statusCode: 429 }, "usage_limit"],
		[{ message: "Cannot connect to API: The socket connection was closed" }, "overloaded"],
		[{ message: "Connection reset by server" }, "overloaded"],
	])("reports why it failed: %j", async (data, cause) => {
		const { prompt, idle, event } = await openOpencode();
		await prompt("one");
		await event("session.error", { sessionID: "s", error: { name: "APIError", data } });
		await idle();
		expect(await last("opencode")).toMatchObject({ failure: { cause } });
	});

	it("keeps each failed turn, so that the attempts to continue can be counted", async () => {
		const { prompt, idle, event } = await openOpencode();
		const error = { name: "APIError", data: { message: "oh no", statusCode: 500 } };
		for (const text of ["one", "two"]) {
			await prompt(text);
			await event("session.error", { sessionID: "s", error });
			await idle();
		}
		const failed = (await signs("opencode")).filter(({ failure }) => failure != null);
		expect(failed).toHaveLength(2);
		await prompt("three");
		await event("message.updated", {
			...{ sessionID: "s", info: { role: "assistant", finish: "stop" } },
		});
		await idle();
		expect(await last("opencode")).toMatchObject({ activity: "ready", failure: null });
	});

	it("shows that it tries again, and waits for a limit that lasts", async () => {
		const { status } = await openOpencode();
		const soon = { type: "retry", attempt: 2, message: "usage limit reached" };
		await status({ ...soon, next: Date.now() + 4_000 });
		expect(await last("opencode")).toMatchObject({
			...{ activity: "busy", detail: "usage limit reached" },
			attempt: { cause: "usage_limit", count: 1 },
		});
		await status({ ...soon, message: "503", next: Date.now() + 8_000 });
		expect((await last("opencode"))?.attempt).toMatchObject({ cause: "overloaded", count: 2 });
		const next = Date.now() + 86_400_000;
		await status({ ...soon, next });
		const failure = { cause: "usage_limit", resetAtMs: next };
		expect(await last("opencode")).toMatchObject({ activity: "rate_limited", failure });
	});

	const completed = (id: string, more = {}) => ({
		...{ sessionID: "s" },
		info: { role: "assistant", id, time: { completed: 1 }, tokens: { output: 0 }, ...more },
	});

	it("reports that the service keeps returning empty responses", async () => {
		const { prompt, event, idle } = await openOpencode();
		await prompt("one");
		for (const id of ["a", "a", "b", "c"]) {
			await event("message.updated", completed(id, { finish: "unknown" }));
		}
		expect(await last("opencode")).toMatchObject({
			...{ activity: "busy", attempt: { cause: "unknown", count: 3 } },
			detail: expect.stringContaining("empty response"),
		});
		await idle();
		expect(await last("opencode")).toMatchObject({ failure: { cause: "unknown" } });
	});

	it("recognises an answer with or without a token count", async () => {
		const { prompt, event, idle } = await openOpencode();
		await prompt("one");
		await event("message.part.updated", { part: { type: "text", text: "hi", messageID: "a" } });
		await event("message.updated", completed("a", { finish: "stop" }));
		await idle();
		expect(await last("opencode")).toMatchObject({ activity: "ready", failure: null });
	});

	const TOO_LONG = { name: "ContextOverflowError", data: { message: "too long" } };

	it("reports a conversation that is too long, also while it compacts repeatedly", async () => {
		const { prompt, event } = await openOpencode();
		await prompt("one");
		for (const id of ["a", "b"]) {
			await event("session.error", { sessionID: "s", error: TOO_LONG });
			await event("message.updated", completed(id));
			await event("message.updated", completed(`${id}-summary`, { summary: true }));
		}
		expect(await last("opencode")).toMatchObject({
			...{ activity: "busy", attempt: { cause: "context_full", count: 2 } },
		});
	});

	it("forgets an error that a shorter conversation has overcome", async () => {
		const { prompt, event, idle } = await openOpencode();
		await prompt("one");
		await event("session.error", { sessionID: "s", error: TOO_LONG });
		await event("message.part.delta", { sessionID: "s", messageID: "b", delta: "hi" });
		await event("message.updated", completed("b", { finish: "stop" }));
		await idle();
		expect(await last("opencode")).toMatchObject({ activity: "ready", failure: null });
	});

	it("reports whether a tool is running, also while another has finished", async () => {
		const { call, idle } = await openOpencode();
		const tool = (when: "before" | "after", callID: string) =>
			call(`tool.execute.${when}`, { sessionID: "s", callID });
		await tool("before", "a");
		await tool("before", "b");
		await tool("after", "a");
		expect(await last("opencode")).toMatchObject({ activity: "busy", inTool: true });
		await tool("after", "b");
		expect(await last("opencode")).toMatchObject({ inTool: false });
		await tool("before", "c");
		await idle();
		expect(await last("opencode")).toMatchObject({ activity: "ready", inTool: false });
	});

	it("does not report a subagent's turn as its own", async () => {
		const { prompt, event } = await openOpencode();
		await prompt("one");
		await event("session.created", { sessionID: "t", info: { id: "t", parentID: "s" } });
		await prompt("for the subagent", "t");
		await event("session.idle", { sessionID: "t" });
		expect(await signs("opencode")).toMatchObject([{ activity: "busy", prompt: "one" }]);
	});
});

type Handler = (event: object) => void;

const READY: KnownActivity = {
	...{ activity: "ready", source: "hook", atMs: 0, failure: null, failedTurn: null, detail: null },
};

async function openPi() {
	const { default: extend } = (await load("pi")) as { default: (pi: object) => void };
	const handlers = new Map<string, Handler>();
	extend({ on: (name: string, handler: Handler) => handlers.set(name, handler) });
	return (name: string, event = {}) => handlers.get(name)?.(event);
}

/** It reports an error once its screen shows whether it tries again. */
const LATER = { timeout: 10_000 };

describe("pi", () => {
	it("reports prompts and how a turn ended", async () => {
		const emit = await openPi();
		emit("session_start");
		expect(await last("pi")).toMatchObject({ activity: "ready" });
		emit("input", { text: "say\nhello" });
		emit("agent_start");
		expect(await signs("pi")).toMatchObject([
			{ activity: "ready" },
			{ activity: "busy", prompt: "say\nhello" },
			{ activity: "busy" },
		]);
		const answer = { role: "assistant", stopReason: "stop", content: [{ type: "text" }] };
		emit("agent_end", { messages: [{ role: "user" }, answer] });
		expect(await last("pi")).toMatchObject({ activity: "ready", failure: null });
	});

	it("reports an empty answer", async () => {
		const emit = await openPi();
		const answer = { role: "assistant", stopReason: "stop", content: [], usage: { output: 0 } };
		emit("agent_end", { messages: [{ role: "user" }, answer] });
		expect(await last("pi")).toMatchObject({
			...{ activity: "ready", failure: { cause: "unknown" } },
			detail: expect.stringContaining("empty response"),
		});
		emit("agent_end", { messages: [{ ...answer, usage: { output: 2 } }] });
		expect(await last("pi")).toMatchObject({ activity: "ready", failure: null });
	});

	it.each([
		["anthropic-messages", "refused"],
		["google-generative-ai", "unknown"],
	])(
		"distinguishes a refusal from an unknown error where its API allows that: %s",
		async (api, cause) => {
			const emit = await openPi();
			const errorMessage = "An unknown error occurred";
			const answer = { role: "assistant", stopReason: "error", errorMessage, api };
			emit("agent_end", { messages: [answer] });
			await vi.waitFor(
				async () =>
					expect(await last("pi")).toMatchObject({ failure: { cause }, detail: errorMessage }),
				LATER,
			);
		},
	);

	it.each([
		['401 {"type":"error","error":{"type":"authentication_error","message":"no"}}', "auth"],
		['429 {"type":"error","error":{"type":"rate_limit_error"}}', "usage_limit"],
		['529 {"type":"error","error":{"type":"overloaded_error"}}', "overloaded"],
		['500 {"type":"error","error":{"type":"api_error","message":"oh no"}}', "overloaded"],
		["terminated", "overloaded"],
	])("reports why it failed: %s", async (errorMessage, cause) => {
		const emit = await openPi();
		emit("agent_end", { messages: [{ role: "assistant", stopReason: "error", errorMessage }] });
		await vi.waitFor(
			async () =>
				expect(await last("pi")).toMatchObject({
					...{ activity: "ready", failure: { cause }, detail: errorMessage },
				}),
			LATER,
		);
	});

	it("keeps each failure, so that retries are counted and a success after a limit is known", async () => {
		const tell = await openPi();
		const errorMessage = '429 {"type":"error","error":{"type":"rate_limit_error"}}';
		tell("input", { text: "go" });
		for (const count of [1, 2]) {
			tell("agent_start");
			tell("agent_end", { messages: [{ role: "assistant", stopReason: "error", errorMessage }] });
			const limits = async () =>
				(await signs("pi")).filter(({ failure }) => failure?.cause === "usage_limit").length;
			await vi.waitFor(async () => expect(await limits()).toBe(count), LATER);
		}
		tell("agent_start");
		const answer = { role: "assistant", stopReason: "stop", content: [{ type: "text" }] };
		tell("agent_end", { messages: [answer] });
		expect(lastTurn(await signs("pi"), READY, () => null)).toMatchObject({
			...{ limit: null, afterLimit: true },
		});
	});

	it("reports no failure of a turn that it has begun again", async () => {
		const emit = await openPi();
		const answer = { role: "assistant", stopReason: "error", errorMessage: "529" };
		emit("agent_end", { messages: [answer] });
		emit("agent_start");
		await new Promise((resolve) => setTimeout(resolve, 900));
		expect(await signs("pi")).toMatchObject([{ activity: "busy" }]);
	});

	it("reports whether a tool is running, until its turn is aborted", async () => {
		const emit = await openPi();
		emit("tool_execution_start", { toolCallId: "a" });
		emit("tool_execution_start", { toolCallId: "b" });
		emit("tool_execution_end", { toolCallId: "a" });
		expect(await last("pi")).toMatchObject({ activity: "busy", inTool: true });
		emit("agent_end", { messages: [{ role: "assistant", stopReason: "aborted" }] });
		const aborted = await last("pi");
		expect(aborted).toMatchObject({ activity: "ready", inTool: false });
		expect(aborted).not.toHaveProperty("failure");
	});
});
