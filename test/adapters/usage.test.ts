/** The recorded usage of each agent CLI, and how its adapter parses it. */

import {
	appendFileSync,
	copyFileSync,
	mkdirSync,
	readFileSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { reportsTokens } from "../../src/config/known-adapters.js";
import { ADAPTERS } from "../../src/core/states.js";
import {
	addUsage,
	countReading,
	NO_USAGE,
	type Usage,
	type UsageCursor,
} from "../../src/core/usage.js";
import type { NewUsage } from "../../src/engine/runs/session-world.js";
import type { UsageSource } from "../../src/ports/adapter.js";
import { adapterOf } from "../../src/sessions/adapters.js";
import { headlessFor } from "../../src/sessions/headless.js";
import { readUsage } from "../../src/sessions/usage-files.js";
import { temporaryFolder } from "../support/reeve.js";

const RECORDS = resolve("test/fixtures/records");
const STREAMS = resolve("test/fixtures/streams");

function sourceOf(adapter: string): UsageSource {
	const { usage } = adapterOf({ adapter, profile: null });
	if (usage === undefined) throw new Error(`${adapter} reports nothing`);
	return usage;
}

/** The sum of the lines of a record. */
function sumOf(cli: string, lines: readonly string[]): Usage {
	let seen: UsageCursor["seen"] = [];
	let sum = NO_USAGE;
	for (const line of lines.filter((each) => each !== "")) {
		const reading = sourceOf(cli).read(JSON.parse(line));
		if (reading === null) continue;
		const counted = countReading(seen, reading);
		({ seen } = counted);
		sum = addUsage(sum, counted.added);
	}
	return sum;
}

const linesOf = (cli: string) => readFileSync(join(RECORDS, `${cli}.jsonl`), "utf8").split("\n");

/** Two answers each, with a tool between them; of opencode one, as its plugin wrote it. */
const RECORDED: readonly (readonly [string, Partial<Usage>])[] = [
	["claude", { input: 23_151, output: 7, costUsd: 0.09274400000000001 }],
	["codex", { input: 19_676, output: 7, costUsd: null }],
	["gemini", { input: 23_195, output: 7, costUsd: null }],
	["opencode", { input: 8_067, output: 7, costUsd: 0 }],
	["pi", { input: 2_882, output: 7, costUsd: 0 }],
];

describe.each(RECORDED)("the record of %s", (cli, usage) => {
	test("reports the usage", () => {
		expect(sumOf(cli, linesOf(cli))).toMatchObject(usage);
	});

	test("reports the same if every line is duplicated", () => {
		const twice = linesOf(cli).flatMap((line) => [line, line]);
		expect(sumOf(cli, twice)).toEqual(sumOf(cli, linesOf(cli)));
	});
});

test.each([
	[
		"claude",
		{
			type: "assistant",
			message: {
				id: "m",
				usage: {
					...{ input_tokens: 1, output_tokens: 2 },
					...{ cache_read_input_tokens: 3, cache_creation_input_tokens: 4 },
				},
			},
		},
	],
	[
		"codex",
		{
			type: "event_msg",
			payload: {
				type: "token_count",
				info: {
					total_token_usage: {
						...{ input_tokens: 8, cached_input_tokens: 3, cache_write_input_tokens: 4 },
						output_tokens: 2,
					},
				},
			},
		},
	],
	[
		"pi",
		{
			id: "m",
			message: { role: "assistant", usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 } },
		},
	],
	[
		"opencode",
		{ id: "m", tokens: { input: 1, output: 1, reasoning: 1, cache: { read: 3, write: 4 } } },
	],
])("%s reports cached tokens separately", (cli, line) => {
	const expected = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
	expect(sourceOf(cli).read(line)).toMatchObject(expected);
});

test.each(["claude", "codex", "gemini", "opencode", "pi"])("%s ignores unexpected lines", (cli) => {
	const odd = [
		...[{}, { type: "assistant" }, { type: "gemini", id: "x", tokens: 3 }, { message: null }],
		{ type: "assistant", message: { id: "x", usage: { input_tokens: "many" } } },
		{ type: "event_msg", payload: { type: "token_count", info: null } },
	];
	for (const line of odd) {
		const reading = sourceOf(cli).read(line);
		if (reading !== null) expect(reading).toMatchObject({ input: 0, output: 0 });
	}
});

test("an adapter reports its tokens if and only if a budget relies on it", () => {
	const reporting = ADAPTERS.filter((adapter) => adapterOf({ adapter, profile: null }).usage);
	expect(reporting).toEqual(ADAPTERS.filter(reportsTokens));
});

describe("a call", () => {
	const usedIn = (adapter: string, name: string, lines?: number) => {
		const whole = readFileSync(join(STREAMS, adapter, `${name}.jsonl`), "utf8");
		const stdout = whole.split("\n").slice(0, lines).join("\n");
		return headlessFor({ adapter })?.used?.(stdout) ?? null;
	};

	test.each([
		["claude", 23_175, 8, 0.09286],
		["codex", 19_699, 8, null],
		["gemini", 24_127, 21, null],
		["opencode", 15_433, 9, 0],
		["pi", 2_891, 8, 0],
	])("to %s reports its usage", (adapter, input, output, costUsd) => {
		const used = { input, output, cacheRead: 0, cacheWrite: 0, costUsd };
		expect(usedIn(adapter, "tool")).toMatchObject(used);
	});

	test.each([
		// Its own total continues from the call before; the other fields do not.
		["claude", 11_587, 0.046468],
		// Only the total of the conversation is reported, by its name.
		["codex", 19_676, null],
		["gemini", 12_463, null],
		["opencode", 7_710, 0],
		["pi", 1_450, 0],
	])(
		"to %s that continues reports the increase, or marks a total as a total",
		(adapter, input, costUsd) => {
			const used = usedIn(adapter, "resumed");
			expect(used).toMatchObject({ input, costUsd: costUsd && expect.closeTo(costUsd, 9) });
			expect(used?.isTotal).toBe(adapter === "codex");
			if (adapter === "codex") expect(used?.key).toBe(usedIn("codex", "ok")?.key);
		},
	);

	test("to claude counts the usage of its subagents, and every result of the stream", () => {
		expect(usedIn("claude", "subagent")).toMatchObject({
			...{ input: 36_931, output: 73, costUsd: expect.closeTo(0.149184, 9) },
		});
	});

	test("that failed also counts its usage", () => {
		expect(usedIn("gemini", "500")).toMatchObject({ input: 853, output: 13 });
		expect(usedIn("claude", "500")?.costUsd).toBe(0);
	});

	test("that was killed halfway counts the usage reported by then", () => {
		const reported = (adapter: string) => {
			const lines = readFileSync(join(STREAMS, adapter, "tool.jsonl"), "utf8").split("\n");
			return usedIn(adapter, "tool", lines.length - 2)?.input;
		};
		expect(reported("claude")).toBe(23_175);
		expect(reported("opencode")).toBe(7_684);
		expect(reported("pi")).toBe(2_891);
		expect(reported("codex")).toBeUndefined();
	});
});

describe("a record that grows", () => {
	const source = sourceOf("claude");
	const from = (path: string, offset: number) => ({ path, offset, seen: [] });
	const place = () => {
		const path = join(temporaryFolder(), "record.jsonl");
		copyFileSync(join(RECORDS, "claude.jsonl"), path);
		return path;
	};

	test("is read from the last position, and only by whole lines", async () => {
		const path = place();
		const first = await readUsage(path, source, null);
		expect(first?.readings.map(({ key }) => key)).toEqual(["msg_mock1", "msg_mock2", "cost"]);
		expect(first?.readings[0]?.atMs).toBe(Date.parse("2026-11-16T04:32:18.296Z"));
		const end = first?.offset ?? 0;
		expect(await readUsage(path, source, from(path, end))).toBeNull();
		const line = '{"type":"assistant","message":{"id":"é","usage":{"output_tokens":3}}}';
		appendFileSync(path, line);
		expect(await readUsage(path, source, from(path, end))).toBeNull();
		appendFileSync(path, "\n");
		const second = await readUsage(path, source, from(path, end));
		expect(second?.readings).toMatchObject([{ key: "é", output: 3, atMs: null }]);
		expect(second?.offset).toBe(end + Buffer.byteLength(line) + 1);
	});

	test("is read again when it became shorter", async () => {
		const path = place();
		const { offset = 0 } = (await readUsage(path, source, null)) ?? {};
		truncateSync(path);
		expect(await readUsage(path, source, from(path, offset))).toBeNull();
		writeFileSync(path, `${linesOf("claude")[1]}\n`);
		expect((await readUsage(path, source, from(path, offset)))?.readings).toHaveLength(1);
	});

	test("is read with those of its subagents, each from its last position", async () => {
		const path = place();
		const folder = path.replace(".jsonl", "/subagents");
		mkdirSync(folder, { recursive: true });
		const line = (id: string) =>
			`${JSON.stringify({ type: "assistant", message: { id, usage: { output_tokens: 3 } } })}\n`;
		writeFileSync(join(folder, "agent-a.jsonl"), line("a1"));
		writeFileSync(join(folder, "agent-b.jsonl"), line("b1"));
		let cursor: UsageCursor | null = null;
		const readAll = async () => {
			const keys: string[] = [];
			for (;;) {
				const added: NewUsage | null = await readUsage(path, source, cursor);
				if (added === null) return keys;
				keys.push(...added.readings.map(({ key }) => key));
				const known: UsageCursor = cursor ?? from(path, 0);
				cursor =
					added.beside === null
						? { ...known, offset: added.offset }
						: { ...known, beside: { ...known.beside, [added.beside]: added.offset } };
			}
		};
		expect(await readAll()).toEqual(["msg_mock1", "msg_mock2", "cost", "a1", "b1"]);
		expect(await readAll()).toEqual([]);
		appendFileSync(join(folder, "agent-a.jsonl"), line("a2"));
		expect(await readAll()).toEqual(["a2"]);
	});
});
