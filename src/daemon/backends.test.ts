import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { AgentSpec } from "../config/spec.js";
import { createBackends } from "./backends.js";

const runtime = mkdtempSync(join(tmpdir(), "reeve-backends-"));
const backends = createBackends(runtime, { manager: "systemd is not installed" });
afterAll(async () => {
	await backends.close();
	rmSync(runtime, { recursive: true });
});

const limits = { memoryBytes: null, cpuPercent: null, pids: null };
const session = (backend: string) => ({ kind: "session", backend, limits }) as AgentSpec;

test("an unavailable backend is rejected with the reason and an alternative", () => {
	const { name, refused } = backends.choose(session("systemd"));
	expect(name).toBe("systemd");
	expect(refused).toMatch(
		/^the backend systemd is not available: systemd is not installed; (tmux|pty) is available/,
	);
	expect(backends.choose(session("launchd")).refused).toMatch(
		/^the backend launchd is not available: /,
	);
});

test("available backends are accepted, and auto always selects one of them", () => {
	expect(backends.choose(session("pty"))).toEqual({ name: "pty", refused: null });
	const taken = backends.support.find(({ auto }) => auto);
	expect(taken).toMatchObject({ usable: true });
	expect(backends.choose(session("auto"))).toEqual({ name: taken?.name, refused: null });
});

test("a run is adopted by the backend it was recorded with, even one without new runs", async () => {
	expect(backends.get("systemd").name).toBe("systemd");
	expect(await backends.get("systemd").recover("never-was", null)).toEqual({
		state: "gone",
		rebooted: false,
	});
});
