import { expect, test } from "vitest";
import { parseDaemonSettings } from "./daemon-settings.js";

const mistakesIn = (value: unknown): string => {
	const parsed = parseDaemonSettings(value);
	return parsed.ok ? "" : parsed.problem;
};

test("every mistake in the settings is told, also in an entry of unknown type", () => {
	const notify = [
		{ name: "a", type: "comand", argv: ["x"], kinds: ["haltd"] },
		{ name: "b", type: "desktop", quiet: "22:00-22:00", sound: true },
	];
	const told = mistakesIn({ notify, watchdog: "1ms" });
	expect(told).toMatch(/notify\.0\.type: .*"command"/);
	expect(told).toMatch(/notify\.0\.kinds\.0: .*"halted"/);
	expect(told).toContain("notify.1.quiet: begins and ends at the same time");
	expect(told).toContain('notify.1: Unrecognized key: "sound"');
	expect(told).toContain("watchdog: is a duration");
});

test("settings without a mistake hold", () => {
	const notify = [{ name: "a", type: "command", argv: ["x"], kinds: ["halted"] }];
	expect(parseDaemonSettings({ notify })).toMatchObject({ ok: true, settings: { notify } });
});
