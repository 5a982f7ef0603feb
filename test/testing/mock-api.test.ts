import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMockApi, type MockApi } from "../../src/testing/mock-api/mock-api.js";

let api: MockApi;
beforeEach(async () => {
	api = await createMockApi();
});
afterEach(() => api.close());

interface Spoken {
	readonly path: (isStream: boolean) => string;
	readonly body: (prompt: string, isStream: boolean) => object;
	/** The text of an answer, whole or in events. */
	readonly text: (json: unknown[]) => string;
	readonly tool: (json: unknown[]) => { name: string; input: unknown };
}

// biome-ignore lint/suspicious/noExplicitAny: the shapes are what is under test.
type Json = any;
const tools = { name: "shell", description: "runs it", parameters: {} };

const APIS: Readonly<Record<string, Spoken>> = {
	anthropic: {
		path: () => "/v1/messages",
		body: (content, stream) => ({
			...{ model: "m", stream, messages: [{ role: "user", content }] },
			tools: [{ name: "shell" }],
		}),
		text: (json) =>
			json
				.flatMap((each: Json) => each.content ?? [each.delta])
				.map((part: Json) => part?.text ?? "")
				.join(""),
		tool: (json) => {
			const whole = (json as Json[]).flatMap((each) => each.content ?? []);
			const begun = (json as Json[]).map((each) => each.content_block);
			const { name, input } = [...whole, ...begun].find((part) => part?.type === "tool_use");
			const piece = (json as Json[]).find((each) => each.delta?.partial_json)?.delta;
			return { name, input: piece === undefined ? input : JSON.parse(piece.partial_json) };
		},
	},
	"openai-responses": {
		path: () => "/v1/responses",
		body: (text, stream) => ({
			...{ model: "m", stream, tools: [{ type: "function", ...tools }] },
			input: [{ role: "user", content: [{ type: "input_text", text }] }],
		}),
		text: (json) =>
			(json as Json[])
				.map((each) => each.output?.[0]?.content[0].text ?? (each.item_id && each.delta) ?? "")
				.join(""),
		tool: (json) => {
			const last = (json as Json[]).at(-1);
			const call = (last.response ?? last).output.find((i: Json) => i.type === "function_call");
			return { name: call.name, input: JSON.parse(call.arguments) };
		},
	},
	"openai-chat": {
		path: () => "/v1/chat/completions",
		body: (content, stream) => ({
			...{ model: "m", stream, messages: [{ role: "user", content }] },
			tools: [{ type: "function", function: tools }],
		}),
		text: (json) =>
			(json as Json[])
				.flatMap((each) => each.choices)
				.map((choice) => (choice.message ?? choice.delta).content ?? "")
				.join(""),
		tool: (json) => {
			const parts = (json as Json[]).flatMap((each) => each.choices);
			const made = parts.map((choice) => (choice.message ?? choice.delta).tool_calls).find(Boolean);
			return { name: made[0].function.name, input: JSON.parse(made[0].function.arguments) };
		},
	},
	gemini: {
		path: (isStream) =>
			isStream
				? "/v1beta/models/m:streamGenerateContent?alt=sse"
				: "/v1beta/models/m:generateContent",
		body: (text) => ({
			contents: [{ role: "user", parts: [{ text }] }],
			tools: [{ functionDeclarations: [tools] }],
		}),
		text: (json) =>
			(json as Json[])
				.flatMap((each) => each.candidates[0].content.parts)
				.map((part) => part.text ?? "")
				.join(""),
		tool: (json) => {
			const parts = (json as Json[]).flatMap((each) => each.candidates[0].content.parts);
			const { name, args } = parts.find((part) => part.functionCall).functionCall;
			return { name, input: args };
		},
	},
};

async function ask(spoken: Spoken, prompt: string, isStream: boolean): Promise<Response> {
	return fetch(api.url + spoken.path(isStream), {
		method: "POST",
		headers: { "content-type": "application/json", "x-api-key": "k" },
		body: JSON.stringify(spoken.body(prompt, isStream)),
	});
}

/** The one answer, or the data of each event. */
async function read(response: Response): Promise<unknown[]> {
	const text = await response.text();
	if (!response.headers.get("content-type")?.includes("event-stream")) return [JSON.parse(text)];
	return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? ""));
}

describe.each(Object.entries(APIS))("the mock API in the format of %s", (name, spoken) => {
	test.each([
		["whole", false],
		["as a stream", true],
	])("answers by its script, %s", async (_, isStream) => {
		api.script({ when: "weather", reply: { text: "It rains today." } });
		expect(spoken.text(await read(await ask(spoken, "the weather?", isStream)))).toBe(
			"It rains today.",
		);
		expect(spoken.text(await read(await ask(spoken, "hello", isStream)))).toBe(
			"The mock received: hello",
		);
	});

	test.each([
		["whole", false],
		["as a stream", true],
	])("calls a tool, %s", async (_, isStream) => {
		const tool = { name: "shell", input: { command: "ls -l" } };
		api.script({ times: 1, reply: { tool } });
		expect(spoken.tool(await read(await ask(spoken, "list", isStream)))).toEqual(tool);
	});

	test("records the requests", async () => {
		await ask(spoken, "remember me", true);
		expect(api.requests).toMatchObject([
			{ api: name, model: "m", prompt: "remember me", userMessages: 1, tools: ["shell"] },
		]);
		expect(api.requests[0]?.headers["x-api-key"]).toBe("k");
	});

	test.each([401, 429, 500, 529])("fails with %i", async (status) => {
		api.script({ reply: { status, retryAfterSeconds: 7, message: "not now" } });
		const response = await ask(spoken, "hello", true);
		expect(response.status).toBe(status);
		expect(response.headers.get("retry-after")).toBe("7");
		expect(await response.text()).toContain("not now");
	});

	test("breaks off in the middle of a stream", async () => {
		const text = "a long answer of many words";
		api.script({ times: 1, reply: { text, pieces: 9, breaks: "reset" } });
		await expect(ask(spoken, "hello", true).then((response) => response.text())).rejects.toThrow();
		api.script({ times: 1, reply: { connection: "reset" } });
		await expect(ask(spoken, "hello", true)).rejects.toThrow();
	});

	test("stays silent until it is closed", async () => {
		api.script({ reply: { connection: "silence" } });
		let isAnswered = false;
		const asked = ask(spoken, "hello", true).finally(() => {
			isAnswered = true;
		});
		await expect.poll(() => api.requests.length).toBe(1);
		expect(isAnswered).toBe(false);
		await Promise.all([api.close(), expect(asked).rejects.toThrow()]);
		api = await createMockApi();
	});
});

describe("the mock API", () => {
	const post = (path: string, body: unknown) =>
		fetch(api.url + path, { method: "POST", body: JSON.stringify(body) });

	test("reports when a usage limit ends, if the API does so", async () => {
		const limitResetsAtMs = Date.UTC(2030, 0, 1);
		api.script({ reply: { status: 429, limitResetsAtMs } });
		const seconds = String(limitResetsAtMs / 1000);
		const claude = await post("/v1/messages", { messages: [] });
		expect(claude.headers.get("anthropic-ratelimit-unified-reset")).toBe(seconds);
		const codex = await post("/v1/responses", { input: "hi" });
		expect(((await codex.json()) as Json).error).toMatchObject({
			...{ type: "usage_limit_reached", resets_at: Number(seconds) },
		});
	});

	test("reports a refusal of the model", async () => {
		api.script({ reply: { text: "I will not.", refuses: true } });
		const message = { role: "user", content: "hi" };
		const claude = await post("/v1/messages", { messages: [message] });
		expect(await claude.json()).toMatchObject({ stop_reason: "refusal" });
		const chat = await post("/v1/chat/completions", { messages: [message] });
		expect(((await chat.json()) as Json).choices[0].finish_reason).toBe("content_filter");
	});

	test("responds with JSON to requests for JSON, regardless of the script", async () => {
		api.script({ reply: { text: "plain words" } });
		const properties = {
			choice: { type: "string", enum: ["fast", "slow"] },
			n: { type: "INTEGER" },
		};
		const generationConfig = {
			...{ responseMimeType: "application/json" },
			responseJsonSchema: { type: "object", properties },
		};
		const contents = [{ role: "user", parts: [{ text: "which?" }] }];
		const reply = await post("/v1beta/models/m:generateContent", { contents, generationConfig });
		expect(JSON.parse(((await reply.json()) as Json).candidates[0].content.parts[0].text)).toEqual({
			...{ choice: "fast", n: 1 },
		});
	});

	test("does not call a tool again when it gets the result", async () => {
		const reply = { tool: { name: "shell", input: {} } };
		api.script({ reply });
		const content = [{ type: "tool_result", tool_use_id: "t", content: "done" }];
		const answer = await post("/v1/messages", { messages: [{ role: "user", content }] });
		expect(await answer.json()).toMatchObject({ stop_reason: "end_turn" });
	});

	test("counts tokens, lists a model, and reports unknown routes", async () => {
		expect(await (await post("/v1/messages/count_tokens", { messages: [] })).json()).toEqual({
			input_tokens: expect.any(Number),
		});
		expect(await (await fetch(`${api.url}/v1/models`)).json()).toMatchObject({
			data: [{ id: "mock-1" }],
		});
		const unknown = await fetch(`${api.url}/v2/all`);
		expect([unknown.status, await unknown.text()]).toEqual([
			404,
			expect.stringContaining("/v2/all"),
		]);
	});

	test("applies its rules in order, each for its number of times, newer ones first", async () => {
		const asked = async () => {
			const reply = await post("/v1/messages", { messages: [{ role: "user", content: "hi" }] });
			return ((await reply.json()) as Json).content?.[0].text ?? reply.status;
		};
		api.script({ times: 1, reply: { status: 500 } }, { times: 2, reply: { text: "second" } });
		expect([await asked(), await asked()]).toEqual([500, "second"]);
		api.script({ times: 1, reply: { text: "newer" } });
		expect([await asked(), await asked(), await asked()]).toEqual([
			...["newer", "second", "The mock received: hi"],
		]);
	});
});
