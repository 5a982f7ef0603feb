/**
 * 500 agents at 10 events a second: the main thread of the page stays idle, and its memory flat. A leak grows with every
 * event, a cache levels off. So the short form sends ten minutes' worth of events in two bursts, and only the first may
 * cost memory. `REEVE_LOAD_MINUTES=10` also measures for that time.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { CDPSession } from "playwright-core";
import { expect, test } from "vitest";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { describeWithChromium } from "../support/needs.js";
import { startBrowser } from "./browser.js";
import { fixtureAgent, largeFleet } from "./fixture-fleet.js";
import { type FixtureServer, startFixtureServer } from "./fixture-server.js";

const MINUTES = Number(process.env["REEVE_LOAD_MINUTES"] ?? "0.5");
const EVENT_EVERY_MS = 100;
const SHARE_MAX = 0.05;
/** Ten minutes at ten events a second. */
const BURST = 6_000;
const BURST_PART = 50;
/** Less than a string that is kept for each event, more than the noise of the engine. */
const BYTES_PER_EVENT_MAX = 60;
const GROWTH_BYTES_MAX = 3_000_000;
const HISTORY = 20_000;
const ROWS_MAX = 1_000;

interface Metrics {
	readonly cpuS: number;
	readonly heapBytes: number;
}

async function measure(session: CDPSession): Promise<Metrics> {
	await session.send("HeapProfiler.collectGarbage");
	const { metrics } = await session.send("Performance.getMetrics");
	const value = (name: string) => metrics.find((each) => each.name === name)?.value ?? 0;
	// The CPU time of the main thread, not the time that it waited for a CPU.
	return { cpuS: value("ThreadTime"), heapBytes: value("JSHeapUsedSize") };
}

/** Changes one agent after the other, each with its event. */
function createChanges(fleet: readonly AgentJson[], server: FixtureServer) {
	let sent = 0;
	return {
		sent: () => sent,
		next() {
			const agent = fleet[(sent * 37) % fleet.length];
			sent += 1;
			if (agent === undefined) return;
			const busy = sent % 2 === 0;
			const why = busy ? `Edits file ${sent}` : "Waits for a message.";
			const state = busy ? "working" : "ready";
			server.change(fixtureAgent(agent.id, { state, why, sinceMs: 0, memory: 300, tokens: sent }));
			server.emit({
				type: "agent.activity",
				agent: agent.id,
				data: { from: "ready", to: "busy" },
			});
		},
	};
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(2);

describeWithChromium("500 agents at 10 events a second", () => {
	test("cost little work and no memory", { timeout: 1_200_000 }, async () => {
		const fleet = largeFleet(500);
		const server = await startFixtureServer(fleet);
		const browser = await startBrowser();
		try {
			const { page, context, problems } = await browser.open(server.url);
			await page.getByRole("button", { name: "500 agents" }).waitFor();
			const session = await context.newCDPSession(page);
			await session.send("Performance.enable");
			const changes = createChanges(fleet, server);
			const burst = async () => {
				const from = (await measure(session)).heapBytes;
				for (let n = 0; n < BURST; n++) {
					changes.next();
					if (n % BURST_PART === 0) await sleep(20);
				}
				// The page reads what has changed a moment later.
				await sleep(3_000);
				return (await measure(session)).heapBytes - from;
			};
			const first = await burst();
			const second = await burst();

			const timer = setInterval(changes.next, EVENT_EVERY_MS);
			await sleep(2_000);
			const before = await measure(session);
			const startedMs = performance.now();
			await sleep(MINUTES * 60_000);
			const elapsedS = (performance.now() - startedMs) / 1_000;
			const after = await measure(session);
			clearInterval(timer);
			const share = (after.cpuS - before.cpuS) / elapsedS;
			const growth = after.heapBytes - before.heapBytes;
			console.log(
				`${(share * 100).toFixed(1)} % of a core over ${Math.round(elapsedS)} s; heap ${megabytes(after.heapBytes)} MB, ${megabytes(growth)} MB more; bursts of ${BURST} events: ${megabytes(first)} MB, then ${megabytes(second)} MB more`,
			);
			expect(second / BURST).toBeLessThanOrEqual(BYTES_PER_EVENT_MAX);
			expect(share).toBeGreaterThan(0);
			expect(share).toBeLessThanOrEqual(SHARE_MAX);
			expect(growth).toBeLessThanOrEqual(GROWTH_BYTES_MAX);
			expect(problems).toEqual([]);
			// It is still alive and shows what was sent last.
			expect(await page.getByText(/Edits file|Waits for a message/).count()).toBeGreaterThan(0);
		} finally {
			await browser.close();
			await server.close();
		}
	});

	test("20,000 events leave a list that is short and answers at once", {
		timeout: 600_000,
	}, async () => {
		const fleet = largeFleet(500);
		const server = await startFixtureServer(fleet);
		const browser = await startBrowser();
		try {
			const { page, context, problems } = await browser.open(`${server.url}/#/events`);
			await page.getByRole("heading", { name: "Events" }).waitFor();
			await page.getByText("crashed 7 times").waitFor();
			const session = await context.newCDPSession(page);
			await session.send("Performance.enable");
			for (let n = 0; n < HISTORY; n++) {
				const agent = fleet[n % fleet.length]?.id;
				server.emit({ type: "agent.activity", agent, data: { from: "busy", to: `step ${n}` } });
				if (n % 200 === 0) await sleep(100);
			}
			await page.getByText(`step ${HISTORY - 1}`).waitFor({ timeout: 60_000 });
			expect(await page.locator("tbody tr").count()).toBeLessThanOrEqual(ROWS_MAX);
			// One more event costs a row, not the whole list.
			const before = await measure(session);
			for (let n = 0; n < 50; n++) {
				server.emit({ type: "agent.activity", agent: "p0:a", data: { to: `late ${n}` } });
				await sleep(100);
			}
			await page.getByText("late 49").waitFor();
			const after = await measure(session);
			const share = (after.cpuS - before.cpuS) / 5;
			console.log(`events screen with ${ROWS_MAX} rows: ${(share * 100).toFixed(1)} % of a core`);
			expect(share).toBeLessThanOrEqual(0.25);
			expect(problems).toEqual([]);
		} finally {
			await browser.close();
			await server.close();
		}
	});
});
