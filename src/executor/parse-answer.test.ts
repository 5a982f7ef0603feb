import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseAnswer, parseAnswerLine, quote } from "./parse-answer.js";

const answer = (requestId: string, more: object = {}) =>
	JSON.stringify({ request_id: requestId, status: "success", code: 0, ...more });
const parse = (text: string) => parseAnswer(Buffer.from(text), "r-1", "tolerate");
const resultOf = (text: string) => {
	const parsed = parse(text);
	return parsed.ok ? parsed.response.result : parsed.detail;
};

test("an answer is found among other output", () => {
	const noise = fc.array(fc.oneof(fc.string(), fc.json(), fc.constantFrom("{", "}", "[", '"')));
	fc.assert(
		fc.property(noise, fc.jsonValue(), fc.boolean(), (lines, result, isPretty) => {
			const before = lines.map((line) => line.replaceAll("\n", " ")).join("\n");
			const value = JSON.parse(answer("r-1", { result }));
			const text = JSON.stringify(value, null, isPretty ? 2 : 0);
			expect(resultOf(`${before}\n${text}\n`)).toEqual(value.result);
		}),
	);
});

test("of several answers the last one to this request counts", () => {
	const text = [
		answer("r-1", { result: 1 }),
		answer("r-1", { result: 2 }),
		answer("r-2", { result: 3 }),
	].join("\n");
	expect(resultOf(text)).toBe(2);
});

test("without an answer to this request, the last one explains the failure", () => {
	const parsed = parse([answer("r-2"), answer("r-3"), "bye"].join("\n"));
	expect(parsed.ok && parsed.response.request_id).toBe("r-3");
});

test.each(["tolerate", "refuse"] as const)(
	"JSON without a request_id is called that, and not missing JSON: %s",
	(extraOutput) => {
		const text = '{"status":"success","result":1}\n';
		const parsed = parseAnswer(Buffer.from(text), "r-1", extraOutput);
		expect(parsed).toEqual({
			ok: false,
			detail: `the response is not an object with the request_id of the request: ${quote(text)}`,
		});
	},
);

test("the last line is the one that is explained", () => {
	expect(resultOf('Loading\n{"status":"success"}\n')).toContain("with the request_id");
	expect(resultOf("Loading\ndone\n")).toContain("printed no JSON response");
});

test("megabytes of braces are abandoned, not searched forever", () => {
	expect(resultOf("{\n".repeat(1_000_000))).toMatch(/^printed no JSON response: "\{\\n\{/);
});

test("a broken line of a worker still names its request", () => {
	expect(parseAnswerLine(Buffer.from(answer("q-1")))).toMatchObject({
		requestId: "q-1",
		parsed: { ok: true },
	});
	expect(parseAnswerLine(Buffer.from('{"request_id":"q-2"}'))).toMatchObject({
		requestId: "q-2",
		parsed: { ok: false },
	});
	for (const line of ["", "Loading", "[1]", "{}", '{"request_id":1}']) {
		expect(parseAnswerLine(Buffer.from(line))).toBeNull();
	}
});

test("quoted output is short and sanitised", () => {
	expect(quote(" \u001b[2Jhello\n")).toBe('"\\u001b[2Jhello"');
	expect(quote("x".repeat(500))).toBe(`"${"x".repeat(120)}"…`);
});
