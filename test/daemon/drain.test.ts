/** Clients of a stopping daemon get the response, or the information that their task continues. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../faults/fleet-home.js";
import { type BrokenHome, createBrokenHome } from "./broken-home.js";

let broken: BrokenHome;
afterEach(() => broken.close(), 120_000);

test("a running call may finish and its client gets the response; one that cannot finish is reported as accepted", {
	timeout: 120_000,
}, async () => {
	broken = createBrokenHome();
	const { client, fleet } = broken;
	const { child, ended } = await broken.startChild();
	const script = join(fleet.folder, "slow.sh");
	writeFileSync(
		script,
		`#!/bin/sh
read -r line
id=$(printf %s "$line" | sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/')
sleep "$1"
printf '{"request_id":"%s","status":"success","code":0,"result":"done"}' "$id"
`,
		{ mode: 0o755 },
	);
	const call = (name: string, seconds: number) =>
		`${name}: { kind: call, command: ["${script}", "${seconds}"], timeout: 10m, concurrency: 1 }`;
	fleet.writeFleet([call("short", 7), call("long", 600)].join("\n"));
	await fleet.must("up");
	const submit = (agent: string) =>
		client.call("POST /api/v1/tasks", {
			...{ query: { wait: "60s" }, body: { agent, action: "go" } },
		});
	const look = async (id: string) =>
		client.call("GET /api/v1/tasks/:id", {
			...{ place: id, query: { wait: "2s" }, signal: AbortSignal.timeout(20_000) },
		});
	const short = submit("p:short");
	const long = submit("p:long");
	const begun = async () =>
		(await client.call("GET /api/v1/tasks")).tasks.filter(({ status }) => status === "in_progress");
	await eventually(async () => (await begun()).length === 2, "both are running");
	const queued = submit("p:long");
	await eventually(
		async () => (await client.call("GET /api/v1/tasks")).tasks.length === 3,
		"one waits for its turn",
	);
	const running = (await begun()).find(({ agent }) => agent === "p:short");
	const polled = look(running?.task_id ?? "");
	const startMs = performance.now();
	child.kill("SIGTERM");
	expect(await short).toMatchObject({ status: "succeeded", result: "done" });
	// Also a client that only asked for the next two seconds.
	expect(await polled).toMatchObject({ status: "succeeded" });
	const goesOn = {
		task_id: expect.any(String),
		reason: expect.stringMatching(
			/^accepted; the daemon is stopping, and the next daemon continues/,
		),
	};
	expect(await queued).toMatchObject({ ...goesOn, status: "queued" });
	expect(await long).toMatchObject({ ...goesOn, status: "in_progress" });
	expect(performance.now() - startMs).toBeGreaterThan(8_500);
	expect(await ended).toEqual({ code: 0, signal: null });
});
