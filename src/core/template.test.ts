import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillPayload, findReferences } from "./template.js";

const RESULTS: Readonly<Record<string, unknown>> = {
	fetch: { data: { url: "https://x", sizes: [1, { deep: true }], none: null } },
	count: 7,
};
const fill = (payload: unknown) => fillPayload(payload, (task) => RESULTS[task]);

describe("fillPayload", () => {
	it("inserts the value itself if a string is a single reference", () => {
		expect(fill({ url: "${tasks.fetch.result.data.url}", n: "${tasks.count.result}" })).toEqual({
			ok: true,
			payload: { url: "https://x", n: 7 },
		});
		expect(fill(["${tasks.fetch.result.data}"])).toEqual({
			ok: true,
			payload: [{ url: "https://x", sizes: [1, { deep: true }], none: null }],
		});
	});

	it("walks through lists by number, in either spelling", () => {
		expect(fill("${tasks.fetch.result.data.sizes[1].deep}")).toEqual({ ok: true, payload: true });
		expect(fill("${tasks.fetch.result.data.sizes.0}")).toEqual({ ok: true, payload: 1 });
	});

	it("inserts strings, numbers and booleans into other text", () => {
		const text = "GET ${tasks.fetch.result.data.url}?n=${tasks.count.result}";
		expect(fill(text)).toEqual({ ok: true, payload: "GET https://x?n=7" });
	});

	it("reports the missing part and its position in the path", () => {
		expect(fill("${tasks.fetch.result.data.title.long}")).toEqual({
			ok: false,
			reason: "${tasks.fetch.result.data.title.long}: the result of fetch has no data.title",
		});
		expect(fill("a ${tasks.fetch.result.data}").ok).toBe(false);
		expect(fill("a ${tasks.fetch.result.data.none}").ok).toBe(false);
	});

	it("never evaluates anything, and finds nothing that the result does not hold itself", () => {
		for (const path of ["__proto__", "constructor.name", "toString", "data.sizes.length"]) {
			expect(fill(`\${tasks.fetch.result.${path}}`).ok).toBe(false);
		}
		expect(fill("${1 + 1}")).toMatchObject({ ok: false });
		expect(fill("${process.env.HOME}")).toMatchObject({ ok: false });
	});

	it("leaves $${ as a plain ${ and keys as they are", () => {
		expect(fill({ "${a}": "$${HOME} $5 {x}" })).toEqual({
			ok: true,
			payload: { "${a}": "${HOME} $5 {x}" },
		});
	});

	it("gives back any payload without references as it was", () => {
		fc.assert(
			fc.property(fc.jsonValue(), (payload) => {
				fc.pre(!JSON.stringify(payload).includes("${"));
				expect(fill(payload)).toEqual({ ok: true, payload });
			}),
		);
	});

	it("rejects deep nesting instead of overflowing the stack", () => {
		let deep: unknown = "x";
		for (let i = 0; i < 10_000; i++) deep = [deep];
		expect(fill(deep)).toMatchObject({ ok: false });
	});

	it("refuses a result that makes the payload too deep only together with it", () => {
		const nested = (depth: number, inner: unknown) => {
			let value = inner;
			for (let i = 0; i < depth; i++) value = [value];
			return value;
		};
		const filled = fillPayload(nested(300, "${tasks.a.result}"), () => nested(300, "x"));
		expect(filled).toMatchObject({ ok: false, reason: expect.stringMatching(/deep/) });
	});

	it("does not hide an error of its caller", () => {
		const broken = () => {
			throw new TypeError("a bug");
		};
		expect(() => fillPayload("${tasks.a.result}", broken)).toThrow(new TypeError("a bug"));
	});
});

describe("findReferences", () => {
	it("names each reference and its task, also those that are none", () => {
		const payload = {
			a: "${tasks.fetch.result.data.url} ${HOME}",
			b: ["$${x}", "${tasks.b.result}"],
		};
		expect(findReferences(payload)).toEqual([
			{ text: "tasks.fetch.result.data.url", task: "fetch", path: ["data", "url"] },
			{ text: "HOME", task: null, path: [] },
			{ text: "tasks.b.result", task: "b", path: [] },
		]);
	});
});
