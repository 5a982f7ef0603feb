/** The client's streams: how they end, and how they continue when the daemon goes away and comes back. */

import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { type ConnectionChange, createClient } from "../../src/client/client.js";
import { ERRORS, type ErrorCode, type ReeveError } from "../../src/core/errors.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { temporaryFolder } from "../support/reeve.js";

const sse = (seq: number) =>
	`id: ${seq}\ndata: ${JSON.stringify({ seq, at: "2031-04-05T06:07:08.000Z", type: "daemon.started", data: {} })}\n\n`;

function refuse(response: ServerResponse, code: ErrorCode): void {
	response.statusCode = ERRORS[code].httpStatus;
	response.end(JSON.stringify({ error: { code, message: `it is ${code}`, hint: "" } }));
}

/** A daemon whose nth request for a stream is answered by the nth of these; the last one answers all further ones. */
async function startStreams(
	answers: readonly ((response: ServerResponse) => void)[],
	home = temporaryFolder(),
) {
	const asked: { path: string; lastEventId: string | undefined }[] = [];
	const daemon = await startFakeDaemon(
		{},
		{
			intercept(request, response) {
				const lastEventId = request.headers["last-event-id"];
				asked.push({ path: request.url ?? "", lastEventId: lastEventId as string | undefined });
				answers[Math.min(asked.length, answers.length) - 1]?.(response);
				return true;
			},
		},
		home,
	);
	return { ...daemon, asked, client: createClient({ socketPath: `${home}/reeve.sock` }) };
}

test("aborting ends the events without an error: before the first, while waiting, and while reconnecting", async () => {
	const { client, close } = await startStreams([(response) => response.write(sse(1))]);
	expect(await collect({ signal: AbortSignal.abort() })).toEqual([]);
	const waiting = new AbortController();
	const reading = collect({ signal: waiting.signal });
	await sleep(100);
	waiting.abort();
	expect(await reading).toEqual([1]);
	const reconnecting = new AbortController();
	const other = collect({
		signal: reconnecting.signal,
		onConnection: () => reconnecting.abort(),
	});
	await sleep(100);
	await close();
	expect(await other).toEqual([1]);

	async function collect(options: object): Promise<number[]> {
		const seen: number[] = [];
		for await (const { seq } of client.events({ after: 0, follow: true, ...options }))
			seen.push(seq);
		return seen;
	}
});

test("aborting a request rejects with the abort, not with a lost connection", async () => {
	const { client } = await startStreams([(response) => response.write("{")]);
	const stop = new AbortController();
	const asking = client.call("GET /api/v1/agents", { signal: stop.signal });
	await sleep(100);
	stop.abort();
	await expect(asking).rejects.toMatchObject({ name: "AbortError" });
});

test("events continue after a clean end and after a broken connection, from the last complete one (A3)", async () => {
	const { client, asked } = await startStreams([
		(response) => response.end(sse(1) + sse(2)),
		// Event 4 is cut in the middle; a heartbeat has moved the position on to 7.
		(response) => {
			response.write(`${sse(3)}id: 7\n: still here\n\nid: 8\ndata: {"seq": 8`);
			setTimeout(() => response.destroy(), 50);
		},
		(response) => response.write(sse(8)),
	]);
	const changes: ConnectionChange[] = [];
	const seen: number[] = [];
	for await (const { seq } of client.events({
		...{ after: 0, follow: true },
		onConnection: (change) => changes.push(change),
	})) {
		seen.push(seq);
		if (seq === 8) break;
	}
	expect(seen).toEqual([1, 2, 3, 8]);
	expect(asked.map(({ lastEventId }) => lastEventId)).toEqual([undefined, "2", "7"]);
	expect(changes.map(({ state }) => state)).toEqual(["lost", "restored", "lost", "restored"]);
});

test("a stream waits for a daemon that restarts late, and fails if it stays away", async () => {
	const home = temporaryFolder();
	const first = await startStreams([(response) => response.write(sse(1))], home);
	const seen: number[] = [];
	const reading = (async () => {
		const options = { after: 0, follow: true, reconnectForMs: 3_000 };
		for await (const { seq } of first.client.events(options)) seen.push(seq);
	})();
	const failed = reading.then(
		() => null,
		(error: ReeveError) => error,
	);
	await sleep(100);
	await first.close();
	await sleep(700);
	const next = await startStreams([(response) => response.write(sse(2))], home);
	await expect.poll(() => seen, { timeout: 10_000 }).toEqual([1, 2]);
	expect(next.asked[0]?.lastEventId).toBe("1");
	await next.close();
	expect((await failed)?.code).toBe("no_daemon");
});

test.each(["events_pruned", "unauthorized", "forbidden"] as const)(
	"a stream that cannot be resumed because of %s ends with that error",
	async (code) => {
		const { client, asked } = await startStreams([
			(response) => response.end(sse(1)),
			(response) => refuse(response, code),
		]);
		const read = async () => {
			for await (const _ of client.events({ after: 0, follow: true }));
		};
		await expect(read()).rejects.toMatchObject({ code });
		expect(asked).toHaveLength(2);
	},
);

test("without `follow` a broken connection is an error, because missing data would go unnoticed", async () => {
	const { client } = await startStreams([
		(response) => {
			response.write(sse(1));
			setTimeout(() => response.destroy(), 50);
		},
	]);
	const read = async () => {
		for await (const _ of client.events({ after: 0, follow: false }));
	};
	await expect(read()).rejects.toMatchObject({ code: "connection_lost" });
});

test("a log continues at the byte where it was cut", async () => {
	const { client, asked } = await startStreams([
		(response) => {
			response.setHeader("x-log-position", "5.6:100");
			response.end("hello ");
		},
		(response) => {
			response.setHeader("x-log-position", "5.6:106");
			response.write("world");
		},
	]);
	let text = "";
	for await (const part of client.logs("p:web", { lines: 10, follow: true })) {
		text += Buffer.from(part).toString();
		if (text.endsWith("world")) break;
	}
	expect(text).toBe("hello world");
	expect(asked.map(({ path }) => path.split("?")[1])).toEqual([
		"lines=10&follow=1",
		"lines=10&follow=1&from=5.6%3A106",
	]);
});
