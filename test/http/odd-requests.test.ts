/** No malformed request is answered with "internal": each has a specific error. */

import { expect, onTestFinished, test } from "vitest";
import { ALL_ROUTES } from "../../src/http/router.js";
import { createApiWorld } from "./api-world.js";

const DEEP = 50_000;
const deepList = `${"[".repeat(DEEP)}${"]".repeat(DEEP)}`;
const deepObject = `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`;

/** Values of every type, and keys that mean something to JavaScript itself. */
const VALUES = [
	...["null", "true", "0", "-1", "1e308", "1e999", '""', '"\\u0000"', '"\\ud800"', "[]", "{}"],
	...[`"${"x".repeat(100_000)}"`, '{"__proto__":{"a":1}}', '{"constructor":{"prototype":{}}}'],
	...['{"toString":1}', '{"hasOwnProperty":1}', '"../../etc/passwd"', '"__proto__"'],
];

const KEYS = [
	...["agent", "action", "payload", "context", "tool", "tasks", "name", "text", "submit", "scope"],
	...["fleet", "file", "agents", "timeout_ms", "answer", "question", "fresh", "expires_in_ms"],
];

const BODIES = [
	...["[]", "null", "1", '"text"', "{", deepList, deepObject],
	...[deepList, deepObject].map(
		(deep) => `{"agent":"p:tool","action":"echo","text":"x","payload":${deep}}`,
	),
	...VALUES.map((value) => `{${KEYS.map((key) => `"${key}":${value}`).join(",")}}`),
	...VALUES.map((value) => `{"agent":"p:tool","action":"echo","payload":${value}}`),
	'{"agent":"p:tool","action":"echo","__proto__":{"payload":1}}',
];

const PLACES = ["p:web", "p:tool", "p", "__proto__", "constructor", "p:__proto__", "%00", "%ff"];
const QUERIES = [
	...["", "?wait=9e99s", "?wait=-1s", "?limit=1e9", "?after=-1", "?after=99999999999999999999"],
	...["?__proto__=1&constructor=2", "?follow=0&lines=99999999999", "?since=yesterday", "?code=%00"],
	...["?before=__proto__&status=toString&agent=%00"],
];

const isStream = (name: string) => name.endsWith("/terminal") || name.endsWith("/screen/stream");

test("every route answers malformed bodies, paths and queries without an internal error", {
	timeout: 120_000,
}, async () => {
	const { raw, failures, world } = await createApiWorld();
	const failed: string[] = [];
	// Drains and start limits need time to pass.
	const passing = setInterval(() => world.clock.advance(1_000), 2);
	onTestFinished(() => clearInterval(passing));
	const ask = async (method: string, path: string, body?: string) => {
		const headers = {
			host: "localhost",
			...(body !== undefined && { "content-type": "application/json" }),
		};
		const answer = raw({ method, path, headers, ...(body !== undefined && { body }) });
		const late = new Promise<never>((_, reject) => {
			setTimeout(() => reject(new Error(`no answer: ${method} ${path} ${body}`)), 20_000).unref();
		});
		const { status, body: reported } = await Promise.race([answer, late]);
		if (status >= 500 && status !== 503 && status !== 502) {
			failed.push(`${method} ${path} ${body?.slice(0, 100)}: ${status} ${reported.slice(0, 200)}`);
		}
	};
	for (const { name, method, path } of ALL_ROUTES) {
		if (isStream(name)) continue;
		const places = path.includes(":") ? PLACES : [""];
		for (const place of places) {
			const at = path.replace(/:\w+/, place);
			for (const query of QUERIES)
				await ask(method, `${at}${query}`, method === "GET" ? undefined : "{}");
		}
		if (method === "GET") continue;
		const at = path.replace(/:\w+/, "p:web");
		for (const body of BODIES) await ask(method, at, body);
		await world.settle();
	}
	expect(failed).toEqual([]);
	expect(failures).toEqual([]);
});

test("a payload that is nested too deeply is refused by an error of its own", async () => {
	const { raw } = await createApiWorld();
	const { status, body } = await raw({
		...{ method: "POST", path: "/api/v1/tasks" },
		headers: { host: "localhost", "content-type": "application/json" },
		body: `{"agent":"p:tool","action":"echo","payload":${deepList}}`,
	});
	expect({ status, body: JSON.parse(body) }).toMatchObject({
		status: 400,
		body: { error: { code: "body_too_deep" } },
	});
});
