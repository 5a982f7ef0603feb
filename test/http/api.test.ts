/** Basics for any program that uses the API directly: ids, errors, bounds. */

import { Validator } from "@seriousme/openapi-schema-validator";
import { type Document, OpenAPIClientAxios } from "openapi-client-axios";
import { describe, expect, test } from "vitest";
import { ERRORS } from "../../src/core/errors.js";
import { errorReply } from "../../src/http/contract/shapes.js";
import { createApiWorld, type RawRequest } from "./api-world.js";

const JSON_TYPE = { "content-type": "application/json" };
const post = (path: string, body: string | Buffer, headers = JSON_TYPE): RawRequest => ({
	...{ method: "POST", path, headers, body },
});

describe("a failure", () => {
	const failures: readonly [string, RawRequest, keyof typeof ERRORS][] = [
		["an unknown path", { path: "/api/v1/nothing" }, "no_route"],
		["a path that climbs", { path: "/api/v1/../../health/.." }, "no_route"],
		["the wrong method", { method: "DELETE", path: "/api/v1/agents" }, "method_not_allowed"],
		["an unknown agent", { path: "/api/v1/agents/p:missing" }, "agent_not_found"],
		["a broken escape", { path: "/api/v1/agents/%zz" }, "no_route"],
		["a body that is no JSON", post("/api/v1/fleet/up", "{"), "validation_failed"],
		["a body of no type", post("/api/v1/fleet/up", "{}", {} as never), "unsupported_media_type"],
		[
			"a form",
			post("/api/v1/fleet/up", "a=b", { "content-type": "text/plain" }),
			"unsupported_media_type",
		],
		["a missing field", post("/api/v1/agents/p:web/answer", "{}"), "validation_failed"],
		[
			"a payload nested 50,000 deep",
			post(
				"/api/v1/tasks",
				`{"agent":"p:tool","action":"go","payload":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
			),
			"body_too_deep",
		],
		[
			"a plan task named __proto__",
			post(
				"/api/v1/plans",
				'{"tasks":{"a":{"agent":"p:tool","action":"go"},"__proto__":{"agent":"p:tool","action":"go"}}}',
			),
			"validation_failed",
		],
		["no fleet", post("/api/v1/fleet/up", '{"fleet":1,"scope":"*"}'), "validation_failed"],
		["a bad query", { path: "/api/v1/events?after=-1" }, "validation_failed"],
		[
			"a plain request for a WebSocket",
			{ path: "/api/v1/agents/p:web/terminal" },
			"upgrade_required",
		],
		["a screen of what does not run", { path: "/api/v1/agents/p:db/screen" }, "not_running"],
		["a body too large", post("/api/v1/fleet/up", Buffer.alloc(9_000_000, 32)), "body_too_large"],
	];

	test.each(failures)(
		"from %s has the common shape and the right status",
		async (_, asked, code) => {
			const { raw, failures: unexpected } = await createApiWorld();
			const { status, headers, body } = await raw(asked);
			const { error } = errorReply.parse(JSON.parse(body));
			expect({ status, code: error.code }).toEqual({ status: ERRORS[code].httpStatus, code });
			expect(error.hint).not.toBe("");
			expect(error.correlation_id).toBe(headers["x-correlation-id"]);
			expect(unexpected).toEqual([]);
		},
	);

	test("names every field that is wrong", async () => {
		const { raw } = await createApiWorld();
		const { body } = await raw(post("/api/v1/agents/p:web/send", '{"submit":"yes"}'));
		const { details } = errorReply.parse(JSON.parse(body)).error;
		expect(details).toMatchObject({ issues: [{ path: "text" }, { path: "submit" }] });
	});

	test("that is unexpected appears in the log only (A5)", async () => {
		const { raw, world, failures: unexpected } = await createApiWorld();
		world.engine.list = () => {
			throw new Error("the password is hunter2");
		};
		const { status, body } = await raw({ path: "/api/v1/agents" });
		expect(status).toBe(500);
		expect(body).not.toContain("hunter2");
		expect(String(unexpected[0])).toContain("hunter2");
	});
});

describe("ids", () => {
	test("are generated if missing, and returned if given", async () => {
		const { raw } = await createApiWorld();
		const made = (await raw({ path: "/health" })).headers;
		expect(made["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
		expect(made["x-correlation-id"]).toBe(made["x-request-id"]);
		const headers = { "x-request-id": "r-1", "x-correlation-id": "order:17" };
		const given = (await raw({ path: "/health", headers })).headers;
		expect(given).toMatchObject(headers);
	});

	test("that are not safe in a log are not used", async () => {
		const { raw } = await createApiWorld();
		const headers = { "x-correlation-id": "a b{}" };
		expect((await raw({ path: "/health", headers })).headers["x-correlation-id"]).not.toBe("a b{}");
	});
});

test("the API's own description is valid OpenAPI 3.1", async () => {
	const { client } = await createApiWorld();
	const validator = new Validator();
	const { valid, errors } = await validator.validate(await client.openApi());
	expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
	expect(validator.version).toBe("3.1");
});

test("a client that another tool generates from the description works", async () => {
	const { client, port, tokens } = await createApiWorld();
	const definition = (await client.openApi()) as unknown as Document;
	const made = new OpenAPIClientAxios({
		definition,
		withServer: { url: `http://127.0.0.1:${port}` },
		axiosConfigDefaults: { headers: { authorization: `Bearer ${await tokens.showDefault()}` } },
	});
	const operations = await made.init();
	const ask = async (name: string, ...args: [string?, object?]) =>
		(await operations[name]?.(...args))?.data;
	expect(await ask("getAgents")).toMatchObject({
		agents: [{ id: "p:web" }, { id: "p:db" }, { id: "p:tool" }],
	});
	expect(await ask("getAgentsId", "p:web")).toMatchObject({ id: "p:web", exits: [] });
	const stopped = { agents: [{ id: "p:web", outcome: "graceful" }] };
	expect(await ask("postAgentsScopeDown", "p:web", {})).toMatchObject(stopped);
});

describe("the list of agents", () => {
	test("is filtered and paged", async () => {
		const { client } = await createApiWorld();
		const ids = async (query: object) =>
			(await client.call("GET /api/v1/agents", { query })).agents.map(({ id }) => id);
		expect(await ids({ process: "running" })).toEqual(["p:web"]);
		expect(await ids({ project: "q" })).toEqual([]);
		expect(await ids({ kind: "call" })).toEqual(["p:tool"]);
		const walked: string[] = [];
		let after: string | undefined;
		do {
			const query = { limit: 1, ...(after !== undefined && { after }) };
			const page = await client.call("GET /api/v1/agents", { query });
			walked.push(...page.agents.map(({ id }) => id));
			after = page.next ?? undefined;
		} while (after !== undefined);
		expect(walked).toEqual(["p:web", "p:db", "p:tool"]);
	});

	test("has a tag that changes when something happens, and not with the time", async () => {
		const { raw, world, client } = await createApiWorld();
		await world.pass(5_000);
		const { headers } = await raw({ path: "/api/v1/agents" });
		const ask = () =>
			raw({ path: "/api/v1/agents", headers: { "if-none-match": headers.etag ?? "" } });
		world.clock.advance(5_000);
		expect(await ask()).toMatchObject({ status: 304, body: "" });
		await client.call("POST /api/v1/agents/:scope/down", { place: "p:web", body: {} });
		expect((await ask()).status).toBe(200);
	});

	test("matches its tag in a list of tags, and no malformed list", async () => {
		const { raw, world } = await createApiWorld();
		await world.pass(5_000);
		const { headers } = await raw({ path: "/api/v1/agents" });
		const ask = async (tags: string) =>
			(await raw({ path: "/api/v1/agents", headers: { "if-none-match": tags } })).status;
		expect(await ask(`W/"other", ${headers.etag} , "x"`)).toBe(304);
		// As long as headers may be: splitting at spaces and commas by a pattern would be quadratic.
		for (const filler of [" ", ",", " ,", "\t", '"']) {
			expect(await ask(`a${filler.repeat(12_000 / filler.length)}b`)).toBe(200);
		}
	});

	test("is never older than earlier responses", async () => {
		const { client } = await createApiWorld();
		const processOf = async () => (await client.call("GET /api/v1/agents")).agents[0]?.process;
		expect(await processOf()).toBe("running");
		await client.call("POST /api/v1/agents/:scope/down", { place: "p:web", body: {} });
		expect(await processOf()).toBe("stopped");
	});
});
