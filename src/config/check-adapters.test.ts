import { describe, expect, it } from "vitest";
import type { AdapterProfile } from "../core/adapter.js";
import { described } from "../sessions/adapters.js";
import { diffFleets } from "./diff.js";
import { parseFleet } from "./parse-fleet.js";
import type { FleetSpec } from "./spec.js";

const parse = (adapters: string, agent = "{ adapter: mine }") =>
	parseFleet(
		`version: 1\nadapters:\n${adapters}\nprojects:\n  p:\n    agents:\n      a: ${agent}\n`,
		"reeve.yaml",
		{ env: {}, homeDir: "/", baseDir: "/" },
	);

function problemsOf(adapters: string, agent?: string) {
	const parsed = parse(adapters, agent);
	return parsed.ok ? [] : parsed.problems;
}

function fleetOf(adapters: string): FleetSpec {
	const parsed = parse(adapters);
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.fleet;
}

describe("adapters in the fleet file", () => {
	it("are known to its agents by name", () => {
		const fleet = fleetOf("  mine: { command: [my-agent] }");
		expect(fleet.agents[0]).toMatchObject({
			adapter: "mine",
			command: null,
			profile: { command: ["my-agent"], ownTmpdir: true, conversation: { id: "none" } },
		});
	});

	it("cannot have the name of a built-in one", () => {
		expect(problemsOf("  claude: { command: [x] }", "{ adapter: claude }")).toMatchObject([
			{ line: 3, path: "adapters.claude", message: "`claude` is built in" },
		]);
	});

	it("are suggested where a name is misspelt", () => {
		expect(problemsOf("  mine: { command: [x] }", "{ adapter: mines }")).toMatchObject([
			{ line: 7, message: "unknown adapter `mines`", hint: "did you mean `mine`?" },
		]);
	});

	it.each([
		["  mine: {}", "adapters.mine.command", "required key is missing"],
		["  mine: { command: [x], ready: 1 }", "adapters.mine.ready", "unknown key `ready`"],
		[
			"  mine: { command: [x], conversation: { gone: ['('] } }",
			"adapters.mine.conversation.gone[0]",
			"`(` is not a valid pattern: missing closing ): `(`",
		],
		[
			"  mine: { command: [x], seeds: [{ file: [f], path: [a], value: dark }] }",
			"adapters.mine.seeds[0].value",
			"`dark` is not JSON",
		],
		[
			"  mine: { command: [x], conversation: { id: last } }",
			"adapters.mine.conversation.id",
			"`id: last` needs `resume`: the arguments that resume the last conversation",
		],
		[
			"  mine: { command: [x], conversation: { id: last, resume: [-r, <conversation>] } }",
			"adapters.mine.conversation.resume",
			"`<conversation>` has no value with `id: last`",
		],
		["  mine: { command: [x, <cdw>] }", "adapters.mine.command[1]", "unknown placeholder `<cdw>`"],
		[
			"  mine: { command: [x], seeds: [{ file: [f], path: [a], value: '1', add: '2' }] }",
			"adapters.mine.seeds[0].add",
			"a seed cannot have both `value` and `add`",
		],
		[
			"  mine: { command: [x], files: [{ name: ../x, text: y }] }",
			"adapters.mine.files[0].name",
			"`../x` is not a valid file name",
		],
		[
			"  mine: { command: [x], lines: [{ prompt: text }] }",
			"adapters.mine.lines",
			"`lines` needs the path of the conversation's transcript",
		],
		[
			"  mine: { command: [x], exits: { codes: [{ code: 0, cause: crash }] } }",
			"adapters.mine.exits.codes[0].code",
			"0 is a clean exit, not a failure",
		],
		[
			"  mine: { command: [x], conversation: { resume: [--resume] } }",
			"adapters.mine.conversation.resume",
			"`resume` has no effect: with `id: none` no conversation is resumed",
		],
		[
			"  mine: { command: [x], conversation: { id: chosen, fresh: [--id, <conversation>] } }",
			"adapters.mine.conversation.resume",
			"`resume` does not contain the conversation id that Reeve chooses",
		],
		[
			"  mine: { command: [x], conversation: { id: chosen, resume: [-r, <conversation>] } }",
			"adapters.mine.conversation.fresh",
			"`fresh` does not contain the conversation id that Reeve chooses",
		],
	])("are checked like everything else: %s", (adapters, path, message) => {
		expect(problemsOf(adapters)).toMatchObject([{ path, message }]);
	});

	it.each([
		["args: [--dir, <hom>]", "args[1]", "<hom>", "<home>"],
		["args: [<Home>/x]", "args[0]", "<Home>", "<home>"],
		["seed_args: [<prompt>]", "seed_args[0]", "<prompt>", null],
		["env: { DIR: <foldr>/x }", "env.DIR", "<foldr>", "<folder>"],
		[
			"conversation: { fresh: [<converstion>] }",
			"conversation.fresh[0]",
			"<converstion>",
			"<conversation>",
		],
		["files: [{ name: f, text: in <folders> }]", "files[0].text", "<folders>", "<folder>"],
		[
			"seeds: [{ file: [<homes>/f], path: [a], value: 'true' }]",
			"seeds[0].file[0]",
			"<homes>",
			"<home>",
		],
	])("have no placeholder that does not exist: %s", (keys, path, name, meant) => {
		expect(problemsOf(`  mine: { command: [x], ${keys} }`)).toMatchObject([
			{
				path: `adapters.mine.${path}`,
				message: `unknown placeholder \`${name}\``,
				hint: meant === null ? null : `did you mean \`${meant}\`?`,
			},
		]);
	});

	it.each([
		"args: [<home>, <cwd>, <folder>, <conversation8>, <NO_SUCH_VAR>, a<b, x>y]",
		"files: [{ name: page.html, text: '<body><b>in <folder></b></body>' }]",
	])("may contain placeholders, and other text in angle brackets: %s", (keys) => {
		expect(problemsOf(`  mine: { command: [x], ${keys} }`)).toEqual([]);
	});

	it("report a typo in the conversation id once", () => {
		const conversation = "{ id: chosen, fresh: [-n, <converstion>], resume: [-r, <conversation>] }";
		const problems = problemsOf(`  mine: { command: [x], conversation: ${conversation} }`);
		expect(problems.map(({ message }) => message)).toEqual(["unknown placeholder `<converstion>`"]);
	});

	it("are listed once each for an unknown adapter", () => {
		const problems = problemsOf("  claude: { command: [x] }", "{ adapter: zzz }");
		const [unknown] = problems.filter(({ message }) => message.includes("zzz"));
		expect(unknown?.expected?.match(/`claude`/g)).toHaveLength(1);
	});

	it("give events and lines a meaning with the keys of the built-in ones", () => {
		const { agents } = fleetOf(`
  mine:
    command: [x]
    args: [--session, <conversation>]
    conversation: { id: chosen, transcript: [<home>/<conversation>.jsonl] }
    events:
      - { event: Submit, activity: busy, prompt: data.prompt }
      - { event: Tool, in_tool: true }
      - { event: Failed, where: { path: error, match: ^quota }, cause: usage_limit, resets_at: at }
    lines: [{ turn: failed, detail: error }]
    exits: { texts: [{ match: out of tea, cause: usage_limit }] }
    files: [{ name: hooks.json, text: '{"at":"<folder>"}' }]`);
		const { profile } = agents[0] ?? {};
		expect(profile).toMatchObject({
			confirmsPrompts: true,
			eventRules: [
				{ event: "Submit", activity: "busy", prompt: "data.prompt" },
				{ event: "Tool", inTool: true },
				{ event: "Failed", cause: "usage_limit", resetsAt: "at" },
			],
			lineRules: [{ turn: "failed", detail: "error" }],
			files: [{ name: "hooks.json" }],
		});
		const read = { resetAtMs: () => null };
		const adapter = described({ name: "mine", profile: profile as AdapterProfile });
		expect(adapter.readRecord?.("Submit", { data: { prompt: "hi" } }, read)).toEqual({
			activity: "busy",
			prompt: "hi",
		});
		expect(adapter.readRecord?.("Other", {}, read)).toBeNull();
		expect(adapter.readTranscript?.({ error: "Out of tea!" }, read)).toMatchObject({
			failure: { cause: "usage_limit" },
		});
		expect(adapter.readTranscript?.({ error: "529 Overloaded" }, read)).toMatchObject({
			failure: { cause: "overloaded" },
		});
	});

	it("change the agents that use them", () => {
		const before = fleetOf("  mine: { command: [x] }");
		const after = fleetOf("  mine: { command: [x], args: [--more] }");
		expect(diffFleets(before, after)).toMatchObject([{ change: "change", keys: ["adapter"] }]);
		expect(diffFleets(before, before)).toMatchObject([{ change: "keep" }]);
	});
});
