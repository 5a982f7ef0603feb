import { execFileSync } from "node:child_process";
import {
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentAdapter } from "../../src/ports/adapter.js";
import { adapterOf } from "../../src/sessions/adapters.js";
import { createSpoolReader, emptySpool, HOOK_SCRIPT, spoolOf } from "../../src/sessions/spool.js";
import { fill, mountDisk } from "../store/support.js";

let folder: string;
const claude = adapterOf({ adapter: "claude", profile: null });
const codex = adapterOf({ adapter: "codex", profile: null });
const readerAt = () => ({ resetAtMs: () => null });

const readSpool = (adapter: AgentAdapter) => createSpoolReader(folder, adapter).read(readerAt);

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "reeve-spool-"));
	mkdirSync(spoolOf(folder));
	copyFileSync(HOOK_SCRIPT, join(folder, "hook.sh"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function hook(input: string, ...args: string[]): void {
	const env = { PATH: process.env["PATH"], REEVE_SPOOL: spoolOf(folder) };
	execFileSync("sh", [join(folder, "hook.sh"), ...args], { env, input });
}

test("a hook writes a record that is read with its meaning", async () => {
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

test("only the last of frequent events is kept, without its data", async () => {
	for (let n = 0; n < 3; n++) hook('{"tool_input":"large"}', "PreToolUse", "last");
	expect(readdirSync(spoolOf(folder))).toEqual(["PreToolUse.last.json"]);
	expect(await readSpool(claude)).toMatchObject([{ activity: "busy" }]);
});

test("records are read in the order of their time, and incomplete ones are skipped", async () => {
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

describe("on a full disk", () => {
	/** A spool on a small disk of its own, as a start leaves it. */
	async function openFull(sizeKib = 256): Promise<{ free(): void; fill(): void } | string> {
		const disk = mountDisk(sizeKib);
		if (typeof disk === "string") return disk;
		rmSync(folder, { recursive: true });
		folder = join(disk.folder, "agent");
		mkdirSync(folder);
		copyFileSync(HOOK_SCRIPT, join(folder, "hook.sh"));
		await emptySpool(folder);
		const ballast = join(folder, "ballast");
		fill(ballast);
		return { free: () => writeFileSync(ballast, ""), fill: () => fill(ballast) };
	}
	const stop = '{"session_id":"s-1"}';

	test("a report is stored completely, and no temporary file remains", async (context) => {
		const disk = await openFull();
		if (typeof disk === "string") return context.skip(disk);
		hook('{"session_id":"s-1","prompt":"do it"}', "UserPromptSubmit", "each");
		hook("{}", "PostToolUse", "last");
		hook(stop, "Stop", "each");
		expect(await readSpool(claude)).toMatchObject([
			{ name: "UserPromptSubmit", prompt: "do it", conversation: "s-1" },
			{ name: "PostToolUse", activity: "busy" },
			{ name: "Stop", activity: "ready", conversation: "s-1" },
		]);
		const hidden = readdirSync(spoolOf(folder)).filter((name) => !name.endsWith(".json"));
		expect(hidden.sort()).toEqual([".lost", ...[4, 5, 6, 7, 8].map((n) => `.spare.${n}`)]);
	});

	test("a report too large for a spare still counts as its event", async (context) => {
		const disk = await openFull();
		if (typeof disk === "string") return context.skip(disk);
		hook(JSON.stringify({ prompt: "x".repeat(10_000) }), "UserPromptSubmit", "each");
		expect(await readSpool(claude)).toMatchObject([{ name: "UserPromptSubmit", activity: "busy" }]);
	});

	test("a report that cannot be kept makes the activity unknown, until the next one", async (context) => {
		const disk = await openFull();
		if (typeof disk === "string") return context.skip(disk);
		for (let n = 0; n < 8; n++) hook("{}", "UserPromptSubmit", "each");
		hook(stop, "Stop", "each");
		const signs = await readSpool(claude);
		expect(signs).toHaveLength(9);
		expect(signs.at(-1)).toMatchObject({ name: "lost", activity: "unknown" });
		disk.free();
		hook(stop, "Stop", "each");
		expect((await readSpool(claude)).at(-1)).toMatchObject({ name: "Stop", activity: "ready" });
	});

	test("spares are written again when there is space, and a new run forgets lost reports", async (context) => {
		const disk = await openFull();
		if (typeof disk === "string") return context.skip(disk);
		for (let n = 0; n < 9; n++) hook(stop, "Stop", "each");
		disk.free();
		for (let n = 0; n < 8; n++) await readSpool(claude);
		disk.fill();
		hook(stop, "Stop", "each");
		expect((await readSpool(claude)).at(-1)).toMatchObject({ name: "Stop" });
		disk.free();
		await emptySpool(folder);
		expect(await readSpool(claude)).toEqual([]);
	});
});
