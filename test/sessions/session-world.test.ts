/** Reading a conversation's transcript, with real files. */

import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentSpec } from "../../src/config/spec.js";
import { createSessionWorld } from "../../src/sessions/session-world.js";
import { fleetOf } from "../engine/daemon-world.js";

const ID = "304bea46-2c79-4d2b-be3a-d33a5739c366";
let root: string;
let chats: string;
let spec: AgentSpec;

beforeEach(() => {
	root = mkdtempSync(join(tmpdir(), "reeve-record-"));
	chats = join(root, ".gemini", "tmp", "work", "chats");
	mkdirSync(chats, { recursive: true });
	spec = fleetOf("a: { adapter: gemini, command: [x] }").agents[0] as AgentSpec;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function newDaemon() {
	return createSessionWorld({
		home: { logs: join(root, "logs"), agents: join(root, "agents") },
		environments: { values: async () => ({ HOME: root }) },
		leases: join(root, "leases"),
	} as never);
}

const fileAt = (time: string) => join(chats, `session-2026-11-18T${time}-304bea46.jsonl`);
const line = (record: object) => `${JSON.stringify(record)}\n`;
const prompt = (text: string, at: number) =>
	line({ timestamp: new Date(at).toISOString(), type: "user", content: [{ text }] });
const answer = (id: string) =>
	line({ type: "gemini", id, content: "", tokens: { input: 10, output: 2 } });
/** The file that Gemini begins before it resumes: of the same id, with a later time in its name. */
const begin = (time: string) => writeFileSync(fileAt(time), line({ sessionId: ID, kind: "main" }));

test("the reports of a run that is over contain a transcript that appeared since the last check", async () => {
	const nowMs = Date.now();
	const world = newDaemon();
	expect(await world.signs(spec, ID, nowMs - 1_000)).toEqual([]);
	writeFileSync(fileAt("02-06"), prompt("hello", nowMs));
	const signs = await world.signs(spec, ID, nowMs - 1_000, true);
	expect(signs.map((sign) => sign.prompt)).toEqual(["hello"]);
});

describe("a conversation whose CLI has begun another file of the same id", () => {
	test("has its prompts read by a daemon that finds both", async () => {
		const nowMs = Date.now();
		writeFileSync(fileAt("02-06"), prompt("hello", nowMs));
		begin("02-07");
		const signs = await newDaemon().signs(spec, ID, nowMs - 1_000);
		expect(signs.map((sign) => sign.prompt)).toEqual(["hello"]);
	});

	test("has its prompts read whichever file they are in, also after very many restarts", async () => {
		const nowMs = Date.now();
		writeFileSync(fileAt("02-00"), "");
		for (let minute = 10; minute < 60; minute++) begin(`02-${minute}`);
		appendFileSync(fileAt("02-00"), prompt("first file", nowMs));
		appendFileSync(fileAt("02-59"), prompt("last file", nowMs + 1));
		const signs = await newDaemon().signs(spec, ID, nowMs - 1_000);
		expect(signs.map((sign) => sign.prompt)).toEqual(["first file", "last file"]);
	});

	test("has its usage counted in the file that its turns are in, once", async () => {
		writeFileSync(fileAt("02-06"), answer("a"));
		begin("02-07");
		const world = newDaemon();
		const first = await world.usage(spec, ID, null);
		expect(first?.readings).toMatchObject([{ key: "a" }]);
		const cursor = { path: first?.path ?? "", offset: first?.offset ?? 0 };
		appendFileSync(fileAt("02-06"), answer("b"));
		const more = await newDaemon().usage(spec, ID, cursor as never);
		expect(more?.readings).toMatchObject([{ key: "b" }]);
	});
});

test("the end of a limit is read in the time zone of the agent's own environment", () => {
	const at = Date.parse("2026-11-16T12:00:00Z");
	const read = (agent: string) => {
		const [of] = fleetOf(agent).agents;
		return newDaemon().readReset(of as AgentSpec, "try again at 3:30 PM", at);
	};
	expect(read("a: { adapter: codex, env: { TZ: Asia/Tokyo } }")).toBe(
		Date.parse("2026-11-17T06:30:00Z"),
	);
	expect(read("a: { adapter: codex, env: { TZ: America/Bogota } }")).toBe(
		Date.parse("2026-11-16T20:30:00Z"),
	);
});
