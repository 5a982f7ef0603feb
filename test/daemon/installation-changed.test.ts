/** An upgrade replaces the files of Reeve while its daemon runs: what it has not loaded yet is gone. */

import { cpSync, renameSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createFleetHome, type FleetHome } from "../faults/fleet-home.js";
import { runReeve, temporaryFolder } from "../support/reeve.js";

let fleet: FleetHome;
afterEach(() => fleet.close(), 120_000);

test("a daemon whose files were replaced asks for a restart, which keeps the agents", {
	timeout: 120_000,
}, async () => {
	fleet = createFleetHome();
	fleet.writeFleet("a: { command: [sh, -c, echo anything; exec sleep 1000], backend: pty }");
	const installed = temporaryFolder();
	cpSync("package.json", join(installed, "package.json"));
	cpSync("dist", join(installed, "dist"), { recursive: true });
	symlinkSync(resolve("node_modules"), join(installed, "node_modules"));
	const program = join(installed, "dist", "cli", "main.js");
	const { code } = await runReeve(["up"], { program, cwd: fleet.folder, env: fleet.env });
	expect(code).toBe(0);
	const [before] = await fleet.ps();
	renameSync(join(installed, "dist"), join(installed, "replaced"));

	const refused = await fleet.reeve("search", "anything");
	expect(refused.code).toBe(1);
	expect(refused.stderr).toContain("the files of the running daemon were replaced or removed");
	expect(refused.stderr).toContain("reeve daemon restart");

	await fleet.must("daemon", "restart");
	await fleet.must("search", "anything");
	expect(await fleet.ps()).toMatchObject([{ process: "running", pid: before?.pid }]);
});
