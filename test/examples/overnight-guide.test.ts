/** The guide "Agents overnight", run as printed. */

import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { freePort } from "../support/free-port.js";
import { runReeve } from "../support/reeve.js";

/** The built one: the agent is a program of its own. */
const { fakeAgentCommand } = (await import(
	new URL("../../dist/testing/index.js", import.meta.url).href
)) as typeof import("../../src/testing/index.js");

const guide = readFileSync("docs/guides/overnight.md", "utf8");

/** The first block of this language after a heading. */
function blockUnder(heading: string, language: string): string {
	const section = guide.slice(guide.indexOf(heading));
	const found = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "ms").exec(section)?.[1];
	if (found === undefined) throw new Error(`no ${language} under ${heading}`);
	return found;
}

/** Answers every request. */
const REPORT = `process.stdin.on("data", (line) => {
	const { request_id } = JSON.parse(String(line));
	console.log(JSON.stringify({ request_id, status: "success", code: 0, result: null }));
});
`;

const LONG = { timeout: 300_000 };

/** Writes the first fleet file under a heading, and validates it. */
async function writeBlock(heading: string, change = (file: string) => file): Promise<void> {
	writeFileSync(join(home.folder, "reeve.yaml"), change(blockUnder(heading, "yaml")));
	await home.must("validate");
}

const write = (path: string, content: string) => writeFileSync(join(home.folder, path), content);
const find = async (id: string) => {
	const found = (await home.ps()).find((agent) => agent.id === id);
	if (found === undefined) throw new Error(`${id} is missing`);
	return found;
};

let home: FleetHome;
beforeEach(() => {
	home = createFleetHome();
});
afterEach(() => home.close(), 120_000);

test("the schedules are accepted, and every command works", LONG, async () => {
	write("report.mjs", REPORT);
	await writeBlock("## Schedules");
	await home.must("up");
	const commands = blockUnder("### Commands", "console").matchAll(/^\$ reeve (.*)$/gm);
	for (const [, words = ""] of commands) await home.must(...words.split(" "));
	await eventually(
		async () => /succeeded .*task succeeded/.test(await home.must("schedule", "show", "web:sync")),
		"the task of the slot has succeeded",
	);
	const listed = await home.must("schedule", "ls");
	expect(listed.match(/^web:\w+/gm)).toEqual(["web:review", "web:sync", "web:fresh"]);
	expect(listed).toMatch(/^web:fresh .*paused/m);
});

test("the health checks find a broken server and a broken worker", LONG, async () => {
	const port = await freePort();
	const broken = JSON.stringify(join(home.folder, "broken"));
	write(
		"api.mjs",
		`import { existsSync } from "node:fs";
import { createServer } from "node:http";
const broken = existsSync(${broken});
createServer((_, reply) => reply.writeHead(existsSync(${broken}) && !broken ? 500 : 200).end()).listen(${port});
`,
	);
	write("worker.mjs", REPORT);
	write(
		"check.mjs",
		`import { existsSync } from "node:fs"; process.exit(existsSync(${broken}) ? 1 : 0);\n`,
	);
	await writeBlock("## Health checks", (file) =>
		file
			.replace(":8080/", `:${port}/`)
			.replace("every: 30s", "every: 1s")
			.replace("timeout: 5s", "timeout: 5s, every: 5s"),
	);
	await home.must("up", "--wait");
	const first = await find("web:api");
	const state = async (id: string) => (await find(id)).health_check?.state;
	await eventually(async () => (await state("web:worker")) === "passing", "the worker passes");
	write("broken", "");
	await eventually(async () => (await find("web:api")).restarts === 1, "the server is restarted");
	expect((await find("web:api")).pid).not.toBe(first.pid);
	await eventually(async () => (await state("web:worker")) === "unhealthy", "a report");
	expect(await home.must("explain", "web:worker")).toMatch(/health +unhealthy since /);
	expect(await home.must("events", "--json")).toContain('"cause":"unhealthy"');
});

test("changed files restart their programs", LONG, async () => {
	mkdirSync(join(home.folder, "src"));
	write("src/api.mjs", "setInterval(() => {}, 1e6);\n");
	write("src/indexer.mjs", REPORT);
	write("config.json", "{}");
	await writeBlock("## Restarts for new files");
	await home.must("up", "--wait");
	const before = await find("web:api");
	write("config.json", '{ "new": true }');
	await eventually(async () => {
		const { pid, process: state } = await find("web:api");
		return state === "running" && pid !== before.pid;
	}, "the server is restarted");
	expect(await home.must("explain", "web:api")).toMatch(/config\.json changed/);
});

test("an agent hibernates, and a message starts it", LONG, async () => {
	await writeBlock("## Hibernation");
	const ledger = join(home.folder, "ledger.jsonl");
	const command = JSON.stringify(fakeAgentCommand({ ledger, turns: [{ takes: "10ms" }] }));
	await writeBlock("## Hibernation", (file) =>
		file
			.replace("after: 45m", "after: 1s")
			.replace("adapter: claude", `adapter: claude, command: ${command}`)
			.replace(/^ +reviewer:.*\n/m, ""),
	);
	await home.must("up", "--wait");
	await home.must("send", "web:coder", "first");
	const isAsleep = async () => (await find("web:coder")).status.state === "hibernated";
	await eventually(isAsleep, "it hibernates");
	expect(await home.must("send", "web:coder", "second")).toMatch(/starts again to receive it/);
	await eventually(() => readFileSync(ledger, "utf8").includes('"second"'), "it has the message");
});

test("every command for logs, search and usage works", LONG, async () => {
	const print = "echo 'FAIL: ECONNRESET'; echo 'out of memory'; exec sleep 100000";
	const session = `{ command: [sh, -c, "${print}"] }`;
	write("worker.mjs", REPORT);
	write(
		"reeve.yaml",
		`version: 1
projects:
  web: { agents: { coder: ${session}, tests: ${session} } }
  api: { agents: { worker: { kind: worker, command: [node, worker.mjs] } } }
`,
	);
	await home.must("up", "--wait");
	await eventually(
		async () => (await home.must("logs", "web")).match(/out of memory/g)?.length === 2,
		"both have printed",
	);
	const headings = ["## Logs of many agents", "## Search", "## Usage and budgets"];
	const lines = headings.flatMap((heading) => blockUnder(heading, "sh").trim().split("\n"));
	expect(lines.length).toBeGreaterThan(8);
	for (const line of lines) {
		const words = line
			.replace(/ +#.*$/, "")
			.replace(/ > .*$/, "")
			.split(" ")
			.slice(1);
		const joined = words.join(" ").match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
		const argv = joined.map((word) => word.replace(/^(['"])(.*)\1$/, "$2"));
		if (argv.includes("-f")) {
			const options = { cwd: home.folder, env: home.env, killAfterMs: 5_000 };
			const { stdout } = await runReeve(argv, options);
			expect([line, stdout]).toEqual([line, expect.stringMatching(/web:tests +\|/)]);
		} else {
			const { code, stderr } = await home.reeve(...argv);
			expect([line, code, stderr]).toEqual([line, 0, expect.not.stringContaining("error")]);
		}
	}
	const found = await home.must("search", "out of memory");
	const [, open = ""] = /^ +reeve (logs web:\S+ --around \S+)$/m.exec(found) ?? [];
	expect(await home.must(...open.split(" "))).toContain("out of memory");
});

test("the budget of a project stops its agent", LONG, async () => {
	await writeBlock("## Usage and budgets");
	const ledger = join(home.folder, "ledger.jsonl");
	const turns = [{ takes: "10ms", usage: { input: 300, output: 100 } }];
	const command = JSON.stringify(fakeAgentCommand({ ledger, turns }));
	await writeBlock("## Usage and budgets", (file) =>
		file
			.replace("tokens_per_day: 30000000", "tokens_per_day: 1000")
			.replace("adapter: claude", `adapter: claude, command: ${command}`)
			.replace(/^ +tests:.*\n/m, ""),
	);
	await home.must("up", "--wait");
	const spent = async (tokens: number) => {
		await home.must("send", "web:coder", `up to ${tokens}`);
		await eventually(
			async () => (await home.must("usage", "--by", "account", "--csv")).includes(`,${tokens},`),
			`${tokens} tokens are counted`,
		);
	};
	await spent(400);
	await spent(800);
	expect(await home.must("events", "--json")).toContain('"type":"agent.budget_low"');
	await spent(1_200);
	const state = async () => (await find("web:coder")).status.state;
	await eventually(async () => (await state()) === "over_budget", "it is stopped");
	expect(await home.must("explain", "web:coder")).toMatch(/budget of project web used up: 1200 of/);
});

test("the route sends its test message over SMTP", LONG, async () => {
	const mails: string[] = [];
	const server = new SMTPServer({
		disabledCommands: ["STARTTLS"],
		allowInsecureAuth: true,
		onAuth: ({ username, password }, _, answer) =>
			password === "hush" ? answer(null, { user: username }) : answer(new Error("refused")),
		onData(stream, _, done) {
			void text(stream).then((mail) => {
				mails.push(mail);
				done();
			});
		},
	});
	server.listen(0, "127.0.0.1");
	await once(server.server, "listening");
	onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
	const { port } = server.server.address() as AddressInfo;
	await home.must("daemon", "start");
	const settings = blockUnder("## Notifications for the morning", "json");
	write("home/daemon.json", settings.replace("mail.example.org:587", `127.0.0.1:${port}`));
	writeFileSync(join(home.folder, "home/mail-password"), "hush\n", { mode: 0o600 });
	await home.must("daemon", "reload");
	expect(await home.must("notify", "test", "mail")).toMatch(/^mail \(email\): sent/);
	expect(mails).toEqual([expect.stringContaining("To: ada@example.org")]);
});
