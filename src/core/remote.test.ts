import { expect, test } from "vitest";
import { joinHost, remoteDelayMs, splitHost } from "./remote.js";

test("the part before the first slash is the host, if it is a name", () => {
	expect(splitHost("web:coder")).toEqual({ host: null, rest: "web:coder" });
	expect(splitHost("box/web:coder")).toEqual({ host: "box", rest: "web:coder" });
	expect(splitHost("box/*")).toEqual({ host: "box", rest: "*" });
	for (const text of ["", "/", "box/", "/web", "Box/web", "../web", "a b/web"]) {
		expect(splitHost(text)).toEqual({ host: null, rest: text });
	}
	expect(splitHost(joinHost("box", "web"))).toEqual({ host: "box", rest: "web" });
});

test("the delay before the next attempt grows from a second to half a minute, with a spread", () => {
	expect([1, 2, 3, 6, 100].map((failures) => remoteDelayMs(failures, 0.5))).toEqual([
		1_000, 2_000, 4_000, 30_000, 30_000,
	]);
	expect(remoteDelayMs(1, 0)).toBe(750);
	expect(remoteDelayMs(1, 1)).toBe(1_250);
});
