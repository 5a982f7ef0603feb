import { expect, test } from "vitest";
import type { Client } from "../client/client.js";
import { ReeveError } from "../core/errors.js";
import type { AgentJson } from "../http/contract/agents.js";
import type { Output } from "./output.js";
import { waitUntilUp } from "./wait-until-up.js";

const LOST = new ReeveError("connection_lost", "the daemon closed the connection");
const NONE = new ReeveError("no_daemon", "no daemon is listening");

const agentOf = (ready: boolean, state = "running") =>
	({
		id: "p:a",
		process: "running",
		ready,
		blocked: null,
		reason: "running",
		status: { state },
	}) as unknown as AgentJson;

/** Waits for one agent, with a daemon that gives these answers and repeats the last one. */
async function wait(timeoutMs: number, ...answers: (AgentJson | ReeveError)[]) {
	const said: string[] = [];
	const output = { note: (line: string) => said.push(line) } as unknown as Output;
	const client = {
		async call() {
			const answer = answers.length > 1 ? answers.shift() : answers[0];
			if (answer instanceof ReeveError) throw answer;
			return { agents: [answer] };
		},
	} as unknown as Client;
	const sinceMs = performance.now();
	const waited = { ids: ["p:a"], finishing: new Set<string>(), sinceMs, timeoutMs };
	const code = await waitUntilUp(waited, client, output, false).catch((error: unknown) => error);
	return { code, said };
}

test("a daemon that is killed meanwhile is waited for, and then its agents", async () => {
	const { code, said } = await wait(
		60_000,
		agentOf(false),
		LOST,
		NONE,
		agentOf(false),
		agentOf(true),
	);
	expect(code).toBe(0);
	expect(said).toEqual([
		expect.stringMatching(/^the daemon closed the connection; reconnecting for up to /),
		expect.stringMatching(/^reconnected after /),
		expect.stringMatching(/^1 agent ready after /),
	]);
});

test("a daemon that stays away fails the command with that reason, and nothing is claimed about agents", async () => {
	const { code, said } = await wait(600, agentOf(false), LOST, NONE);
	expect(code).toBe(NONE);
	expect(said).toHaveLength(1);
});

test("a credential that is no longer valid fails it at once", async () => {
	const refused = new ReeveError("unauthorized", "the token is no longer valid");
	expect(await wait(60_000, agentOf(false), refused)).toEqual({ code: refused, said: [] });
});

test.each(["halted", "over_budget"])("an agent that is %s meanwhile fails it", async (state) => {
	const { code } = await wait(60_000, agentOf(false), agentOf(false, state));
	const message = `p:a is ${state}: running`;
	expect(code).toMatchObject({ code: "wait_failed", message });
});
