/**
 * Every CLI as a session agent under a real daemon, on a HOME that knows the mock API and nothing else: no
 * trust, no first steps. What a person would have to settle is the adapter's work. Needs `npm run build`.
 */

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { tellsCost } from "../../src/core/budget.js";
import { readProcessTable } from "../../src/host/process-table.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { MockReply } from "../../src/testing/mock-api/script.js";
import { createFleetHome, eventually, type FleetHome } from "../faults/fleet-home.js";
import { type Bench, openBench } from "./bench.js";
import { CLIS, QWEN, type RealCli } from "./clis.js";
import { CACHE } from "./install.js";

const WITHIN_MS = 120_000;

/** Without the limit of Gemini, which opens a menu that stays until somebody answers it. */
const FAILURES: readonly (readonly [string, MockReply])[] = [
	["401", { status: 401, message: "invalid key" }],
	["429", { status: 429, retryAfterSeconds: 30, message: "slow down" }],
	["limit", { status: 429, limitResetsAtMs: Date.UTC(2099, 0, 1), message: "usage limit reached" }],
	["529", { status: 529, message: "Overloaded" }],
	["500", { status: 500, message: "oh no" }],
	["dropped", { text: "half of an answer", breaks: "reset" }],
];

/** The provider and its key: what only the user can know. The rest of the laboratory's seeds is left out. */
const PROVIDER_ONLY: Readonly<Record<string, RealCli["seeds"]>> = {
	claude: (place) => {
		const { customApiKeyResponses, bypassPermissionsModeAccepted } = JSON.parse(
			CLIS[0]?.seeds(place)[".claude.json"] ?? "{}",
		);
		const known = { customApiKeyResponses, bypassPermissionsModeAccepted };
		return { ".claude.json": JSON.stringify(known) };
	},
	codex: (place) => {
		const file = ".codex/config.toml";
		const text = CLIS[1]?.seeds(place)[file] ?? "";
		return { [file]: text.replace(/\[features\][\s\S]*/, "").replace(/check_for_update.*\n/, "") };
	},
	gemini: () => ({
		".gemini/settings.json": JSON.stringify({
			security: { auth: { selectedType: "gemini-api-key" } },
			general: { maxAttempts: 1 },
		}),
	}),
};

/** Which ended or living processes have this in their command line. */
function running(marker: string): number[] {
	return readProcessTable()
		.entries.filter(({ ended }) => !ended)
		.map(({ pid }) => pid)
		.filter((pid) => {
			try {
				return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(marker);
			} catch {
				return false;
			}
		});
}

describe.each([...CLIS, QWEN].map((cli, n) => [cli.cli, cli, n] as const))(
	"%s as a session",
	(name, cli, n) => {
		let bench: Bench;
		let home: FleetHome;
		beforeAll(async () => {
			bench = await openBench(cli, { seeds: PROVIDER_ONLY[name] ?? cli.seeds });
			// Not among temporary files: Gemini takes no settings from below a folder that others may write to.
			home = createFleetHome({}, mkdtempSync(join(CACHE, "fleet-")));
			const { PATH: _, TMPDIR: __, ...env } = bench.env;
			const keys = {
				...{ adapter: name, command: [bench.program], args: cli.terminal, env },
				...{ cwd: bench.place.cwd, on_clean_exit: "restart", drain: { timeout: "20s" } },
				crash_policy: { transient_delay: "200ms" },
			};
			const fleet = {
				...{ version: 1, projects: { p: { agents: { coder: keys } } } },
				...("adapter" in cli ? { adapters: { [name]: cli.adapter } } : {}),
			};
			writeFileSync(join(home.folder, "reeve.yaml"), JSON.stringify(fleet));
			await home.must("up");
		});
		afterAll(async () => {
			await home.close();
			await bench.close();
		});

		const client = () =>
			createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") });
		const place = "p:coder";
		const agent = async () => (await home.ps())[0] as AgentJson;
		const screen = async () => {
			try {
				return (await client().call("GET /api/v1/agents/:id/screen", { place })).text;
			} catch {
				return "";
			}
		};
		const shows = async (what: RegExp) => {
			let seen = "";
			await eventually(
				async () => {
					seen = await screen();
					return what.test(seen);
				},
				`${what} on the screen`,
				WITHIN_MS,
			).catch((error: Error) => {
				throw new Error(`${error.message}\n${seen}`);
			});
		};
		const type = (text: string) =>
			client().call("POST /api/v1/agents/:id/send", { place, body: { text, submit: false } });
		/** Pasted, then an Enter of its own; again while nobody asks the model, since one that comes early is lost. */
		const submit = async (prompt: string) => {
			await type(`\u001b[200~${prompt}\u001b[201~`);
			for (let tries = 0; tries < 5 && asked(prompt).length === 0; tries++) {
				await sleep(500);
				await type("\r");
				const isAsked = () => asked(prompt).length > 0;
				await eventually(isAsked, "it is asked", 15_000).catch(() => {});
			}
		};
		const asked = (prompt: string) =>
			bench.api.requests.filter(
				(request) => request.tools.length > 0 && request.prompt.includes(prompt),
			);

		test("starts on a fresh HOME without a human, and answers", async () => {
			await shows(cli.ready);
			await submit("say hello");
			await shows(/The mock heard: "?say hello/);
			await eventually(() => asked("say hello").length === 1, "it was asked once", WITHIN_MS);
			expect((await agent()).process).toBe("running");
		});

		test("tells what it uses", async () => {
			// Nothing is known of how a CLI of the fleet file's own tells it.
			if ("adapter" in cli) return expect((await agent()).usage).toBeNull();
			const isTold = async () => ((await agent()).usage?.tokens_today ?? 0) > 100;
			await eventually(isTold, "its tokens are counted", WITHIN_MS);
			const { usage } = await agent();
			if (tellsCost("session", name)) expect(usage?.usd_today).not.toBeNull();
		});

		test("is killed, and goes on with the same conversation", async () => {
			const before = await agent();
			process.kill(before.pid ?? 0, "SIGKILL");
			await eventually(
				async () => {
					const { pid, process: state } = await agent();
					return state === "running" && pid !== null && pid !== before.pid;
				},
				"it is started again",
				WITHIN_MS,
			);
			await sleep(1_000);
			await shows(cli.ready);
			bench.api.reset();
			await submit("say more");
			await eventually(() => asked("say more").length > 0, "it is asked", WITHIN_MS);
			expect(JSON.stringify(asked("say more")[0]?.body)).toContain("say hello");
			expect(await agent()).toMatchObject({ restarts: 1, policy: "healthy" });
		});

		test.each(FAILURES.filter(([failure]) => !(name === "gemini" && failure === "limit")))(
			"lives through %s, and shows what it does",
			async (failure, reply) => {
				bench.api.reset();
				bench.api.script({ when: `now ${failure}`, withTools: true, reply });
				const before = await agent();
				const askedAtMs = Date.now();
				await submit(`now ${failure}`);
				// Until something newer is known, or longer than its own first retries take.
				const isSettled = async () => {
					const { activity, activity_at } = await agent();
					return activity !== "busy" && Date.parse(activity_at ?? "") > askedAtMs;
				};
				await eventually(isSettled, "it is done", 20_000).catch(() => {});
				const after = await agent();
				const { activity, activity_source: source, activity_detail: detail } = after;
				console.log(`${name} ${failure}: ${activity} by ${source}: ${detail}`);
				expect(after.pid).toBe(before.pid);
				expect(activity).not.toBe("unknown");
				for (const key of cli.interrupt) await type(key === "Escape" ? "\u001b" : key);
				await eventually(
					async () => cli.ready.test(await screen()),
					"it is ready again",
					WITHIN_MS,
				);
				await sleep(1_000);
			},
		);

		test("ends when it is told to, and leaves no tool behind", async () => {
			await sleep(2_000);
			const marker = `reeve-tool-${process.pid}-${n}`;
			const reply = { tool: cli.shell(`perl -e 'sleep 100000' ${marker}`) };
			bench.api.script({ when: "use the tool", withTools: true, times: 1, reply });
			await submit("use the tool");
			await eventually(() => running(marker).length > 0, "the tool runs", WITHIN_MS);
			const down = JSON.parse(await home.must("down", "p", "--json"));
			console.log(`${name}: down ${JSON.stringify(down)}`);
			expect(running(marker)).toEqual([]);
			expect(running(bench.place.home)).toEqual([]);
		});
	},
);
