/** Every route of a real daemon while its disk is full or its database locked: answered, and never with "internal". */

import { mkdirSync, rmSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { ALL_ROUTES } from "../../src/http/router.js";
import { connect, fill, mountDisk } from "../store/support.js";
import { createFleetHome, type FleetHome } from "./fleet-home.js";

let home: FleetHome;
afterEach(() => home.close(), 120_000);

const BODY = {
	...{ agent: "p:tool", action: "x", payload: { text: "y".repeat(20_000) }, text: "hello" },
	...{ answer: "stop", question: "what?", name: "n", scope: "read", message: "m" },
	tasks: { a: { agent: "p:tool", action: "x" } },
};
/** These end the daemon or stay open; other tests cover them. */
const LEFT_OUT = /daemon\/stop|daemon\/shutdown|\/terminal$|\/screen\/stream$|\/events$|\/logs$/;
const ANSWER_MS_MAX = 30_000;

interface Answer {
	readonly route: string;
	readonly status: number | string;
	readonly body: string;
}

function ask(method: string, path: string): Promise<Answer> {
	const route = `${method} ${path}`;
	const socketPath = join(home.env["REEVE_HOME"] ?? "", "reeve.sock");
	const headers = { host: "localhost", "content-type": "application/json" };
	return new Promise((resolve) => {
		const sent = request({ socketPath, method, path, headers }, async (response) => {
			resolve({ route, status: response.statusCode ?? 0, body: await text(response) });
		});
		sent.setTimeout(ANSWER_MS_MAX, () => sent.destroy(new Error("no answer")));
		sent.on("error", ({ message }) => resolve({ route, status: message, body: "" }));
		sent.end(method === "GET" ? undefined : JSON.stringify(BODY));
	});
}

async function walkRoutes(): Promise<readonly Answer[]> {
	const answers: Answer[] = [];
	for (const { method, path } of ALL_ROUTES) {
		if (LEFT_OUT.test(path)) continue;
		const places = path.includes(":") ? ["p:a", "p:tool", "unknown"] : [""];
		for (const place of places) answers.push(await ask(method, path.replace(/:\w+/, place)));
	}
	return answers;
}

async function expectAnswers(): Promise<void> {
	const answers = await walkRoutes();
	const failed = answers.filter(({ status }) => typeof status === "string" || status === 500);
	expect(failed).toEqual([]);
	expect(answers.filter(({ status }) => status === 503).length).toBeGreaterThan(5);
}

const FLEET = "a: { command: [sleep, '1000'], backend: pty }\ntool: { kind: call, command: [cat] }";

test("no route has an internal error or hangs while the disk is full", {
	timeout: 600_000,
}, async (context) => {
	const disk = mountDisk(16_384);
	if (typeof disk === "string") {
		home = createFleetHome();
		return context.skip(disk);
	}
	const folder = join(disk.folder, "fleet");
	mkdirSync(folder);
	home = createFleetHome({}, folder);
	home.writeFleet(FLEET);
	await home.must("up");
	const ballast = join(disk.folder, "ballast");
	fill(ballast);
	await expectAnswers().finally(() => rmSync(ballast));
});

test("no route has an internal error or hangs while the database is locked", {
	timeout: 600_000,
}, async () => {
	home = createFleetHome();
	home.writeFleet(FLEET);
	await home.must("up");
	const other = await connect(join(home.env["REEVE_HOME"] ?? "", "reeve.db"));
	other.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE");
	await expectAnswers().finally(() => other.exec("ROLLBACK"));
});
