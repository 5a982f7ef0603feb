/**
 * Events for many readers, over real connections and a real store. The long form has 200 readers and
 * 10,000 events: `npm run events:many`.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEventReaders, type EventFilter } from "../../src/http/event-readers.js";
import type { Store } from "../../src/ports/store.js";
import { openStore } from "../../src/store/sqlite/open-store.js";
import { createRandom } from "../../src/testing/random.js";
import { eventually } from "../faults/fleet-home.js";
import { temporaryFolder } from "../support/reeve.js";

const READERS = Number(process.env["REEVE_EVENT_READERS"] ?? 25);
const EVENTS = Number(process.env["REEVE_EVENTS"] ?? 1_500);
/** The cost of a reader that does not read: slightly more than a page. */
const PAGE_OF_EVENTS = 100;
const BUFFERED_BYTES_MAX = 65_536;

interface Served {
	readonly store: Store;
	readonly port: number;
	/** The answers that are open, in the order of the requests. */
	readonly responses: ServerResponse[];
}

async function serve({
	filter = {} as EventFilter,
	stalledMsMax = 120_000,
	heartbeatMs = 60_000,
} = {}) {
	const opened = await openStore(join(temporaryFolder(), "reeve.db"));
	if (!opened.ok) throw new Error(opened.reason);
	const { store } = opened;
	const readers = createEventReaders(store, { stalledMsMax, heartbeatMs });
	const responses: ServerResponse[] = [];
	const server = createServer((asked, response) => {
		const gone = new AbortController();
		response.on("close", () => gone.abort());
		response.writeHead(200, { "content-type": "text/event-stream" });
		response.flushHeaders();
		responses.push(response);
		const after = Number(asked.headers["last-event-id"] ?? 0);
		void readers.follow(after, filter, response, gone.signal);
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(async () => {
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
		await store.close();
	});
	const served: Served = { store, port: (server.address() as AddressInfo).port, responses };
	return served;
}

/** More than the pipes can buffer, so that a reader that does not read really falls behind. */
const REASON = "x".repeat(Math.ceil(8_000_000 / EVENTS));

const commit = (store: Store, n: number) =>
	store.commit((transaction) =>
		transaction.appendEvent(
			{ type: "agent.waiting", agent: `p:a${n % 3}`, data: { reason: REASON } },
			1_700_000_000_000 + n,
		),
	);

async function connect(port: number, after = 0): Promise<IncomingMessage> {
	const headers = { "last-event-id": String(after) };
	const sent = request({ host: "127.0.0.1", port, headers, agent: false });
	sent.end();
	const [response] = (await once(sent, "response")) as [IncomingMessage];
	onTestFinished(() => void response.destroy());
	return response;
}

/** Notes the numbers of the events that arrive. */
function listen(response: IncomingMessage, seqs: number[]): void {
	let rest = "";
	response.setEncoding("utf8");
	response.on("error", () => {});
	response.on("data", (text: string) => {
		const blocks = (rest + text).split("\n\n");
		rest = blocks.pop() ?? "";
		for (const block of blocks) {
			const data = /^data: (.*)$/m.exec(block)?.[1];
			if (data !== undefined) seqs.push((JSON.parse(data) as { seq: number }).seq);
		}
	});
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("events", { timeout: 300_000 }, () => {
	test(`reach ${READERS} readers completely and in order, while one of them does not read (A3, A6)`, async () => {
		const { store, port, responses } = await serve();
		const stalled = await connect(port);
		stalled.pause();
		const received: number[][] = [];
		for (let reader = 1; reader < READERS; reader++) {
			const seqs: number[] = [];
			received.push(seqs);
			listen(await connect(port), seqs);
		}
		let bufferedMax = 0;
		for (let n = 1; n <= EVENTS; n++) {
			void commit(store, n);
			if (n % 20 !== 0) continue;
			await new Promise(setImmediate);
			bufferedMax = Math.max(bufferedMax, responses[0]?.writableLength ?? 0);
		}
		const isWhole = () => received.every((seqs) => seqs.length >= EVENTS);
		await eventually(isWhole, "every reader has every event", 240_000);
		expect(received.filter((seqs) => seqs.join() !== upTo(EVENTS).join())).toEqual([]);
		expect(responses[0]?.writableNeedDrain).toBe(true);
		expect(bufferedMax).toBeLessThan(BUFFERED_BYTES_MAX + PAGE_OF_EVENTS * REASON.length);
		// When it reads at last, nothing is missing for it either.
		const late: number[] = [];
		listen(stalled, late);
		stalled.resume();
		await eventually(() => late.length >= EVENTS, "the one that stalled has caught up", 240_000);
		expect(late).toEqual(upTo(EVENTS));
	});

	test("are neither lost nor repeated for readers that reconnect (A3)", async () => {
		const { store, port } = await serve();
		const random = createRandom(7);
		const seqs: number[] = [];
		let committed = 0;
		while (seqs.length < 300) {
			const response = await connect(port, seqs.at(-1) ?? 0);
			listen(response, seqs);
			const enough = seqs.length + 1 + Math.floor(random.next() * 40);
			while (committed < enough) void commit(store, ++committed);
			await eventually(() => seqs.length >= enough || committed <= seqs.length, "some arrive");
			response.destroy();
		}
		expect(seqs).toEqual(upTo(seqs.length));
	});

	test("are cut off for a reader that reads nothing for too long, which can resume (A6)", async () => {
		const { store, port, responses } = await serve({ stalledMsMax: 200 });
		const stalled = await connect(port);
		stalled.pause();
		stalled.on("error", () => {});
		let n = 0;
		const isCut = async () => {
			for (let more = 0; more < 500; more++) await commit(store, ++n);
			return responses[0]?.destroyed === true;
		};
		await eventually(isCut, "the reader is cut off");
		const seqs: number[] = [];
		listen(await connect(port, 17), seqs);
		await eventually(() => seqs.length >= n - 17, "it has the rest");
		expect(seqs).toEqual(upTo(n).slice(17));
	});

	test("are filtered, and a filtered reader learns the current position", async () => {
		const { store, port } = await serve({
			filter: { agent: "p:a1", types: ["agent."] },
			heartbeatMs: 50,
		});
		const response = await connect(port);
		let text = "";
		response.on("data", (part: Buffer) => {
			text += part;
		});
		for (let n = 1; n <= 9; n++) await commit(store, n);
		await eventually(() => text.includes("id: 9\n: still here"), "the heartbeat names the last");
		const agents = [...text.matchAll(/"agent":"(p:a\d)"/g)].map(([, agent]) => agent);
		expect(agents).toEqual(["p:a1", "p:a1", "p:a1"]);
	});
});
