/**
 * Searches over logs and transcripts: the index never hides a match, and a gigabyte is searched within a second.
 * Long form: REEVE_SEARCH_MB=1000.
 */

import {
	appendFileSync,
	closeSync,
	mkdirSync,
	openSync,
	statSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { parseTokenScope, type TokenScope } from "../../src/core/access.js";
import { indexFile } from "../../src/daemon/search-index-worker.js";
import type { LogLineJson } from "../../src/http/contract/logs.js";
import { indexPath, searchAgents, searchLog } from "../../src/http/search.js";
import { temporaryFolder } from "../support/reeve.js";
import { createApiWorld } from "./api-world.js";

const asIs = (text: string) => text;

/** The file's inode and creation time, as its index is named. */
function nameOf(path: string): string {
	const { ino, birthtimeMs } = statSync(path, { bigint: true });
	return `${ino}.${birthtimeMs}`;
}

function indexLog(path: string, indexes: string): Promise<number> {
	mkdirSync(indexes, { recursive: true });
	return indexFile({ kind: "log", path, index: indexPath(indexes, nameOf(path)) });
}

function indexRecord(path: string, indexes: string): Promise<number> {
	mkdirSync(indexes, { recursive: true });
	const index = indexPath(indexes, `${statSync(path).dev}.${nameOf(path)}`);
	return indexFile({ kind: "transcript", path, index });
}

async function createWorld() {
	const api = await createApiWorld();
	const [web, indexes] = [join(api.logs, "current.log"), join(api.logs, "..", "search")];
	const search = async (text: string, more = {}) =>
		api.client.call("GET /api/v1/search", { query: { text, ...more } });
	return { ...api, web, indexes, search };
}

describe("a search over all agents", () => {
	test("finds lines in logs, with context, without control sequences and secrets", async () => {
		const { web, logs, search } = await createWorld();
		mkdirSync(join(logs, "p:db"));
		writeFileSync(web, "one\nbefore\nan \u001b[31mEr\u001b[0mror hunter2\nafter\nlast\n");
		writeFileSync(join(logs, "p:db", "current.log"), "no error here\n");
		const { matches, incomplete } = await search("error", { context: 1 });
		expect(matches).toHaveLength(2);
		expect(matches.find(({ agent }) => agent === "p:web")).toMatchObject({
			...{ kind: "log", text: "an Error ***", before: ["before"], after: ["after"] },
			position: `${nameOf(web)}:11`,
		});
		expect(incomplete).toEqual([]);
		expect((await search("hunter2")).matches).toEqual([]);
		const one = await search("error", { agents: "p:db" });
		expect(one.matches.map(({ agent }) => agent)).toEqual(["p:db"]);
		expect((await search("error", { limit: 1 })).matches).toHaveLength(1);
	});

	test("finds texts in the records of a transcript", async () => {
		const folder = temporaryFolder();
		const path = join(folder, "t.jsonl");
		const text = 'Say "hello"\nin two lines';
		writeFileSync(
			path,
			`{"a":1}\n${JSON.stringify({ timestamp: "2031-04-05T06:00:00Z", m: { text } })}\nbroken {\n`,
		);
		const agents = [{ id: "p:a", logDir: null, transcripts: [path, join(folder, "gone")] }];
		const options = { redact: asIs, indexes: folder };
		const find = (wanted: string) =>
			searchAgents(agents, { text: wanted, limit: 9, context: 0 }, options);
		expect((await find('SAY "hello" in')).matches).toMatchObject([
			{ kind: "transcript", at: "2031-04-05T06:00:00.000Z", file: path, offset: 8, position: null },
		]);
		expect((await find("broken {")).matches).toMatchObject([{ text: "broken {", at: null }]);
	});

	test("shows a limited token its own agents only", async () => {
		const { web, logs, tokens, port } = await createWorld();
		mkdirSync(join(logs, "p:db"));
		writeFileSync(web, "needle of web\n");
		writeFileSync(join(logs, "p:db", "current.log"), "needle of db\n");
		const scope = parseTokenScope("read:p:db") as TokenScope;
		const { token } = await tokens.create({ kind: "token", scope, expiresAtMs: null });
		const client = createClient({ url: `http://127.0.0.1:${port}`, token });
		const { matches } = await client.call("GET /api/v1/search", { query: { text: "needle" } });
		expect(matches.map(({ agent }) => agent)).toEqual(["p:db"]);
		const other = { query: { text: "needle", agents: "p:web" } };
		await expect(client.call("GET /api/v1/search", other)).rejects.toMatchObject({
			code: "agent_not_found",
		});
	});
});

/** All pages: each is limited in time. */
async function findAll(folder: string, text: string, indexes: string) {
	const found: LogLineJson[] = [];
	for (let before: string | undefined; ; ) {
		const page = await searchLog(folder, { text, limit: 500, before }, { redact: asIs, indexes });
		found.push(...page.matches);
		if (page.next === null) return found;
		before = page.next;
	}
}

describe("an index", () => {
	const line = (n: number) =>
		`line ${n} of a log with ${(n * 7919).toString(36)} and \u001b[1m${n % 97}\u001b[0m\n`;
	const lines = (from: number, count: number) =>
		Array.from({ length: count }, (_, n) => line(from + n)).join("");

	test("changes no result, while the file grows and after it was rewritten", async () => {
		const [folder, indexes, none] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
		const path = join(folder, "current.log");
		const texts = ["line 17 ", "LINE 9999", " with 5n", "and 42", "absent text"];
		const compare = async () => {
			for (const text of texts) {
				expect(await findAll(folder, text, indexes)).toEqual(await findAll(folder, text, none));
			}
		};
		writeFileSync(path, lines(0, 12_000));
		expect(await indexLog(path, indexes)).toBeGreaterThan(300_000);
		await compare();
		appendFileSync(path, lines(12_000, 9_000));
		await compare();
		expect(await indexLog(path, indexes)).toBeGreaterThan(200_000);
		await compare();
		expect(await indexLog(path, indexes)).toBe(0);
		writeFileSync(path, lines(50_000, 21_000));
		await compare();
		await indexLog(path, indexes);
		await compare();
	});

	test("excludes most of a large log from a search", async () => {
		const megabytes = Number(process.env["REEVE_SEARCH_MB"] ?? 8);
		const [root, indexes] = [temporaryFolder(), temporaryFolder()];
		const agents: { id: string; logDir: string; transcripts: string[] }[] = [];
		let needles = 0;
		let [indexCpuMs, indexBytes] = [0, 0];
		const cpuMs = () => {
			const { user, system } = process.cpuUsage();
			return (user + system) / 1_000;
		};
		for (let written = 0; written < megabytes; ) {
			const [id, logDir] = [`p:a${agents.length}`, join(root, `a${agents.length}`)];
			mkdirSync(logDir);
			for (let age = 4; age >= 0 && written < megabytes; age--) {
				const path = join(logDir, age === 0 ? "current.log" : `current.log.${age}`);
				writeOutput(path, Math.min(10, megabytes - written), needles);
				needles += 1;
				written += 10;
				const beforeMs = cpuMs();
				await indexLog(path, indexes);
				indexCpuMs += cpuMs() - beforeMs;
				indexBytes += statSync(indexPath(indexes, nameOf(path))).size;
			}
			agents.push({ id, logDir, transcripts: [] });
		}
		const find = async (text: string) => {
			const beforeMs = cpuMs();
			const options = { redact: asIs, indexes };
			const found = await searchAgents(agents, { text, limit: 500, context: 2 }, options);
			return { ...found, cpuMs: Math.round(cpuMs() - beforeMs) };
		};
		const all = await find("the needle in file");
		expect(all.matches).toHaveLength(needles);
		const one = await find(`the needle in file ${needles - 1}.`);
		expect(one.matches).toHaveLength(1);
		const none = await find("there is no such text");
		expect([none.matches, none.incomplete]).toEqual([[], []]);
		// The end of each file that is not a complete block is read.
		expect(none.read_bytes).toBeLessThan(none.bytes / 10 + needles * 300_000);
		const megabytesOf = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
		console.log(
			[all, one, none]
				.map(
					({ took_ms: ms, cpuMs: used, bytes, read_bytes: read, matches }) =>
						`${megabytesOf(bytes)}: ${ms} ms, ${used} ms of CPU, ${megabytesOf(read)} read, ${matches.length} matches`,
				)
				.join("\n"),
			`\nindex: ${Math.round(indexCpuMs)} ms of CPU, ${(indexBytes / 1e6).toFixed(1)} MB`,
		);
	}, 1_800_000);

	test("of a transcript belongs to its contents", async () => {
		const [folder, indexes] = [temporaryFolder(), temporaryFolder()];
		const path = join(folder, "t.jsonl");
		const record = (n: number) =>
			`${JSON.stringify({ text: `record "${n}"\nof a conversation` })}\n`;
		const records = (from: number) =>
			Array.from({ length: 9_000 }, (_, n) => record(from + n)).join("");
		writeFileSync(path, records(0));
		expect(await indexRecord(path, indexes)).toBeGreaterThan(100_000);
		const agents = [{ id: "p:a", logDir: null, transcripts: [path] }];
		const count = async (text: string) =>
			(await searchAgents(agents, { text, limit: 9, context: 0 }, { redact: asIs, indexes }))
				.matches.length;
		expect([await count('record "77"'), await count('record "9077"')]).toEqual([1, 0]);
		writeFileSync(path, records(9_000));
		expect([await count('record "77"'), await count('record "9077"')]).toEqual([0, 1]);
	});
});

const WORDS =
	"error warning request handled database connection timeout retry agent session worker compile module export function return const import test passed failed building chunk asset server listening port query commit rollback user token cache miss hit GET POST status latency bytes upload file path src lib node index".split(
		" ",
	);

/** Output like that of builds and servers, with one line to find. */
function writeOutput(path: string, megabytes: number, needle: number): void {
	const file = openSync(path, "w");
	let state = needle + 1;
	const random = (below: number) => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
		return (state >> 8) % below;
	};
	const word = () => WORDS[random(WORDS.length)];
	for (let n = 0; n < megabytes; n++) {
		let text = n === 1 ? `the needle in file ${needle}.\n` : "";
		while (text.length < 1_000_000) {
			const words = Array.from({ length: 4 + random(10) }, word).join(" ");
			text += `2031-04-05T06:${random(60)}:${random(60)}.${random(1000)}Z ${words} id=${random(1e9).toString(16)} src/${word()}/${word()}.ts:${random(900)}\n`;
		}
		writeSync(file, text);
	}
	closeSync(file);
}
