/** Events over real connections, from daemons that are killed: nothing is lost, nothing repeated (A3). */

import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

let fleet: FleetHome | null = null;
afterEach(() => fleet?.close());

test("a client that follows has every event once, across kill -9 of the daemon", {
	timeout: 180_000,
}, async () => {
	fleet = createFleetHome();
	const { must, killDaemon, env } = fleet;
	const client = createClient({ socketPath: join(env["REEVE_HOME"] ?? "", "reeve.sock") });
	const seen: number[] = [];
	const types: string[] = [];
	const stop = new AbortController();
	const read = async () => {
		const options = { after: 0, follow: true, signal: stop.signal };
		for await (const event of client.events(options)) {
			seen.push(event.seq);
			types.push(event.type);
		}
	};
	await must("daemon", "start");
	const reading = read();
	for (let life = 1; life <= 3; life++) {
		await must("token", "rotate");
		const started = () => types.filter((type) => type === "daemon.started").length >= life;
		await eventually(started, "the reader gets events of the new daemon");
		await killDaemon();
		await must("daemon", "start");
	}
	const last = async () => {
		let seq = 0;
		for await (const event of client.events({ after: 0, follow: false })) seq = event.seq;
		return seq;
	};
	const target = await last();
	await eventually(() => (seen.at(-1) ?? 0) >= target, "the reader has everything");
	expect(seen).toEqual(seen.map((_, index) => index + 1));
	stop.abort();
	await reading;
});
