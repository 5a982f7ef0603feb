import { describe, expect, test } from "vitest";
import {
	adviseInstall,
	type Facts,
	isRecentEnough,
	planInstall,
} from "../../scripts/lib/system-programs.mjs";

const tmux = {
	name: "tmux",
	versionArgs: ["-V"],
	atLeast: [3, 0] as [number, number],
	why: "a real terminal for sessions",
	packages: { debian: "tmux-deb", homebrew: "tmux-brew", other: "tmux" },
};
const containerWithout: Facts = {
	platform: "linux",
	uid: 0,
	hasApt: true,
	missing: [tmux],
	ci: false,
};

describe("handling of missing system programs", () => {
	test("nothing if all are installed, in any place", () => {
		for (const ci of [true, false]) {
			expect(planInstall({ ...containerWithout, missing: [], ci })).toEqual({ type: "nothing" });
		}
	});

	test("root with apt-get updates the lists once and installs them together", () => {
		const other = { ...tmux, packages: { ...tmux.packages, debian: "other-deb" } };
		expect(planInstall({ ...containerWithout, missing: [tmux, other] })).toEqual({
			type: "install",
			commands: [
				["apt-get", "update"],
				["apt-get", "install", "-y", "--no-install-recommends", "tmux-deb", "other-deb"],
			],
		});
	});

	test.each([
		["a user with apt-get", { uid: 1000 }, /^Install: sudo apt-get install .* tmux-deb$/],
		["macOS", { platform: "darwin", uid: 501, hasApt: false }, /^Install: brew install tmux-brew$/],
		["root on macOS, apt-get or not", { platform: "darwin" }, /^Install: brew install tmux-brew$/],
		["root without apt-get", { hasApt: false }, /^Install: tmux, with the package manager/],
	])("%s prints the missing packages, and the run continues", (_who, facts, how) => {
		expect(planInstall({ ...containerWithout, ...facts })).toEqual({
			type: "advise",
			lines: [
				"tmux 3.0 or newer is missing (a real terminal for sessions)",
				expect.stringMatching(how),
				"Tests that need it are skipped.",
			],
			exitCode: 0,
		});
	});

	test("in CI a program that cannot be installed is an error", () => {
		const plan = planInstall({ ...containerWithout, uid: 1000, ci: true });
		expect(plan).toMatchObject({ type: "advise", exitCode: 1 });
	});

	test("an installation that did not help ends in advice, not in another try", () => {
		expect(adviseInstall({ ...containerWithout, ci: true })).toMatchObject({ exitCode: 1 });
	});
});

describe("whether a program is recent enough", () => {
	test.each([
		["tmux 3.0", true],
		["tmux 3.3a", true],
		["tmux next-3.6", true],
		["tmux 4.0", true],
		["tmux 2.9a", false],
		["tmux master", true],
	])("%s: %s", (line, expected) => {
		expect(isRecentEnough(line, [3, 0])).toBe(expected);
	});

	test("minor versions count within the same major one", () => {
		expect(isRecentEnough("tmux 3.1", [3, 2])).toBe(false);
		expect(isRecentEnough("tmux 4.0", [3, 2])).toBe(true);
	});
});
