/**
 * 500 agents at 10 events a second: the main thread of the page stays idle, and its memory flat. The short form takes
 * a minute; `REEVE_LOAD_MINUTES=10` is the long one.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { describeWithChromium } from "../support/needs.js";
import { startBrowser } from "./browser.js";
import { fixtureAgent, largeFleet } from "./fixture-fleet.js";
import { startFixtureServer } from "./fixture-server.js";

const MINUTES = Number(process.env["REEVE_LOAD_MINUTES"] ?? "0.5");
const EVENT_EVERY_MS = 100;
const SHARE_MAX = 0.05;
const GROWTH_BYTES_MAX = 3_000_000;

interface Metrics {
	readonly cpuS: number;
	readonly heapBytes: number;
}

describeWithChromium("500 agents at 10 events a second", () => {
	test("cost little work and no memory", { timeout: 900_000 }, async () => {
		const fleet = largeFleet(500);
		const server = await startFixtureServer(fleet);
		const browser = await startBrowser();
		try {
			const { page, context, problems } = await browser.open(server.url);
			await page.getByRole("button", { name: "500 agents" }).waitFor();
			const session = await context.newCDPSession(page);
			await session.send("Performance.enable");
			const measure = async (): Promise<Metrics> => {
				await session.send("HeapProfiler.collectGarbage");
				const { metrics } = await session.send("Performance.getMetrics");
				const value = (name: string) => metrics.find((each) => each.name === name)?.value ?? 0;
				// The CPU time of the main thread, not the time that it waited for a CPU.
				return { cpuS: value("ThreadTime"), heapBytes: value("JSHeapUsedSize") };
			};
			let sent = 0;
			const emit = () => {
				const agent = fleet[(sent * 37) % fleet.length];
				sent += 1;
				if (agent === undefined) return;
				const busy = sent % 2 === 0;
				const why = busy ? `Edits file ${sent}` : "Waits for a message.";
				const state = busy ? "working" : "ready";
				server.change(
					fixtureAgent(agent.id, { state, why, sinceMs: 0, memory: 300, tokens: sent }),
				);
				server.emit({
					type: "agent.activity",
					agent: agent.id,
					data: { from: "ready", to: "busy" },
				});
			};
			const timer = setInterval(emit, EVENT_EVERY_MS);
			// The first seconds compile the code.
			await sleep(10_000);
			const before = await measure();
			const startedMs = performance.now();
			await sleep(MINUTES * 60_000);
			const elapsedS = (performance.now() - startedMs) / 1_000;
			const after = await measure();
			clearInterval(timer);
			const share = (after.cpuS - before.cpuS) / elapsedS;
			const growth = after.heapBytes - before.heapBytes;
			console.log(
				`${sent} events: ${(share * 100).toFixed(1)} % of a core, heap ${(after.heapBytes / 1e6).toFixed(1)} MB (${(growth / 1e6).toFixed(2)} MB more)`,
			);
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
});
