/** Terminals over WebSockets: one client types, many watch, and a client that does not read costs nothing. */

import { once } from "node:events";
import { describe, expect, test } from "vitest";
import WebSocket from "ws";
import type { TerminalMessage } from "../../src/http/contract/streams.js";
import { eventually } from "../faults/fleet-home.js";
import { type ApiWorld, createApiWorld } from "./api-world.js";

interface Viewer {
	readonly socket: WebSocket;
	readonly reported: TerminalMessage[];
	/** Bytes that came, after the last snapshot. */
	shown: number;
	received: number;
}

async function view(api: ApiWorld, token: string, query = ""): Promise<Viewer> {
	const url = `ws://127.0.0.1:${api.port}/api/v1/agents/p:web/terminal${query}`;
	const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
	const viewer: Viewer = { socket, reported: [], shown: 0, received: 0 };
	socket.on("message", (data: Buffer, isBinary) => {
		if (isBinary) {
			viewer.shown += data.length;
			viewer.received += data.length;
			return;
		}
		const message = JSON.parse(String(data)) as TerminalMessage;
		if (message.type === "snapshot") viewer.shown = 0;
		viewer.reported.push(message);
	});
	await once(socket, "open");
	const isSet = () => viewer.reported.some(({ type }) => type === "writer");
	await eventually(isSet, "it is known who types");
	return viewer;
}

const isWriter = ({ reported }: Viewer) =>
	reported.findLast((message) => message.type === "writer")?.you === true;

const typed = ({ world }: ApiWorld) =>
	Buffer.from(world.backend.typed(world.engine.get("p:web").run?.runId ?? "")).toString();

describe("a terminal", { timeout: 60_000 }, () => {
	test("has one writer, and any viewer can take over, but none by merely connecting", async () => {
		const api = await createApiWorld();
		const token = await api.tokens.showDefault();
		const scope = { type: "operate" } as const;
		const { token: named } = await api.tokens.create({
			...{ kind: "token", name: "laptop", scope, expiresAtMs: null },
		});
		const [first, second] = [await view(api, token), await view(api, named)];
		expect([isWriter(first), isWriter(second)]).toEqual([true, false]);
		second.socket.send(Buffer.from("not taken"));
		second.socket.send(JSON.stringify({ type: "take_over" }));
		await eventually(() => !isWriter(first) && isWriter(second), "the second one types");
		expect(first.reported.at(-1), "the first one knows who").toMatchObject({
			holder: { by: "token", label: "token laptop", who: expect.stringMatching(/^token /) },
		});
		const shown = await api.client.call("GET /api/v1/agents/:id", { place: "p:web" });
		expect(shown.keyboard).toMatchObject({ by: "token", label: "token laptop" });
		first.socket.send(Buffer.from("not taken"));
		second.socket.send(Buffer.from("taken "));
		await eventually(() => typed(api).includes("taken "), "it arrives");
		second.socket.close();
		await eventually(() => isWriter(first), "the keyboard returns to the first one");
		first.socket.send(Buffer.from("back"));
		await eventually(() => typed(api).endsWith("back"), "it arrives");
		expect(typed(api)).toBe("taken back");
		first.socket.close();
		await eventually(
			async () =>
				(await api.client.call("GET /api/v1/agents/:id", { place: "p:web" })).keyboard === null,
			"it is free",
		);
		const acts = api.world.store.events.filter(({ type }) => type === "operator.acted");
		const route = "GET /api/v1/agents/:id/terminal";
		expect(acts, "each viewer who typed is recorded once").toMatchObject([
			{ agent: "p:web", data: { route, by: "token", error: null } },
			{ agent: "p:web", data: { route, by: "token", error: null } },
		]);
	});

	test("accepts no input from read-only clients, by request or by token", async () => {
		const api = await createApiWorld();
		const own = await api.tokens.showDefault();
		const scope = { type: "read" } as const;
		const { token } = await api.tokens.create({ kind: "token", scope, expiresAtMs: null });
		const writer = await view(api, own);
		for (const watcher of [await view(api, own, "?ro=1"), await view(api, token)]) {
			watcher.socket.send(JSON.stringify({ type: "take_over" }));
			watcher.socket.send(Buffer.from("no"));
			watcher.socket.send(JSON.stringify({ type: "resize", columns: 10, rows: 10 }));
			expect(isWriter(watcher)).toBe(false);
		}
		writer.socket.send(Buffer.from("yes"));
		await eventually(() => typed(api).includes("yes"), "the writer's arrives");
		expect(isWriter(writer)).toBe(true);
		expect(typed(api)).toBe("yes");
	});

	test("has the size of the writer's window, never of a viewer's", async () => {
		const api = await createApiWorld();
		const token = await api.tokens.showDefault();
		const sizes = () => api.world.backend.sizes(api.world.engine.get("p:web").run?.runId ?? "");
		const first = await view(api, token, "?columns=100&rows=30");
		await eventually(() => sizes().at(-1) === "100x30", "the writer's");
		const second = await view(api, token, "?columns=90&rows=20");
		second.socket.send(JSON.stringify({ type: "resize", columns: 91, rows: 21 }));
		await view(api, token, "?ro=1&columns=80&rows=24");
		first.socket.send(JSON.stringify({ type: "resize", columns: 101, rows: 31 }));
		await eventually(() => sizes().at(-1) === "101x31", "the writer's new one");
		expect(new Set(sizes())).toEqual(new Set(["100x30", "101x31"]));
		first.socket.close();
		second.socket.send(JSON.stringify({ type: "take_over" }));
		await eventually(() => sizes().at(-1) === "91x21", "that of the new writer");
	});

	test("of a client that floods it is closed, and no other connection", async () => {
		const api = await createApiWorld();
		const token = await api.tokens.showDefault();
		const [rude, other] = [await view(api, token), await view(api, token, "?ro=1")];
		rude.socket.on("error", () => {});
		rude.socket.send(Buffer.alloc(70_000));
		const [code] = await once(rude.socket, "close");
		expect(code).toBe(1009);
		expect(other.socket.readyState).toBe(WebSocket.OPEN);
		expect(typed(api)).toBe("");
	});

	test("sends a slow client a snapshot instead of the missed output, and all output to the others (A6)", async () => {
		const api = await createApiWorld();
		const token = await api.tokens.showDefault();
		const [slow, quick] = [await view(api, token, "?ro=1"), await view(api, token, "?ro=1")];
		slow.socket.pause();
		const [chunk, runId] = ["x".repeat(65_536), api.world.engine.get("p:web").run?.runId ?? ""];
		const before = quick.received;
		for (let n = 0; n < 400; n++) {
			api.world.backend.print(runId, chunk);
			await new Promise(setImmediate);
		}
		const all = 400 * chunk.length;
		await eventually(() => quick.received - before >= all, "the quick one has it all");
		slow.socket.resume();
		const snapshots = () => slow.reported.filter(({ type }) => type === "snapshot").length;
		await eventually(() => snapshots() > 1, "the slow one is given a snapshot");
		api.world.backend.print(runId, "the end");
		const whole = all + "the end".length;
		await eventually(() => slow.shown === whole && quick.shown === whole, "both show the same");
		expect(quick.reported.filter(({ type }) => type === "snapshot")).toHaveLength(1);
	});
});
