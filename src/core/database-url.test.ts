import { describe, expect, test } from "vitest";
import { parseDatabaseUrl } from "./database-url.js";

const problemOf = (text: string) => {
	const parsed = parseDatabaseUrl(text);
	return parsed.ok ? null : `${parsed.problem}. ${parsed.hint}`;
};

test("a database on another host is reached with TLS that checks its certificate", () => {
	expect(parseDatabaseUrl("postgres://reeve:s%40cret@db.internal:6432/reeve")).toEqual({
		ok: true,
		target: {
			...{ host: "db.internal", port: 6_432, user: "reeve", password: "s@cret" },
			...{ database: "reeve", tls: { ca: null, cert: null, key: null } },
		},
	});
	const own = "postgresql://reeve@db/x?sslrootcert=/ca.pem&sslcert=/c.pem&sslkey=/k.pem";
	expect(parseDatabaseUrl(own)).toMatchObject({
		target: { port: 5_432, password: null, tls: { ca: "/ca.pem", cert: "/c.pem", key: "/k.pem" } },
	});
});

test.each([
	["postgres://localhost", "localhost"],
	["postgres://[::1]:5433/x", "::1"],
	["postgres://127.0.0.1/x?sslmode=disable", "127.0.0.1"],
	["postgres:///x", "localhost"],
	["postgres:///x?host=/var/run/postgresql", "/var/run/postgresql"],
])("%s stays on this host and needs neither TLS nor a password", (url, host) => {
	expect(parseDatabaseUrl(url)).toMatchObject({ target: { host, tls: null } });
});

test("TLS can be demanded on this host too", () => {
	const url = "postgres://localhost/x?sslmode=verify-full&sslrootcert=ca.pem";
	expect(parseDatabaseUrl(url)).toMatchObject({ target: { tls: { ca: "ca.pem" } } });
});

describe("a URL is refused", () => {
	test.each(["disable", "allow", "prefer", "require", "verify-ca"])(
		"with sslmode=%s for another host",
		(mode) => {
			const url = `postgres://reeve:secret@db/reeve?sslmode=${mode}`;
			expect(problemOf(url)).toContain(`\`sslmode=${mode}\` does not protect`);
		},
	);

	test.each(["postgres://db/x", "postgres://reeve@db/x", "postgres://:secret@db/x"])(
		"without credentials for another host: %s",
		(url) => expect(problemOf(url)).toContain("needs a user and a password"),
	);

	test.each([
		["mysql://localhost/x", "it is not `postgres://"],
		["postgres://a:se/cret@db/x", "it is not `postgres://"],
		["localhost:5432", "it is not `postgres://"],
		["postgres://localhost/%zz", "invalid `%` sequence"],
		["postgres://localhost/x?a=%zz", "invalid `%` sequence"],
		["postgres://localhost/x?pool_size=5", "does not support: pool_size"],
		["postgres://localhost/x?sslcert=a", "belong together"],
	])("if it is invalid: %s", (url, message) => {
		expect(problemOf(url)).toContain(message);
	});

	test("without quoting its password", () => {
		for (const url of ["postgres://a:se/cret@db/x", "postgres://a:hunter2@db/x?sslmode=allow"]) {
			expect(problemOf(url)).not.toMatch(/cret|hunter2/);
		}
	});
});
