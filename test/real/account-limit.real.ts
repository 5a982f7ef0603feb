/**
 * Ten real claude sessions on one account at a plan limit that lifts late, on time and early: one of them tries at a
 * time, and all continue within a minute. `CLAUDE_CODE_OAUTH_TOKEN` makes claude treat the mock as a subscription, so
 * that
 * this is its real screen and its real record of a plan limit.
 */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../src/client/client.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createMockApi, type MockApi } from "../../src/testing/mock-api/mock-api.js";
import type { MockRequest } from "../../src/testing/mock-api/script.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { CLIS, json, type RealCli } from "./clis.js";
import { install } from "./install.js";

const CLAUDE = CLIS[0] as RealCli;
const SESSIONS = Number(process.env["REEVE_LIMIT_SESSIONS"] ?? 10);
const WITHIN_MS = 300_000;
const NAMES = Array.from({ length: SESSIONS }, (_, n) => `c${n}`);

let api: MockApi;
let fleet: FleetHome;
let client: Client;
let home: string;

beforeAll(async () => {
	api = await createMockApi();
	home = realpathSync(mkdtempSync(join(tmpdir(), "reeve-limit-")));
	const program = await install(CLAUDE);
	const settings = { hasCompletedOnboarding: true, theme: "dark" };
	writeFileSync(join(home, ".claude.json"), json({ ...settings, ...ACCEPTED }));
	const agents = NAMES.map((name) => {
		const cwd = join(home, name);
		mkdirSync(cwd);
		const { ANTHROPIC_API_KEY: _, ...known } = CLAUDE.env({ api: api.url, home, cwd });
		const env = { ...known, HOME: home, CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-mock" };
		const keys = { adapter: "claude", command: [program], args: CLAUDE.terminal, env, cwd };
		return [name, { ...keys, account: "plan" }] as const;
	});
	fleet = createFleetHome();
	const text = JSON.stringify({
		...{ version: 1, projects: { p: { agents: Object.fromEntries(agents) } } },
	});
	writeFileSync(join(fleet.folder, "reeve.yaml"), text);
	await fleet.must("up");
	client = createClient({ socketPath: join(fleet.env["REEVE_HOME"] ?? "", "reeve.sock") });
	await eventually(areReady, "all sessions are ready", WITHIN_MS, 1_000);
}, 600_000);

afterAll(async () => {
	await fleet.close();
	await api.close();
	rmSync(home, { recursive: true, force: true, maxRetries: 20 });
});

const ACCEPTED = { bypassPermissionsModeAccepted: true };

const agents = async () => (await client.call("GET /api/v1/agents")).agents as readonly AgentJson[];
const isWell = ({ activity, turn_failure: failure }: AgentJson) =>
	activity === "ready" && failure === null;
const areReady = async () => (await agents()).filter(isWell).length === SESSIONS;

/** Requests of turns, with the agent that made each: its own message is in the conversation. */
const turnsOf = (round: string) =>
	api.requests
		.filter(({ tools }) => tools.length > 0)
		.flatMap((request) => {
			const name = NAMES.find((each) => says(request, `${round} of ${each}.`));
			return name === undefined ? [] : [{ name, atMs: request.atMs }];
		});
const says = ({ body }: MockRequest, text: string) => JSON.stringify(body).includes(text);

/** Events of the account, in seconds before and after the lift. */
async function timeline(fromMs: number, liftsAtMs: number): Promise<string> {
	const lines: string[] = [];
	for await (const event of client.events({ after: 0, follow: false })) {
		const atMs = Date.parse(event.at);
		if (atMs < fromMs || !/^account\.|turn_failed|inbox\.delivered/.test(event.type)) continue;
		const seconds = ((atMs - liftsAtMs) / 1_000).toFixed(1);
		lines.push(`${seconds.padStart(7)} ${event.agent} ${event.type} ${JSON.stringify(event.data)}`);
	}
	return lines.join("\n");
}

const RESETS_IN_S = 75;

test.each([
	["15 s late", 15],
	["on time", 0],
	["15 s early", -15],
])(
	`${SESSIONS} sessions continue within a minute of a plan limit that lifts %s`,
	{
		timeout: 900_000,
	},
	async (when, offsetS) => {
		const round = `round ${when}`;
		const startedAtMs = Date.now();
		const resetsAtMs = startedAtMs + RESETS_IN_S * 1_000;
		const liftsAtMs = resetsAtMs + offsetS * 1_000;
		api.reset();
		api.script({ withTools: true, reply: { fails: "usage_limit", limitResetsAtMs: resetsAtMs } });
		await Promise.all(NAMES.map((name) => fleet.must("send", `p:${name}`, `${round} of ${name}.`)));
		const isParked = async () =>
			(await agents()).some(({ activity }) => activity === "rate_limited");
		await eventually(isParked, "the limit is known", 60_000, 500);
		// Agents with a running turn when the first one hit the limit hit it too.
		await sleep(Math.max(0, resetsAtMs - 20_000 - Date.now()));
		const parkedAtMs = Date.now();
		const shown = (await agents()).map(({ activity }) => activity);
		expect(shown).not.toContain("waiting_input");
		await sleep(Math.max(0, liftsAtMs - Date.now()));
		const probes = turnsOf(round).filter(({ atMs }) => atMs > parkedAtMs);
		api.script({ withTools: true, reply: { text: "Done." } });

		const areAnswered = () => {
			const after = new Set(
				turnsOf(round).flatMap(({ name, atMs }) => (atMs >= liftsAtMs ? [name] : [])),
			);
			return after.size === SESSIONS;
		};
		await eventually(areAnswered, "all have continued", 180_000, 200);
		const after = turnsOf(round).filter(({ atMs }) => atMs >= liftsAtMs);
		const firsts = NAMES.map((name) => after.find((each) => each.name === name)?.atMs ?? 0);
		const lastS = (Math.max(...firsts) - liftsAtMs) / 1_000;
		const [first] = after;
		const firstS = ((first?.atMs ?? 0) - liftsAtMs) / 1_000;
		const alone = after.filter(({ atMs }) => atMs < (first?.atMs ?? 0) + 1_000);
		console.log(
			`${when}: ${probes.length} probes before the lift (${probes.map(({ name }) => name).join(", ")}), ` +
				`the first request ${firstS.toFixed(1)} s and all ${SESSIONS} sessions ${lastS.toFixed(1)} s after it`,
		);
		console.log(await timeline(startedAtMs, liftsAtMs));
		await eventually(areReady, "all sessions are ready again", WITHIN_MS, 500);
		expect(lastS).toBeLessThan(60);
		// One after the other: a probe that fails is the only one, and so is the one that succeeds.
		for (const [index, { atMs }] of probes.entries()) {
			const before = probes[index - 1];
			if (before !== undefined) expect(atMs - before.atMs).toBeGreaterThan(3_000);
		}
		expect(alone.map(({ name }) => name)).toEqual([first?.name]);
		if (offsetS <= 0) expect(probes).toEqual([]);
	},
);
