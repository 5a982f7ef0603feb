/** An agent that speaks the Agent Client Protocol, as a worker under a real daemon. */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TaskDetailJson } from "../../src/http/contract/tasks.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";

const AGENT = resolve("test/fixtures/acp/does-as-asked.mjs");

let home: FleetHome;
beforeAll(async () => {
	home = createFleetHome();
	const memory = join(home.folder, "memory");
	mkdirSync(memory);
	const command = JSON.stringify([process.execPath, AGENT, memory]);
	const retry = "retry: { max_attempts: 1 }, circuit_breaker: { failure_threshold: 100 }";
	home.writeFleet(
		`gem: { kind: worker, adapter: acp, command: ${command}, timeout: 5m, concurrency: 4, ${retry} }`,
	);
	await home.must("up");
}, 120_000);
afterAll(() => home.close(), 120_000);

async function call(action: string, payload: unknown): Promise<TaskDetailJson> {
	const ran = await home.reeve("call", "p:gem", action, "-p", JSON.stringify(payload), "--json");
	return JSON.parse(ran.stdout) as TaskDetailJson;
}

const ask = (prompt: string, conversation?: string) => call("ask", { prompt, conversation });

const conversationOf = ({ result }: TaskDetailJson) =>
	(result as { conversation: string }).conversation;

async function question(): Promise<string> {
	let found = "";
	await eventually(async () => {
		const questions = JSON.parse(await home.must("reply", "--json")) as { question: string }[];
		found = questions[0]?.question ?? "";
		return found !== "";
	}, "the agent asks");
	return found;
}

describe("an ACP agent", { timeout: 120_000 }, () => {
	test("answers, and continues a conversation, also in another process", async () => {
		const first = await ask("echo one");
		expect(first).toMatchObject({
			...{ status: "succeeded", result: { text: "turn 1: echo one", stop_reason: "end_turn" } },
		});
		const conversation = conversationOf(first);
		expect(await ask("echo two", conversation)).toMatchObject({
			...{ result: { text: "turn 2: echo two", conversation } },
		});
		await home.must("restart", "p:gem");
		// Loading repeats the conversation; only the new answer counts.
		expect(await ask("echo three", conversation)).toMatchObject({
			...{ result: { text: "turn 3: echo three", conversation } },
		});
	});

	test("asks the operator, again after an invalid answer, and follows the answer", async () => {
		const asked = ask("tool");
		expect(await question()).toBe(
			"wants to do this: rm -rf build\nAnswer with one of: 1. Allow, 2. Always allow, 3. Reject",
		);
		await home.must("reply", "p:gem", "perhaps");
		await eventually(
			async () => (await question()).startsWith('"perhaps" is not one of the choices.'),
			"it asks again",
		);
		await home.must("reply", "p:gem", "no");
		expect(await asked).toMatchObject({
			...{ status: "succeeded", result: { text: "the answer was no", tools: ["rm -rf build"] } },
		});
	});

	test("never uses an answer to one question for another", async () => {
		const both = [ask("tool one"), ask("tool two")];
		for (const answer of ["yes", "no"]) {
			await question();
			await home.must("reply", "p:gem", answer);
			await eventually(async () => {
				const ended = await Promise.race([...both, null]);
				return ended !== null || (await home.must("reply", "--json")).includes("rm -rf");
			}, "the next question or the end");
		}
		const texts = (await Promise.all(both)).map(({ result }) => (result as { text: string }).text);
		expect(texts.sort()).toEqual(["the answer was no", "the answer was yes"]);
	});

	test("is cancelled, and its question is withdrawn", async () => {
		const asked = ask("tool");
		await question();
		expect(await call("cancel", {})).toMatchObject({ status: "succeeded" });
		expect(await asked).toMatchObject({ status: "dead_lettered" });
		expect(JSON.parse(await home.must("reply", "--json"))).toEqual([]);
		expect(await call("cancel", {})).toMatchObject({ status: "dead_lettered" });
	});

	test.each([
		["fail", "backend_failure", "the model is on fire"],
		["refuse", "invalid_request", "the model refused"],
		["die", "backend_failure", ""],
	])("that %ss is reported with its cause", async (prompt, kind, words) => {
		const { status, attempts } = await ask(prompt);
		expect([status, attempts[0]?.error?.kind]).toEqual(["dead_lettered", kind]);
		expect(JSON.stringify(attempts)).toContain(words);
	});

	test("reports an unknown conversation", async () => {
		const { attempts } = await ask("echo", "s-0-0");
		expect(attempts[0]?.error).toMatchObject({ kind: "invalid_request" });
		expect(JSON.stringify(attempts)).toContain("cannot resume conversation s-0-0");
	});
});
