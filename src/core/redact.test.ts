import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedactor, redactDeep, secretsIn } from "./redact.js";

function knowing(values: Readonly<Record<string, string>>) {
	const redactor = createRedactor();
	for (const [name, value] of Object.entries(values)) redactor.addValue(name, value);
	return redactor.redact;
}

describe("which values are secret", () => {
	test.each([
		["API_KEY", "sk-ant-api03-abcdef"],
		["ANTHROPIC_API_KEY", "correct-horse"],
		["DB_PASSWORD", "hunter22"],
		["GITHUB_TOKEN", "abcdefgh"],
		["ANYTHING", "canary-7c1f-90ab"],
		["SLACK", "https://hooks.example.com/services/T0A1B2C3/B4D5E6F7"],
		["ANYTHING", "QWxhZGRpbjpvcGVuIHNl"],
	])("%s=%s is", (name, value) => {
		expect(secretsIn(name, value)).toContain(value);
	});

	test.each([
		["NODE_ENV", "production"],
		["MODEL", "claude-sonnet-4-5-20250929"],
		["BASE_URL", "http://localhost:8080/api/v1"],
		["DATA_DIR", "/srv/data2/files"],
		["TLS_KEY", "/etc/ssl/private/key.pem"],
		["SINCE", "2031-04-05"],
		["PORT_RANGE", "30000-40000"],
		["FLAGS", "verbose,trace"],
	])("%s=%s is not", (name, value) => {
		expect(secretsIn(name, value)).toEqual([]);
	});
});

describe("redact", () => {
	test("puts the name of the variable in place of the value", () => {
		const redact = knowing({ API_KEY: "sk-12345678" });
		expect(redact("401 for sk-12345678, sk-12345678!")).toBe(
			"401 for [redacted API_KEY], [redacted API_KEY]!",
		);
	});

	test("finds a value in JSON, in a URL, within quotes of an env file, and a password alone", () => {
		const redact = knowing({
			A_KEY: 'a"b/c d1234',
			B_KEY: '"quoted-99x"',
			DB: "pg://u:pw123456@h/d",
		});
		expect(redact(JSON.stringify({ error: 'a"b/c d1234' }))).not.toContain("d1234");
		expect(redact(`?k=${encodeURIComponent('a"b/c d1234')}`)).not.toContain("d1234");
		expect(redact("got quoted-99x")).toBe("got [redacted B_KEY]");
		expect(redact("login with pw123456 failed")).toBe("login with [redacted DB] failed");
	});

	test("finds a value of which the end or the beginning was cut off with the text", () => {
		const redact = knowing({ API_KEY: "sk-123456789abcdef" });
		for (const text of ["bad key sk-12345678", "bad key sk-12345678…", "3456789abcdef is bad"]) {
			expect(redact(text)).toContain("[redacted API_KEY]");
			expect(redact(text)).not.toContain("345678");
		}
	});

	test("prefers the longest of two values", () => {
		const redact = knowing({ A_KEY: "secret-one", B_KEY: "secret-one-two" });
		expect(redact("secret-one-two secret-one")).toBe("[redacted B_KEY] [redacted A_KEY]");
	});

	test("does not mistake a short value for a longer one with the same beginning", () => {
		const redact = knowing({ A_KEY: "secret-one", B_KEY: "secret-one-two" });
		expect(redact("a secret-one")).toBe("a [redacted A_KEY]");
		expect(redact("secret-one-to")).toBe("[redacted A_KEY]-to");
		expect(redact("...one-two secret-one-t...")).toBe("...one-two [redacted A_KEY]-t...");
	});

	test("finds the longest of two values of which the beginning was cut off", () => {
		const redact = knowing({ A_KEY: "1-abcdefgh", B_KEY: "2-abcdefghi-abcdefgh" });
		expect(redact("bcdefghi-abcdefgh is bad")).toBe("[redacted B_KEY] is bad");
		expect(redact("…abcdefgh is bad")).toBe("[redacted A_KEY] is bad");
	});

	test("leaves no known value in any text", () => {
		const secret = fc.stringMatching(/^[a-zA-Z0-9+/=-]{8,30}$/);
		fc.assert(
			fc.property(
				fc.array(secret, { minLength: 1, maxLength: 5 }),
				fc.array(fc.string()),
				(all, between) => {
					const redact = knowing(
						Object.fromEntries(all.map((value, n) => [`KEY_${n}_TOKEN`, value])),
					);
					const text = between.flatMap((word, n) => [word, all[n % all.length] ?? ""]).join(" ");
					const known = all.filter((value) => secretsIn("A_TOKEN", value).length > 0);
					for (const value of known) expect(redact(text)).not.toContain(value);
				},
			),
		);
	});

	test("A6: stops at a bounded depth, and omits everything below it", () => {
		const redact = knowing({ A_KEY: "secret-one" });
		let nested: unknown = "secret-one";
		for (let depth = 0; depth < 50_000; depth++) nested = [nested];
		expect(JSON.stringify(redactDeep(nested, redact))).toContain("nested too deeply");
	});

	test("redacts each long line of a multi-line value, but not the markers of a key file", () => {
		const redact = knowing({
			SSH_KEY:
				"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nshort\n-----END PRIVATE KEY-----",
		});
		expect(redact("line MIIEvQIBADANBgkqhkiG9w0B failed")).toBe("line [redacted SSH_KEY] failed");
		expect(redact("a short line")).toBe("a short line");
		expect(redact("-----BEGIN PRIVATE KEY-----")).toBe("-----BEGIN PRIVATE KEY-----");
	});

	test("does not take a few matching characters at the edge of a text for a cut value", () => {
		const redact = knowing({ API_KEY: "sk-123456789abcdef" });
		expect(redact("the key is sk-1234")).toBe("the key is sk-1234");
		expect(redact("prefix sk-1xxxxxxxxxxxxx")).toBe("prefix sk-1xxxxxxxxxxxxx");
		expect(redact("...34567")).toBe("...34567");
		expect(redact("3456789a, which is not the rest of it")).toContain("3456789a");
	});

	test("A6: forgets the oldest values beyond its bound, and only those", () => {
		const redactor = createRedactor();
		const value = (n: number) => `${n % 2 === 0 ? "even" : "odd!"}-secret-${n}-x9`;
		for (let n = 0; n <= 20_001; n++) redactor.addValue("A_KEY", value(n));
		expect(redactor.redact(`start ${value(0)} end`)).toContain(value(0));
		expect(redactor.redact(`start ${value(20_001)} end`)).toBe("start [redacted A_KEY] end");
		expect(redactor.redact(`start ${value(20_000)} end`)).toBe("start [redacted A_KEY] end");
	});

	test("A6: forgets the last value with the same beginning too", () => {
		const redactor = createRedactor();
		redactor.addValue("A_KEY", "unique-beginning-1");
		for (let n = 0; n < 20_000; n++) redactor.addValue("B_KEY", `value-${n}-xyz`);
		expect(redactor.redact("has unique-beginning-1")).toBe("has unique-beginning-1");
	});

	test("learns a value that is not well-formed text", () => {
		expect(knowing({ A_KEY: "broken-\ud800-1234" })("a broken-\ud800-1234")).toBe(
			"a [redacted A_KEY]",
		);
	});

	test("keeps everything else of a structure", () => {
		const redact = knowing({ A_KEY: "secret-one" });
		const before = { n: 1, none: null, list: ["secret-one", { deep: "x secret-one" }] };
		expect(redactDeep(before, redact)).toEqual({
			n: 1,
			none: null,
			list: ["[redacted A_KEY]", { deep: "x [redacted A_KEY]" }],
		});
	});
});
