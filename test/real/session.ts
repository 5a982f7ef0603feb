/**
 * One CLI as a session agent under a real daemon, with a HOME that only contains the mock API: no trusted folder, no
 * completed onboarding. The adapter has to answer those questions. Needs `npm run build`.
 */

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient } from "../../src/client/client.js";
import type { ReeveEvent } from "../../src/core/events.js";
import { readProcessTable } from "../../src/host/process-table.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { MockRequest } from "../../src/testing/mock-api/script.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { type Bench, openBench } from "./bench.js";
import type { RealCli } from "./clis.js";
import { CACHE } from "./install.js";

/** The machine may be ten times slower. */
const WITHIN_MS = 120_000;
const POLL_MS = 200;

export const PLACE = "p:coder";

export interface Session {
	readonly bench: Bench;
	readonly home: FleetHome;
	readonly agent: () => Promise<AgentJson>;
	readonly screen: () => Promise<string>;
	/** Through the inbox; until the text is delivered. */
	send(prompt: string): Promise<void>;
	/** Requests of the agent's turns, without those on the side, in which this was the last prompt. */
	asked(prompt: string): readonly MockRequest[];
	/** Polls until the condition holds; otherwise throws with the agent and its screen. */
	until(what: string, holds: () => Promise<boolean> | boolean, withinMs?: number): Promise<void>;
	/** Sends it, and waits until it was answered and the agent is shown as ready. */
	ask(prompt: string): Promise<void>;
	press(...keys: readonly string[]): Promise<void>;
	events(...types: readonly ReeveEvent["type"][]): Promise<readonly ReeveEvent[]>;
	close(): Promise<void>;
}

export async function openSession(
	cli: RealCli & { readonly adapter?: object },
	more: Readonly<Record<string, unknown>> = {},
): Promise<Session> {
	const reduce = PROVIDER_ONLY[cli.cli] ?? ((seeds) => seeds);
	const bench = await openBench(cli, { seeds: (place) => reduce(cli.seeds(place)) });
	// Not among temporary files: Gemini takes no settings from below a folder that others may write to.
	const home = createFleetHome({}, mkdtempSync(join(CACHE, "fleet-")));
	writeFleet(cli, bench, home, more);
	await home.must("up");
	const socketPath = join(home.env["REEVE_HOME"] ?? "", "reeve.sock");
	const session = attend(bench, home, createClient({ socketPath }));
	return {
		...session,
		async close() {
			await home.close();
			await bench.close();
		},
	};
}

function writeFleet(
	cli: RealCli & { readonly adapter?: object },
	{ env: all, program, place }: Bench,
	{ folder }: FleetHome,
	more: Readonly<Record<string, unknown>>,
): void {
	const { PATH: _, TMPDIR: __, ...env } = all;
	const keys = {
		...{ adapter: cli.cli, command: [program], args: cli.terminal, env, cwd: place.cwd },
		...{ on_clean_exit: "restart", drain: { timeout: "20s" } },
		...{ crash_policy: { transient_delay: "200ms" }, ...more },
	};
	const fleet = {
		...{ version: 1, projects: { p: { agents: { coder: keys } } } },
		...(cli.adapter === undefined ? {} : { adapters: { [cli.cli]: cli.adapter } }),
	};
	writeFileSync(join(folder, "reeve.yaml"), JSON.stringify(fleet));
}

function attend(bench: Bench, home: FleetHome, client: Client): Omit<Session, "close"> {
	// Asked of the daemon directly: a process of the CLI for every check would be most of the load.
	const agent = async () => (await client.call("GET /api/v1/agents")).agents[0] as AgentJson;
	const screen = async () => {
		try {
			return (await client.call("GET /api/v1/agents/:id/screen", { place: PLACE })).text;
		} catch {
			return "";
		}
	};
	const asked = (prompt: string) =>
		bench.api.requests.filter(
			(request) => request.tools.length > 0 && request.prompt.includes(prompt),
		);
	const until: Session["until"] = (what, holds, withinMs = WITHIN_MS) =>
		eventually(holds, what, withinMs, POLL_MS).catch(async (error: Error) => {
			const { reason, ...seen } = await agent();
			const { activity, activity_source: by, turn_failure: failure, process } = seen;
			const shown = JSON.stringify({ process, activity, by, failure, reason });
			throw new Error(`${error.message}\n${shown}\n${await screen()}`);
		});
	const events: Session["events"] = async (...types) => {
		const found: ReeveEvent[] = [];
		for await (const event of client.events({ after: 0, follow: false })) {
			if (types.includes(event.type)) found.push(event);
		}
		return found;
	};
	const send = async (prompt: string) => {
		await home.must("send", PLACE, prompt);
		const isTaken = async () => (await client.call("GET /api/v1/inbox")).messages.length === 0;
		await until(`"${prompt}" is delivered`, isTaken);
	};
	return {
		...{ bench, home, agent, screen, asked, until, send, events },
		async ask(prompt) {
			await send(prompt);
			const isDone = async () => {
				const { activity, turn_failure: failure } = await agent();
				return asked(prompt).length > 0 && activity === "ready" && failure === null;
			};
			await until(`"${prompt}" is answered`, isDone);
		},
		async press(...keys) {
			const body = { submit: false };
			for (const key of keys) {
				const text = KEYS[key] ?? key;
				await client.call("POST /api/v1/agents/:id/send", {
					place: PLACE,
					body: { ...body, text },
				});
			}
		},
	};
}

const KEYS: Readonly<Record<string, string>> = {
	...{ Escape: "\u001b", Down: "\u001b[B", Enter: "\r" },
};

/** The provider and its key: what only the user can know. The rest of the laboratory's seeds is left out. */
const PROVIDER_ONLY: Readonly<Record<string, (seeds: Record<string, string>) => typeof seeds>> = {
	claude: (seeds) => {
		const { customApiKeyResponses, bypassPermissionsModeAccepted } = JSON.parse(
			seeds[".claude.json"] ?? "{}",
		);
		const known = { customApiKeyResponses, bypassPermissionsModeAccepted };
		return { ".claude.json": JSON.stringify(known) };
	},
	codex: (seeds) => {
		const file = ".codex/config.toml";
		const text = seeds[file] ?? "";
		return { [file]: text.replace(/\[features\][\s\S]*/, "").replace(/check_for_update.*\n/, "") };
	},
	gemini: (seeds) => {
		const file = ".gemini/settings.json";
		const { general, security } = JSON.parse(seeds[file] ?? "{}");
		const { maxAttempts } = general;
		const auth = { selectedType: security.auth.selectedType };
		return { [file]: JSON.stringify({ security: { auth }, general: { maxAttempts } }) };
	},
};

/** Living processes that have this in their command line. */
export function running(marker: string): readonly number[] {
	return readProcessTable()
		.entries.filter(({ ended, pid }) => !ended && has(`/proc/${pid}/cmdline`, marker))
		.map(({ pid }) => pid);
}

/** Living processes with this in their environment that do not descend from this one. */
export function strangers(marker: string, root: number): readonly number[] {
	const { entries } = readProcessTable();
	const parents = new Map(entries.map(({ pid, ppid }) => [pid, ppid]));
	const descends = (pid: number): boolean => {
		const parent = parents.get(pid);
		return pid === root || (parent !== undefined && parent > 1 && descends(parent));
	};
	return entries
		.filter(({ ended, pid }) => !ended && has(`/proc/${pid}/environ`, marker) && !descends(pid))
		.map(({ pid }) => pid);
}

function has(file: string, marker: string): boolean {
	try {
		return readFileSync(file, "utf8").includes(marker);
	} catch {
		return false;
	}
}

/** How often a text occurs in the request to the model. */
export function countIn(request: MockRequest | undefined, text: string): number {
	return JSON.stringify(request?.body ?? "").split(text).length - 1;
}
