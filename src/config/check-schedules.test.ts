import { describe, expect, test } from "vitest";
import { parseFleet } from "./parse-fleet.js";

const CONTEXT = { env: {}, homeDir: "/home/ada", baseDir: "/work" };

function parse(schedule: string) {
	const text = `version: 1
projects:
  web:
    agents:
      coder: { command: [coder] }
      tool: { kind: call, command: [tool] }
      pool: { kind: worker, command: [pool] }
    schedules:
      nightly: ${schedule}
`;
	return parseFleet(text, "reeve.yaml", CONTEXT);
}

/** The problems as `path: message; expected …; hint: …`. */
function problemsOf(schedule: string): readonly string[] {
	const parsed = parse(schedule);
	if (parsed.ok) return [];
	return parsed.problems.map(({ path, message, expected, hint }) =>
		[
			`${path.replace("projects.web.schedules.", "")}: ${message}`,
			...(expected === null ? [] : [`expected ${expected}`]),
			...(hint === null ? [] : [`hint: ${hint}`]),
		].join("; "),
	);
}

const specOf = (schedule: string) => {
	const parsed = parse(schedule);
	if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
	return parsed.fleet.schedules?.[0];
};

describe("a schedule", () => {
	test("resolves to its spec, with ids and paths in full", () => {
		expect(
			specOf('{ cron: "0 3 * * 1-5", timezone: UTC, send: { agent: coder, message: hi } }'),
		).toEqual({
			id: "web:nightly",
			project: "web",
			name: "nightly",
			cron: "0 3 * * 1-5",
			everyMs: null,
			timezone: "UTC",
			action: { type: "send", agent: "web:coder", message: "hi" },
			overlap: "skip",
			jitterMs: 0,
			catchUp: "none",
		});
		const call = "{ agent: web:tool, action: a, payload: { camelCase: [1] } }";
		expect(
			specOf(`{ every: 30m, jitter: 5m, overlap: queue, catch_up: once, call: ${call} }`),
		).toMatchObject({
			everyMs: 1_800_000,
			jitterMs: 300_000,
			overlap: "queue",
			catchUp: "once",
			action: { type: "call", agent: "web:tool", action: "a", payload: '{"camelCase":[1]}' },
		});
		expect(specOf("{ every: 1d, plan: plans/a.yaml }")?.action).toEqual({
			type: "plan",
			file: "/work/plans/a.yaml",
		});
		expect(specOf("{ every: 1d, restart: pool }")?.action).toEqual({
			type: "restart",
			agent: "web:pool",
		});
	});

	test.each([
		["{ restart: coder }", "nightly: required key is missing; expected one of `cron` or `every`"],
		[
			"{ every: 1h }",
			"nightly: required key is missing; expected one of `send`, `call`, `plan` or `restart`",
		],
		[
			'{ every: 1h, cron: "0 3 * * *", restart: coder }',
			"nightly.cron: `every` and `cron` exclude each other; expected exactly one of `cron` or `every`",
		],
		[
			'{ cron: "0 0 30 2 *", restart: coder }',
			"nightly.cron: `0 0 30 2 *` is not a usable cron expression: it never matches: no such date exists; expected five fields (minute, hour, day, month, weekday) such as `0 3 * * 1-5`",
		],
		[
			'{ cron: "61 * * * *", restart: coder }',
			"nightly.cron: `61 * * * *` is not a usable cron expression: invalid value for minute: 61; expected five fields (minute, hour, day, month, weekday) such as `0 3 * * 1-5`",
		],
		[
			'{ cron: "@daily", restart: coder }',
			"nightly.cron: `@daily` is not a usable cron expression: it has 1 field instead of five; expected five fields (minute, hour, day, month, weekday) such as `0 3 * * 1-5`; hint: write `0 0 * * *`",
		],
		[
			'{ cron: "0 0 3 * * *", restart: coder }',
			"nightly.cron: `0 0 3 * * *` is not a usable cron expression: it has 6 fields instead of five; expected five fields (minute, hour, day, month, weekday) such as `0 3 * * 1-5`; hint: seconds are not supported; for less than a minute write `every: 10s`",
		],
		[
			'{ cron: "0 3 * * *", timezone: Europe/Berln, restart: coder }',
			"nightly.timezone: `Europe/Berln` is not a known time zone; expected a time zone such as `Europe/Berlin` or `UTC`; hint: did you mean `Europe/Berlin`?",
		],
		[
			"{ every: 1h, timezone: UTC, restart: coder }",
			"nightly.timezone: `timezone` has no effect on `every`; hint: remove `timezone`, or use `cron`",
		],
		["{ every: 500ms, restart: coder }", "nightly.every: the shortest interval is `1s`"],
		[
			"{ every: 1h, jitter: 1h, restart: coder }",
			"nightly.jitter: the jitter is not shorter than the time between two slots, `1h`; hint: slots would overtake each other",
		],
		[
			'{ cron: "0,10 * * * *", jitter: 10m, restart: coder }',
			"nightly.jitter: the jitter is not shorter than the time between two slots, `10m`; hint: slots would overtake each other",
		],
		[
			"{ every: 1h, overlap: replace, restart: coder }",
			"nightly.overlap: a restart cannot be replaced by another; hint: write `skip` or `queue`",
		],
		[
			"{ every: 1h, restart: codr }",
			"nightly.restart: unknown agent `codr`; hint: did you mean `web:coder`?",
		],
		[
			"{ every: 1h, restart: tool }",
			"nightly.restart: `web:tool` is a call agent, which is started for each request",
		],
		[
			"{ every: 1h, send: { agent: tool, message: hi } }",
			"nightly.send.agent: `web:tool` is a call agent, which has no terminal for messages; hint: use `call` with an `action`",
		],
		[
			"{ every: 1h, call: { agent: coder, action: a } }",
			"nightly.call.agent: `web:coder` is a session, and sessions accept no requests; hint: use `send` with a `message`",
		],
		[
			'{ every: 1h, send: { agent: coder, message: " " } }',
			"nightly.send.message: the message is empty",
		],
	])("%s", (schedule, expected) => {
		expect(problemsOf(schedule)).toEqual([expected]);
	});
});
