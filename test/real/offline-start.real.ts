/** opencode installs an npm package before it loads a plugin; its start must not depend on the network. */

import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { CLIS, type RealCli } from "./clis.js";
import { openSession } from "./session.js";

const OPENCODE = CLIS.find(({ cli }) => cli === "opencode") as RealCli;

/** Accepts connections and never answers, as a network does that drops packets. */
const sockets = new Set<Socket>();
const silent = createServer((socket) => {
	sockets.add(socket.on("error", () => {}));
});
beforeAll(() => new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
	for (const socket of sockets) socket.destroy();
	silent.close();
});

test("opencode starts and reports its turns although npm gets no response", {
	timeout: 600_000,
}, async () => {
	const { port } = silent.address() as AddressInfo;
	const env = (place: Parameters<RealCli["env"]>[0]) => ({
		...OPENCODE.env(place),
		npm_config_registry: `http://127.0.0.1:${port}/`,
	});
	// Its own start takes seconds of CPU, so the machine may be much slower than this.
	const session = await openSession({ ...OPENCODE, env }, { start_timeout: "150s" });
	onTestFinished(() => session.close());
	await session.until(
		"it is ready",
		async () => (await session.agent()).activity === "ready",
		400_000,
	);
	await session.ask("say hello");
	expect(sockets.size).toBeGreaterThan(0);
	expect(await session.events("agent.start_timeout")).toEqual([]);
	const delivered = await session.events("inbox.delivered");
	expect(delivered).toHaveLength(1);
});
