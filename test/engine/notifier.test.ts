/** People are notified once of each important event, even if the daemon dies in between. */

import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Notice, NoticeRoute } from "../../src/core/notice.js";
import { runNotifier } from "../../src/engine/notifier.js";
import { createCommand } from "../../src/notify/command.js";
import { createWebhook } from "../../src/notify/webhook.js";
import type { SendResult } from "../../src/ports/notifier.js";
import { createManualClock } from "../../src/testing/manual-clock.js";
import { createMemoryStore, type MemoryStore } from "../support/memory-store.js";
import { temporaryFolder } from "../support/reeve.js";

const ALL: NoticeRoute = { name: "phone", kinds: null, agents: null, quiet: null };
const settle = async () => {
	for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
};

function createWorld(route: NoticeRoute = ALL) {
	const clock = createManualClock({ steadyMs: 0, wallMs: 1_700_000_000_000 });
	const store = createMemoryStore();
	const sent: Notice[] = [];
	const answers: SendResult[] = [];
	const world = { minute: 720, hang: false };
	const channel = {
		send: async (notice: Notice): Promise<SendResult> => {
			sent.push(notice);
			if (world.hang) await new Promise(() => {});
			return answers.shift() ?? { ok: true };
		},
	};
	function start(): () => Promise<void> {
		const stop = new AbortController();
		const parts = { store, clock, random: () => 0, routes: [{ route, channel }] };
		void runNotifier(
			{
				...parts,
				pageUrl: () => "http://127.0.0.1:7777",
				calendar: { minuteOfDay: () => world.minute },
			},
			stop.signal,
		);
		return async () => {
			stop.abort();
			await settle();
		};
	}
	return { clock, store, sent, answers, world, start };
}

const halt = (store: MemoryStore, agent: string) =>
	store.commit((transaction) =>
		transaction.appendEvent(
			{
				type: "agent.policy_changed",
				agent,
				data: { from: "degraded", to: "halted", reason: "it keeps crashing" },
			},
			1_700_000_000_000,
		),
	);

const pending = (store: MemoryStore) => store.readEffects("notification").length;

test("a channel that throws is tried as often as any other, and the other routes work", async () => {
	const store = createMemoryStore();
	const clock = createManualClock({ steadyMs: 0, wallMs: 1_700_000_000_000 });
	const sent: Notice[] = [];
	let tries = 0;
	const broken = {
		send() {
			tries += 1;
			throw Object.assign(new Error("spawn E2BIG"), { code: "E2BIG" });
		},
	};
	const works = {
		async send(notice: Notice): Promise<SendResult> {
			sent.push(notice);
			return { ok: true };
		},
	};
	const stop = new AbortController();
	const over = runNotifier(
		{
			...{ store, clock, random: () => 0, pageUrl: () => null },
			routes: [
				{ route: { ...ALL, name: "broken" }, channel: broken },
				{ route: { ...ALL, name: "works" }, channel: works },
			],
			calendar: { minuteOfDay: () => 720 },
		},
		stop.signal,
	);
	await settle();
	await halt(store, "web:coder");
	await settle();
	for (let minute = 0; minute < 60; minute++) {
		clock.advance(60_000);
		await settle();
	}
	stop.abort();
	await over;
	expect(tries).toBe(8);
	expect(sent).toHaveLength(1);
	expect(pending(store)).toBe(0);
	const failed = store
		.readEvents({ afterSeq: 0, limit: 100 })
		.flatMap((event) => (event.type === "notification.failed" ? [event.data] : []));
	expect(failed).toEqual([
		{ route: "broken", kind: "halted", attempts: 8, reason: "it cannot be sent: E2BIG" },
	]);
});

describe("people", () => {
	test("are notified of a flood once a minute, with the number of the others, also across daemons", async () => {
		const { store, sent, start, clock } = createWorld();
		const stop = start();
		await settle();
		for (let n = 0; n < 5; n++) await halt(store, "web:coder");
		await halt(store, "web:other");
		await settle();
		expect(sent.map(({ agent }) => agent)).toEqual(["web:coder", "web:other"]);
		await stop();
		const next = start();
		await settle();
		await halt(store, "web:third");
		await settle();
		clock.advance(60_000);
		await settle();
		expect(sent.map(({ agent, more }) => [agent, more])).toEqual([
			...[
				["web:coder", 0],
				["web:other", 0],
				["web:third", 0],
				["web:coder", 3],
			],
		]);
		expect(sent.at(-1)?.text).toContain("3 earlier notices of this kind about web:coder not sent");
		await halt(store, "web:coder");
		await settle();
		expect(sent).toHaveLength(4);
		clock.advance(60_000);
		await settle();
		expect(sent.at(-1)).toMatchObject({ agent: "web:coder", more: 0 });
		expect([sent.length, pending(store)]).toEqual([5, 0]);
		await next();
	});

	test("get one notice per agent and kind for a night", async () => {
		const { store, sent, clock, world, start } = createWorld({
			...ALL,
			quiet: { fromMinute: 1_320, toMinute: 420 },
		});
		world.minute = 419;
		const stop = start();
		await settle();
		for (let n = 0; n < 9; n++) await halt(store, "web:coder");
		await settle();
		expect([sent.length, pending(store)]).toEqual([0, 1]);
		world.minute = 420;
		clock.advance(60_000);
		await settle();
		expect(sent.map(({ more }) => more)).toEqual([8]);
		await stop();
	});

	test("are notified once, and not again of the same for a while", async () => {
		const { store, sent, start, clock } = createWorld();
		await halt(store, "web:past");
		const stop = start();
		await settle();
		await halt(store, "web:coder");
		await settle();
		expect(sent.map(({ agent, kind }) => [agent, kind])).toEqual([["web:coder", "halted"]]);
		clock.advance(59_999);
		await halt(store, "web:coder");
		await settle();
		expect(sent).toHaveLength(1);
		clock.advance(1);
		await settle();
		expect(sent).toHaveLength(2);
		expect(pending(store)).toBe(0);
		await stop();
	});

	test("are notified by the next daemon when one dies before or during a notification", async () => {
		const { store, sent, world, start } = createWorld();
		const first = start();
		await settle();
		await first();
		await halt(store, "web:unseen");
		world.hang = true;
		const second = start();
		await settle();
		await second();
		expect(pending(store)).toBe(1);
		world.hang = false;
		const third = start();
		await settle();
		expect(sent.map(({ agent }) => agent)).toEqual(["web:unseen", "web:unseen"]);
		expect(pending(store)).toBe(0);
		await third();
	});

	test("are notified again after a failure, and a permanent failure is an event", async () => {
		const { store, sent, answers, clock, start } = createWorld();
		const stop = start();
		await settle();
		const failure: SendResult = { ok: false, reason: "it answered 503", retryable: true };
		answers.push(...Array.from({ length: 8 }, () => failure));
		await halt(store, "web:coder");
		await settle();
		for (let minute = 0; minute < 60 && pending(store) > 0; minute++) {
			clock.advance(60_000);
			await settle();
		}
		expect(sent).toHaveLength(8);
		expect(store.events.at(-1)).toMatchObject({
			type: "notification.failed",
			data: { route: "phone", kind: "halted", attempts: 8, reason: "it answered 503" },
		});
		await stop();
	});

	test("get no notification in their quiet hours, but afterwards", async () => {
		const night = { fromMinute: 1_320, toMinute: 420 };
		const { store, sent, clock, world, start } = createWorld({ ...ALL, quiet: night });
		world.minute = 300;
		const stop = start();
		await settle();
		await halt(store, "web:coder");
		await settle();
		expect(sent).toEqual([]);
		for (let minute = 0; minute < 121; minute++) {
			clock.advance(60_000);
			await settle();
		}
		expect(sent).toHaveLength(1);
		await stop();
	});
});

const NOTICE: Notice = {
	...{ kind: "halted", agent: "web:coder", title: "web:coder was halted", text: "why" },
	...{ task: null, at: "2031-04-05T06:07:08.000Z", seq: 7, needs_you: true, question: null },
	link: "http://127.0.0.1:7777/#/agents/web:coder",
};

async function receive(status: number) {
	const received: { headers: Record<string, unknown>; body: string }[] = [];
	const server = createServer(async (asked, response) => {
		received.push({ headers: asked.headers, body: await text(asked) });
		response.statusCode = status;
		response.end();
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
	return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret` };
}

describe("a channel", () => {
	test("signs its posts, so that they can be verified", async () => {
		const { received, url } = await receive(204);
		const nowMs = () => 1_700_000_000_123;
		const channel = createWebhook({ url, secret: "s3", shape: "plain", nowMs });
		expect(await channel.send(NOTICE)).toEqual({ ok: true });
		const [{ headers, body } = { headers: {}, body: "" }] = received;
		expect(JSON.parse(body)).toEqual(NOTICE);
		const hex = createHmac("sha256", "s3").update(`1700000000.${body}`).digest("hex");
		expect(headers["x-reeve-signature"]).toBe(`t=1700000000,v1=${hex}`);
	});

	test("uses the formats of Slack and ntfy", async () => {
		const { received, url } = await receive(200);
		for (const shape of ["slack", "ntfy"] as const) {
			await createWebhook({ url, secret: null, shape, nowMs: Date.now }).send(NOTICE);
		}
		expect(JSON.parse(received[0]?.body ?? "")).toEqual({
			text: `*web:coder was halted*\nwhy\n${NOTICE.link}`,
		});
		expect(received[1]?.headers["click"]).toBe(NOTICE.link);
		expect(received[1]).toMatchObject({ body: "why", headers: { title: "web:coder was halted" } });
	});

	test("reports whether a retry makes sense, and never its address (A5)", async () => {
		const results: SendResult[] = [];
		for (const status of [400, 429, 503]) {
			const { url } = await receive(status);
			const channel = createWebhook({ url, secret: null, shape: "plain", nowMs: Date.now });
			results.push(await channel.send(NOTICE));
		}
		const nowhere = { url: "http://127.0.0.1:1/secret", secret: null, nowMs: Date.now } as const;
		results.push(await createWebhook({ ...nowhere, shape: "plain" }).send(NOTICE));
		expect(results).toMatchObject([
			{ retryable: false },
			{ retryable: true },
			{ retryable: true },
			{ retryable: true },
		]);
		expect(JSON.stringify(results)).not.toContain("secret");
	});

	test("passes the notification to a program, and reports its exit", async () => {
		const path = join(temporaryFolder(), "notice");
		const write = `require("fs").writeFileSync(process.argv[1], require("fs").readFileSync(0))`;
		const channel = createCommand([process.execPath, "-e", write, path]);
		expect(await channel.send(NOTICE)).toEqual({ ok: true });
		expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(NOTICE);
		const failing = createCommand([process.execPath, "-e", "process.exit(3)"]);
		expect(await failing.send(NOTICE)).toMatchObject({ ok: false, retryable: true });
		expect(await createCommand(["no-such-program"]).send(NOTICE)).toMatchObject({
			...{ ok: false, retryable: false },
		});
	});
});
