import { describe, expect, test } from "vitest";
import { parseDaemonSettings } from "./daemon-settings.js";
import { renderSettingsSchema } from "./json-schema.js";
import { changedSettings, NO_SETTINGS } from "./no-settings.js";
import { renderProblem } from "./problem.js";
import { EXAMPLE_SETTINGS, renderSettingsReference } from "./reference.js";
import { SETTINGS_OUTLINE } from "./settings-schema.js";

const FOLDERS = { baseDir: "/home/ada/state", homeDir: "/home/ada" };
const parse = (text: string) => parseDaemonSettings(text, "daemon.json", FOLDERS);
const write = (value: unknown) => JSON.stringify(value, null, "\t");

const mistakesIn = (text: string): string => {
	const parsed = parse(text);
	return parsed.ok ? "" : parsed.problems.map(renderProblem).join("\n");
};

function settingsOf(value: unknown) {
	const parsed = parse(write(value));
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.settings;
}

const MAIL = {
	...{ name: "mail", type: "email", smtp: "smtp://mail.example.org:587" },
	from: "reeve@example.org",
	to: ["ada@example.org"],
};
const MAIL_MISTAKES: readonly (readonly [keys: object, message: string])[] = [
	[{ smtp: "mail.example.org" }, "`smtp` is not `smtp://HOST:PORT` or `smtps://HOST:PORT`"],
	[{ smtp: "smtp://ada:secret@mail.example.org" }, "`smtp` is not `smtp://HOST:PORT`"],
	[{ from: "Reeve" }, "`from` is not a mail address"],
	[{ to: [] }, "`to` is not a list of mail addresses"],
	[{ to: ["a@b", "c d@e"] }, "`to` is not a list of mail addresses"],
	[{ user: "ada" }, "`user` needs a `secret_file` with the password"],
	[{ secret_file: "mail-password" }, "`secret_file` needs a `user`"],
	[{ url: "http://a" }, "a route of type `email` has no `url`"],
	[{ from: undefined }, "a route of type `email` needs `from`"],
];

describe("mistakes", () => {
	test("are all found in one pass, each with its position and a suggestion", () => {
		const notify = [
			{ name: "a", type: "comand", argv: ["x"], kinds: ["haltd"] },
			{ name: "b", type: "desktop", quiet: "22:00-22:00", sound: true },
		];
		const reported = mistakesIn(write({ notify, watchdog: "60", lisen: "127.0.0.1:1" }));
		expect(reported).toMatch(
			/daemon\.json:5:12: notify\[0\]\.type: .*\n.*\n {2}hint: did you mean `command`/,
		);
		expect(reported).toMatch(/notify\[0\]\.kinds\[0\]: .*\n.*\n {2}hint: did you mean `halted`/);
		expect(reported).toContain("notify[1].quiet: `22:00-22:00` begins and ends at the same time");
		expect(reported).toContain("notify[1].sound: unknown key `sound`");
		expect(reported).toMatch(/lisen: unknown key `lisen`\n {2}hint: did you mean `listen`/);
		expect(reported).toContain("hint: write `60s`");
	});

	test.each([
		[{ listen: "0.0.0.0:1" }, "listen: `0.0.0.0:1` is reachable from other hosts"],
		[{ listen: "4270" }, "listen: `4270` is not HOST:PORT"],
		[{ watchdog: "1ms" }, "watchdog: must be at least `1s`"],
		[{ tls: { cert: "a" } }, "tls.key: required key is missing"],
		[{ history: { days: 3 } }, "history.days: unknown key"],
		[{ notify: [{ name: "a", type: "slack" }] }, "a route of type `slack` needs `url`"],
		[
			{ notify: [{ name: "a", type: "desktop", argv: ["x"] }] },
			"notify[0].argv: a route of type `desktop` has no `argv`",
		],
		[
			{
				notify: [
					{ name: "a", type: "desktop" },
					{ name: "a", type: "desktop" },
				],
			},
			"notify[1].name: duplicate route name `a`",
		],
	])("in settings: %j", (value, words) => {
		expect(mistakesIn(write(value))).toContain(words);
	});

	test.each(MAIL_MISTAKES)("in a route for mail: %j", (keys, words) => {
		expect(mistakesIn(write({ notify: [{ ...MAIL, ...keys }] }))).toContain(words);
	});

	test.each([
		['{ "listen": "127.0.0.1:1", }', "daemon.json:1:28: not valid JSON"],
		["{\n  // a comment\n}", "daemon.json:2:3: not valid JSON"],
		['{\n\t"notify": canary }', "daemon.json:2:12: not valid JSON"],
		["", "the file is empty"],
		["[]", "found a list"],
	])("in JSON: %j", (text, words) => {
		expect(mistakesIn(text)).toContain(words);
	});

	test.each([
		[{ database: "mysql://x" }, "cluster.database: it is not `postgres://"],
		[{ database: "postgres://db.internal/x" }, "cluster.database: a database on another host"],
		[{}, "cluster.database: required key is missing"],
		[{ database: "postgres:///x", host: "Build 1" }, "cluster.host: "],
		[{ database: "postgres:///x", labels: { zone: 1 } }, "cluster.labels.zone: "],
		[{ database: "postgres:///x", advertise: "build-1:7443" }, "cluster.advertise: "],
		[{ database: "postgres:///x", lease: "15s" }, "cluster.lease: unknown key"],
	])("in a cluster: %j", (cluster, words) => {
		expect(mistakesIn(write({ cluster }))).toContain(words);
	});

	test("A5: do not quote the URL of a database", () => {
		const database = "postgres://reeve:canary@db.internal/x?sslmode=require";
		expect(mistakesIn(write({ cluster: { database } }))).toContain("does not protect");
		expect(mistakesIn(write({ cluster: { database } }))).not.toContain("canary");
	});

	test("A5: do not quote an address, which may be a secret", () => {
		const notify = [{ name: "a", type: "slack", url: "hooks.example/canary" }];
		expect(mistakesIn(write({ notify }))).not.toContain("canary");
		expect(mistakesIn('{ "notify": canary }')).not.toContain("canary");
	});
});

describe("settings", () => {
	test("are the defaults for missing keys and for null", () => {
		expect(settingsOf({})).toEqual(NO_SETTINGS);
		expect(settingsOf({ listen: null, tls: null, $schema: "x" })).toEqual(NO_SETTINGS);
		expect(NO_SETTINGS).toMatchObject({ listen: null, watchdogMs: 30_000, notify: [] });
		expect(NO_SETTINGS.retention).toMatchObject({ eventsMax: 50_000, ageMsMax: 2_592_000_000 });
	});

	test("have paths relative to the home, and count in plain units", () => {
		const settings = settingsOf({
			listen: "127.0.0.1:4270",
			tls: { cert: "cert.pem", key: "~/key.pem" },
			history: { events: 500, age: "2d" },
			watchdog: "0s",
			notify: [
				{
					name: "a",
					type: "webhook",
					url: "https://x.example/",
					secret_file: "s",
					quiet: "22:00-07:00",
				},
			],
		});
		expect(settings).toMatchObject({
			tls: { cert: "/home/ada/state/cert.pem", key: "/home/ada/key.pem" },
			retention: { eventsMax: 500, eventsMin: 500, ageMsMax: 172_800_000 },
			notify: [{ secret_file: "/home/ada/state/s", quiet: { fromMinute: 1_320, toMinute: 420 } }],
			watchdogMs: 0,
		});
	});

	test("have a cluster whose URL may come from a variable", () => {
		const database = "$" + "{REEVE_DATABASE_URL}";
		expect(settingsOf({ cluster: { database, labels: { zone: "a" } } }).cluster).toEqual({
			...{ database, host: null, labels: { zone: "a" }, advertise: null },
		});
		expect(changedSettings(NO_SETTINGS, settingsOf({ cluster: { database } }))).toEqual([
			"cluster",
		]);
	});

	test("a change names the keys and routes that differ, and no value", () => {
		const route = (name: string, url: string) => ({ name, type: "ntfy", url });
		const before = settingsOf({
			notify: [route("a", "http://a.example"), route("b", "http://b.example")],
		});
		const after = settingsOf({
			history: { events: 1 },
			allow_hosts: ["x:1"],
			watchdog: "1m",
			notify: [route("a", "http://a.example"), route("b", "http://c.example")],
		});
		const keys = ["allow_hosts", "history", "watchdog", "notify.b"];
		expect(changedSettings(before, after)).toEqual(keys);
		expect(changedSettings(after, after)).toEqual([]);
	});
});

describe("generated from the schema", () => {
	test("has an example without a mistake", () => {
		expect(mistakesIn(EXAMPLE_SETTINGS)).toBe("");
	});

	test("names every key", () => {
		const { properties } = JSON.parse(renderSettingsSchema());
		expect(Object.keys(properties)).toEqual([...SETTINGS_OUTLINE.keys.keys()]);
		const page = renderSettingsReference();
		for (const key of [...SETTINGS_OUTLINE.keys.keys(), "secret_file", "age"]) {
			expect(page).toContain(`| \`${key}\` |`);
		}
	});
});
