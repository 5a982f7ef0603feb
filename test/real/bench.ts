/** A bench for one real CLI: a fresh HOME, a mock API of its own, and a way to run it with or without a terminal. */

import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createMockApi, type MockApi } from "../../src/testing/mock-api/mock-api.js";
import type { Place, RealCli } from "./clis.js";
import { install } from "./install.js";

const run = promisify(execFile);

export interface Ended {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly stdout: string;
	readonly stderr: string;
	readonly tookMs: number;
}

export interface Bench {
	readonly api: MockApi;
	readonly place: Place;
	readonly program: string;
	readonly env: Readonly<Record<string, string>>;
	/** Without a terminal. */
	headless(args: readonly string[], limitMs?: number): Promise<Ended>;
	/** In a terminal of 200×50, as Reeve's own are, or of another size. */
	open(args: readonly string[], size?: Size): Promise<Terminal>;
	close(): Promise<void>;
}

/** Columns and rows. */
export type Size = readonly [number, number];

export interface Terminal {
	screen(): Promise<string>;
	/** Until the screen shows it; throws with the screen when it never does. */
	shows(what: RegExp, limitMs?: number): Promise<string>;
	paste(text: string): Promise<void>;
	key(...keys: string[]): Promise<void>;
	readonly panePid: () => Promise<number>;
	close(): Promise<void>;
}

export async function openBench(
	cli: RealCli,
	{ seeds = cli.seeds }: { readonly seeds?: RealCli["seeds"] } = {},
): Promise<Bench> {
	const program = await install(cli);
	const api = await createMockApi();
	const home = await realpath(await mkdtemp(join(tmpdir(), `reeve-real-${cli.cli}-`)));
	const place = { api: api.url, home, cwd: join(home, "work") };
	await Promise.all([mkdir(place.cwd), mkdir(join(home, "tmp"))]);
	for (const [file, content] of Object.entries(seeds(place))) {
		await mkdir(dirname(join(home, file)), { recursive: true });
		await writeFile(join(home, file), content);
	}
	const env = {
		...{ PATH: process.env["PATH"] ?? "", HOME: home, TMPDIR: join(home, "tmp") },
		...{ LANG: "C.UTF-8", ...cli.env(place) },
	};
	const terminals: Terminal[] = [];
	return {
		...{ api, place, program, env },
		headless: (args, limitMs = 120_000) => runHeadless(program, args, place, env, limitMs),
		async open(args, size = [200, 50]) {
			const argv = [program, ...args];
			const terminal = await openTerminal(argv, place, env, terminals.length, size);
			terminals.push(terminal);
			return terminal;
		},
		async close() {
			for (const terminal of terminals) await terminal.close();
			await api.close();
			await rm(home, { recursive: true, force: true, maxRetries: 20 });
		},
	};
}

async function runHeadless(
	program: string,
	args: readonly string[],
	{ cwd }: Place,
	env: Readonly<Record<string, string>>,
	limitMs: number,
): Promise<Ended> {
	const startedMs = performance.now();
	const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
	const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
	const closed = new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
		child.once("close", (code, signal) => resolve([code, signal])),
	);
	const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
	const [code, signal] = await closed;
	clearTimeout(timer);
	return { code, signal, stdout, stderr, tookMs: Math.round(performance.now() - startedMs) };
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

async function openTerminal(
	argv: readonly string[],
	{ home, cwd }: Place,
	env: Readonly<Record<string, string>>,
	number: number,
	[columns, rows]: Size,
): Promise<Terminal> {
	const socket = join(home, `tmux-${number}`);
	const options = { env: { ...env, TERM: "xterm-256color" } };
	const tmux = async (...args: string[]) =>
		(await run("tmux", ["-S", socket, "-f", "/dev/null", ...args], options)).stdout;
	const command = `exec ${argv.map(quoted).join(" ")}`;
	await tmux("new-session", "-d", "-x", String(columns), "-y", String(rows), "-c", cwd, command);
	await tmux("set", "-g", "remain-on-exit", "on");
	const screen = () => tmux("capture-pane", "-p");
	return {
		screen,
		async shows(what, limitMs = 60_000) {
			const untilMs = performance.now() + limitMs;
			for (;;) {
				const seen = await screen();
				if (what.test(seen)) return seen;
				if (performance.now() > untilMs) throw new Error(`never showed ${what}:\n${seen}`);
				await sleep(100);
			}
		},
		async paste(words) {
			await writeFile(join(home, "paste"), words);
			await tmux("load-buffer", "-b", "p", join(home, "paste"));
			await tmux("paste-buffer", "-p", "-r", "-d", "-b", "p");
		},
		key: async (...keys) => void (await tmux("send-keys", ...keys)),
		panePid: async () => Number(await tmux("display-message", "-p", "#{pane_pid}")),
		close: async () => void (await tmux("kill-server").catch(() => "")),
	};
}
