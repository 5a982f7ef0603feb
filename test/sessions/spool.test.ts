import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AgentAdapter } from "../../src/ports/adapter.js";
import { adapterOf } from "../../src/sessions/adapters.js";
import { createSpoolReader, HOOK_SCRIPT, spoolOf } from "../../src/sessions/spool.js";

let folder: string;
const claude = adapterOf({ adapter: "claude", profile: null });
const codex = adapterOf({ adapter: "codex", profile: null });
const readerAt = () => ({ resetAtMs: () => null });

const readSpool = (adapter: AgentAdapter) => createSpoolReader(folder, adapter).read(readerAt);

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "reeve-spool-"));
	mkdirSync(spoolOf(folder));
	writeFileSync(join(folder, "hook.sh"), HOOK_SCRIPT);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function hook(input: string, ...args: string[]): void {
	const env = { PATH: process.env["PATH"], REEVE_SPOOL: spoolOf(folder) };
	execFileSync("sh", [join(folder, "hook.sh"), ...args], { env, input });
}

test("a hook leaves a record that is read as what it means", async () => {
	hook('{"session_id":"s-1","prompt":"it\'s \\"quoted\\" & $HOME"}', "UserPromptSubmit", "each");
	expect(await readSpool(claude)).toMatchObject([
		{
			...{ source: "hook", name: "UserPromptSubmit", activity: "busy" },
			...{ conversation: "s-1", prompt: `it's "quoted" & $HOME` },
		},
	]);
});

test("an event may come as an argument", async () => {
	const event = { type: "agent-turn-complete", "thread-id": "t", "input-messages": ["a", "b c"] };
	hook("", "notify", "each", JSON.stringify(event));
	expect(await readSpool(codex)).toMatchObject([
		{ name: "notify", conversation: "t", prompt: "b c" },
	]);
});

test("of events that come often only the last is kept, and nothing of what they say", async () => {
	for (let n = 0; n < 3; n++) hook('{"tool_input":"large"}', "PreToolUse", "last");
	expect(readdirSync(spoolOf(folder))).toEqual(["PreToolUse.last.json"]);
	expect(await readSpool(claude)).toMatchObject([{ activity: "busy" }]);
});

test("records are read in the order of their time, and what is half written is not", async () => {
	const put = (name: string, text: string, seconds: number) => {
		const path = join(spoolOf(folder), name);
		writeFileSync(path, text);
		utimesSync(path, seconds, seconds);
	};
	put("Stop.b.json", "{}", 2_000);
	put("UserPromptSubmit.a.json", '{"prompt":"x"}', 1_000);
	put("StopFailure.c.json", '{"error":', 3_000);
	put(".Stop.beside", '{"half', 4_000);
	const signs = await readSpool(claude);
	expect(signs.map(({ name }) => name)).toEqual(["UserPromptSubmit", "Stop", "StopFailure"]);
});

test("A6: no more than a few hundred records are kept", async () => {
	for (let n = 0; n < 350; n++) writeFileSync(join(spoolOf(folder), `Stop.${n}.json`), "{}");
	expect(await readSpool(claude)).toHaveLength(300);
	expect(readdirSync(spoolOf(folder))).toHaveLength(300);
});
