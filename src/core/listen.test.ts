import { describe, expect, test } from "vitest";
import { hostsOf, type ListenAddress, parseListen, renderListen } from "./listen.js";

describe("an address to listen at", () => {
	test("is a host and a port, and detects loopback addresses", () => {
		expect(parseListen("127.0.0.1:4270")).toEqual({
			host: "127.0.0.1",
			port: 4270,
			loopback: true,
		});
		expect(parseListen("[::1]:0")).toEqual({ host: "::1", port: 0, loopback: true });
		expect(parseListen("localhost:80")?.loopback).toBe(true);
		for (const open of [
			"0.0.0.0:1",
			"[::]:1",
			"10.0.0.1:1",
			"example.org:1",
			"127.example.org:1",
		]) {
			expect(parseListen(open)).toMatchObject({ loopback: false });
		}
	});

	test("is nothing else", () => {
		for (const text of [
			"",
			"4270",
			"127.0.0.1",
			":4270",
			"::1:4270",
			"h:99999",
			"a b:1",
			"h:1/x",
		]) {
			expect(parseListen(text)).toBe(null);
		}
	});

	test("reads back as it is written", () => {
		for (const text of ["127.0.0.1:4270", "[::1]:4270", "example.org:443"]) {
			expect(renderListen(parseListen(text) as ListenAddress)).toBe(text);
		}
	});

	test("accepts the names of this host and the allowed ones", () => {
		expect(hostsOf(parseListen("127.0.0.1:1") as ListenAddress, [])).toEqual([
			"127.0.0.1:1",
			"localhost:1",
			"[::1]:1",
		]);
		expect(hostsOf(parseListen("0.0.0.0:1") as ListenAddress, ["Reeve.example:1"])).toEqual([
			"0.0.0.0:1",
			"reeve.example:1",
		]);
	});
});
