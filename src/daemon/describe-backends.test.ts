import { describe, expect, test } from "vitest";
import { describeBackends } from "./describe-backends.js";

const manager = {
	version: "252",
	runtimeDir: "/run/user/1000",
	folder: "/sys/fs/cgroup/user.slice",
	controllers: ["cpu", "memory", "pids"],
	lingers: true,
	holdsThisProcess: false,
	runProgram: "systemd-run",
};

type Facts = Parameters<typeof describeBackends>[0];
const describeAll = (facts: Omit<Facts, "noLaunchd"> & Partial<Facts>) =>
	describeBackends({ noLaunchd: "launchd exists on macOS only", ...facts });
const autoOf = (facts: Parameters<typeof describeAll>[0]) =>
	describeAll(facts)
		.filter(({ auto }) => auto)
		.map(({ name }) => name);
const reasonOf = (facts: Parameters<typeof describeAll>[0], name: string) =>
	describeAll(facts).find((each) => each.name === name);

describe("auto takes", () => {
	test("systemd where the user's own goes on after logout and there is tmux", () => {
		expect(autoOf({ manager, noTmux: null })).toEqual(["systemd"]);
	});

	test("systemd where the daemon itself is in one of its units, and would end with it anyway", () => {
		const inside = { ...manager, lingers: false, holdsThisProcess: true };
		expect(autoOf({ manager: inside, noTmux: null })).toEqual(["systemd"]);
	});

	test("tmux where systemd would end every agent at logout, and says how to change that", () => {
		const facts = { manager: { ...manager, lingers: false }, noTmux: null };
		expect(autoOf(facts)).toEqual(["tmux"]);
		expect(reasonOf(facts, "systemd")).toMatchObject({
			usable: true,
			reason: expect.stringContaining("loginctl enable-linger"),
		});
	});

	test("tmux where there is no systemd, with the reason", () => {
		const facts = { manager: "systemd is not installed", noTmux: null };
		expect(autoOf(facts)).toEqual(["tmux"]);
		expect(reasonOf(facts, "systemd")).toMatchObject({
			usable: false,
			reason: "systemd is not installed",
		});
	});

	test("pty where there is no tmux, systemd or not", () => {
		expect(autoOf({ manager, noTmux: "tmux is not installed" })).toEqual(["pty"]);
		expect(reasonOf({ manager, noTmux: "tmux is not installed" }, "systemd")?.usable).toBe(false);
	});

	test("never launchd, which costs a holder for each agent, but whoever asks gets it", () => {
		const facts = { manager: "systemd exists on Linux only", noTmux: null, noLaunchd: null };
		expect(autoOf(facts)).toEqual(["tmux"]);
		expect(reasonOf(facts, "launchd")).toMatchObject({ usable: true, auto: false });
		expect(reasonOf({ ...facts, noLaunchd: "no session" }, "launchd")).toMatchObject({
			...{ usable: false, reason: "no session" },
		});
	});
});
