import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	readlinkSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseFleet } from "../../src/config/parse-fleet.js";
import type { AgentSpec } from "../../src/config/spec.js";
import type { StartIntent } from "../../src/engine/runs/session-world.js";
import { createEnvironments } from "../../src/sessions/agent-environment.js";
import { prepareStart } from "../../src/sessions/prepare-start.js";

let root: string;
let trouble: string[];

beforeEach(() => {
	root = mkdtempSync(join(tmpdir(), "reeve-start-"));
	trouble = [];
	mkdirSync(join(root, "work"));
	mkdirSync(join(root, "home"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function specOf(agent: string, adapters = ""): AgentSpec {
	const text = `version: 1\n${adapters}\nprojects:\n  p:\n    cwd: ./work\n    agents:\n      a: ${agent}\n`;
	const parsed = parseFleet(text, "reeve.yaml", { env: {}, homeDir: root, baseDir: root });
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.fleet.agents[0] as AgentSpec;
}

async function prepare(spec: AgentSpec, intent: Partial<StartIntent> = {}) {
	const prepared = await prepareStart(
		spec,
		{ withContinue: true, conversation: null, ...intent },
		{
			environments: createEnvironments({
				...{ HOME: join(root, "home"), PATH: "/bin", TMPDIR: "/tmp/shared" },
			}),
			home: {
				...{ logs: join(root, "logs"), agents: join(root, "agents"), temporary: join(root, "tmp") },
				...{ socket: join(root, "reeve.sock"), locks: join(root, "locks") },
			},
			onTrouble: (message) => trouble.push(message),
		},
	);
	if (!prepared.ok) throw new Error(prepared.detail);
	return { ...prepared.request, conversation: prepared.conversation };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

describe("claude", () => {
	test("starts with an id chosen by Reeve, and resumes that conversation", async () => {
		const spec = specOf("{ adapter: claude, args: [--model, opus] }");
		const first = await prepare(spec);
		const id = first.conversation?.id ?? "";
		expect(id).toMatch(UUID);
		expect(first.argv.slice(0, 3)).toEqual(["claude", "--session-id", id]);
		expect(first.argv.slice(-2)).toEqual(["--model", "opus"]);
		// Nothing was asked yet, so there is nothing to resume, and the id is free.
		const second = await prepare(spec, { conversation: id });
		expect(second.argv.slice(1, 3)).toEqual(["--session-id", id]);
		const project = join(root, "home/.claude/projects/-any-name");
		mkdirSync(project, { recursive: true });
		writeFileSync(join(project, `${id}.jsonl`), "{}\n");
		const third = await prepare(spec, { conversation: id });
		expect(third.argv.slice(1, 3)).toEqual(["--resume", id]);
		const fresh = await prepare(spec, { conversation: id, withContinue: false });
		expect(fresh.conversation?.id).not.toBe(id);
	});

	test("finds its folder trusted, and the user's own settings as they were", async () => {
		const file = join(root, "home/.claude.json");
		writeFileSync(file, JSON.stringify({ theme: "light", projects: { "/other": { a: 1 } } }));
		await prepare(specOf("{ adapter: claude }"));
		const settings = JSON.parse(readFileSync(file, "utf8"));
		const cwd = join(root, "work");
		expect(settings).toMatchObject({ theme: "light", hasCompletedOnboarding: true });
		expect(settings.projects).toMatchObject({
			"/other": { a: 1 },
			[cwd]: { hasTrustDialogAccepted: true },
		});
		settings.hasCompletedOnboarding = false;
		settings.projects[cwd].hasCompletedProjectOnboarding = false;
		writeFileSync(file, JSON.stringify(settings));
		await prepare(specOf("{ adapter: claude }"));
		expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(settings);
	});

	test("finds its folder trusted again after another claude has lost the entry", async () => {
		const file = join(root, "home/.claude.json");
		const cwd = join(root, "work");
		await prepare(specOf("{ adapter: claude }"));
		const settings = JSON.parse(readFileSync(file, "utf8"));
		// As a claude writes it that does not find its folder in the file.
		const entry = { allowedTools: [], hasTrustDialogAccepted: false, lastCost: 0.5 };
		settings.projects = { [cwd]: entry };
		writeFileSync(file, JSON.stringify(settings));
		await prepare(specOf("{ adapter: claude, seed: false }"));
		expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(settings);
		await prepare(specOf("{ adapter: claude }"));
		expect(JSON.parse(readFileSync(file, "utf8")).projects[cwd]).toEqual({
			...entry,
			hasTrustDialogAccepted: true,
			hasCompletedProjectOnboarding: true,
		});
	});

	test("reads its settings from the path in the agent's environment", async () => {
		const elsewhere = join(root, "elsewhere");
		await prepare(specOf(`{ adapter: claude, env: { CLAUDE_CONFIG_DIR: ${elsewhere} } }`));
		expect(existsSync(join(elsewhere, ".claude.json"))).toBe(true);
		expect(existsSync(join(root, "home/.claude.json"))).toBe(false);
	});

	test("starts anyway when its settings cannot be read, and does not change them", async () => {
		const file = join(root, "home/.claude.json");
		writeFileSync(file, "{ broken");
		await prepare(specOf("{ adapter: claude }"));
		expect(readFileSync(file, "utf8")).toBe("{ broken");
		expect(trouble).toEqual([expect.stringContaining(".claude.json was not changed: it is not")]);
		expect(trouble.join()).not.toContain("broken");
		writeFileSync(file, "");
		await prepare(specOf("{ adapter: claude }"));
		expect(readFileSync(file, "utf8")).toBe("");
		expect(trouble[1]).toContain(".claude.json was not changed: it is empty");
	});

	test("waits for a CLI that writes its settings in place", async () => {
		const file = join(root, "home/.claude.json");
		writeFileSync(file, '{ "oauthAcc');
		setTimeout(() => writeFileSync(file, '{ "oauthAccount": 1 }'), 300);
		await prepare(specOf("{ adapter: claude }"));
		const settings = JSON.parse(readFileSync(file, "utf8"));
		expect(settings).toMatchObject({ oauthAccount: 1, hasCompletedOnboarding: true });
		expect(trouble).toEqual([]);
	});

	test("has its settings behind a link, with the mode that they had", async () => {
		const place = join(root, "dotfiles.json");
		writeFileSync(place, '{ "theme": "light" }');
		chmodSync(place, 0o640);
		symlinkSync(place, join(root, "home/.claude.json"));
		await prepare(specOf("{ adapter: claude }"));
		expect(JSON.parse(readFileSync(place, "utf8"))).toMatchObject({ theme: "light", projects: {} });
		expect(statSync(place).mode & 0o777).toBe(0o640);
		expect(readlinkSync(join(root, "home/.claude.json"))).toBe(place);
		expect(readFileSync(`${place}.previous`, "utf8")).toBe('{ "theme": "light" }');
	});

	test("asks its own questions with `seed: false`", async () => {
		await prepare(specOf("{ adapter: claude, seed: false }"));
		expect(existsSync(join(root, "home/.claude.json"))).toBe(false);
	});
});

test.each([
	["codex", "trust_level"],
	["gemini", "--skip-trust"],
])("%s gets a trusted directory, and not with `seed: false`", async (adapter, words) => {
	const argsOf = async (more: string) =>
		(await prepare(specOf(`{ adapter: ${adapter}${more} }`))).argv.join(" ");
	expect(await argsOf("")).toContain(words);
	expect(await argsOf(", seed: false")).not.toContain("trust");
});

describe("temporary files", () => {
	test("go to a folder of the agent's own, which is empty at every start", async () => {
		const spec = specOf("{ adapter: opencode }");
		const { env } = await prepare(spec);
		const folder = env["TMPDIR"] ?? "";
		expect(folder).toBe(join(root, "tmp/p/a"));
		mkdirSync(join(folder, "deep"));
		writeFileSync(join(folder, "deep/left.so"), "x");
		await prepare(spec);
		expect(existsSync(join(folder, "deep"))).toBe(false);
	});

	test.each([
		["{ command: [x] }", "/tmp/shared"],
		["{ adapter: claude, tmpdir: inherit }", "/tmp/shared"],
		["{ adapter: claude, env: { TMPDIR: /mine } }", "/mine"],
	])("%s has them in %s", async (agent, expected) => {
		expect((await prepare(specOf(agent))).env["TMPDIR"]).toBe(expected);
	});
});

describe("built-in adapters", () => {
	test.each([
		["codex", { id: null, mode: "fresh" }, "-c features.daemon_auto_start=false"],
		["gemini", { mode: "fresh" }, "--session-id"],
		["opencode", { id: null, mode: "fresh" }, "opencode"],
		["pi", { mode: "fresh" }, "--session "],
		["aider", { mode: "fresh" }, "--chat-history-file"],
	])("%s starts with its own arguments", async (name, conversation, expected) => {
		const prepared = await prepare(specOf(`{ adapter: ${name} }`));
		expect(prepared.argv[0]).toBe(name);
		expect(prepared.argv.join(" ")).toContain(expected);
		expect(prepared.argv.join(" ")).not.toMatch(/<\w+>/);
		expect(prepared.conversation).toMatchObject(conversation);
	});

	test("codex resumes the conversation that it has reported", async () => {
		const { argv } = await prepare(specOf("{ adapter: codex }"), { conversation: "thread-1" });
		expect(argv.slice(0, 3)).toEqual(["codex", "resume", "thread-1"]);
		expect(argv.join(" ")).toContain(`projects={"${join(root, "work")}"={trust_level="trusted"}}`);
	});
});

test("the command of an adapter has its placeholders filled in", async () => {
	const adapters = "adapters:\n  mine: { command: [<home>/bin/my-agent, --in, <cwd>] }";
	const { argv } = await prepare(specOf("{ adapter: mine }", adapters));
	expect(argv).toEqual([join(root, "home/bin/my-agent"), "--in", join(root, "work")]);
});

test("a CLI that only knows its last conversation resumes it in its own folder", async () => {
	const adapters =
		"adapters:\n  mine: { command: [x], conversation: { id: last, fresh: [--new], resume: [--continue] } }";
	const spec = specOf("{ adapter: mine }", adapters);
	const first = await prepare(spec);
	expect(first.argv).toEqual(["x", "--new"]);
	// The folder is the name of the lease, which two agents cannot have.
	expect(first.conversation).toEqual({ mode: "fresh", id: join(root, "work") });
	const again = await prepare(spec, { conversation: join(root, "work") });
	expect(again.argv).toEqual(["x", "--continue"]);
	expect((await prepare(spec, { conversation: "/elsewhere" })).argv).toEqual(["x", "--new"]);
});

test("an adapter of the fleet file works like a built-in one", async () => {
	const adapters = `adapters:
  mine:
    command: [my-agent, --tui]
    args: [--quiet]
    env: { MY_HOME: <folder> }
    conversation:
      id: chosen
      fresh: [--new, <conversation>]
      resume: [--again, <conversation>]
      transcript: [<MY_DIR>/<conversation>, <home>/.mine/<conversation>]
    seeds:
      - { file: [<home>/.mine.json], path: [trusted, <cwd>] }`;
	const spec = specOf("{ adapter: mine, args: [go] }", adapters);
	const { argv, env, conversation } = await prepare(spec);
	const id = conversation?.id ?? "";
	expect(argv).toEqual(["my-agent", "--tui", "--new", id, "--quiet", "go"]);
	expect(env["MY_HOME"]).toBe(join(root, "agents/p/a"));
	expect(JSON.parse(readFileSync(join(root, "home/.mine.json"), "utf8"))).toEqual({
		trusted: { [join(root, "work")]: true },
	});
	mkdirSync(join(root, "home/.mine"));
	writeFileSync(join(root, "home/.mine", id), "");
	const again = await prepare(spec, { conversation: id });
	expect(again.argv.slice(2, 4)).toEqual(["--again", id]);
});
