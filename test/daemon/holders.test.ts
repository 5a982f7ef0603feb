/** Which holders of terminals belong to this home, with real processes in real mount namespaces. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listProcesses } from "../../src/daemon/inspection/holders.js";
import { resolveHome } from "../../src/home/paths.js";
import { temporaryFolder } from "../support/reeve.js";

/** A program whose command line is that of a starter, started in front of `before`. */
async function startHolder(folder: string, before: readonly string[] = []): Promise<ChildProcess> {
	const program = join(temporaryFolder(), "reeve-shim-test");
	copyFileSync("/bin/sh", program);
	chmodSync(program, 0o755);
	const cwd = temporaryFolder();
	// A shell that runs the script "starter".
	writeFileSync(join(cwd, "starter"), "echo up; while :; do sleep 1; done");
	const [first = "", ...rest] = [...before, program, "starter", folder];
	const child = spawn(first, rest, { cwd, stdio: ["ignore", "pipe", "inherit"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	await Promise.race([
		once(child.stdout as NodeJS.ReadableStream, "data"),
		once(child, "exit").then(() => Promise.reject(new Error("it did not start"))),
	]);
	return child;
}

test("a holder of this home is found, also when its folder was removed", async () => {
	const home = resolveHome({ REEVE_HOME: temporaryFolder() });
	const folder = join(home.runtime, "pty");
	mkdirSync(folder, { recursive: true });
	const { pid } = await startHolder(folder);
	expect(listProcesses(home).holders).toEqual([{ pid, folder, folderIsThere: true }]);
	rmSync(folder, { recursive: true });
	expect(listProcesses(home).holders).toEqual([{ pid, folder, folderIsThere: false }]);
});

test("a holder of another home is ignored, whether its folder exists or not", async () => {
	const folder = join(temporaryFolder(), "run", "pty");
	await startHolder(folder);
	const home = resolveHome({ REEVE_HOME: temporaryFolder() });
	expect(listProcesses(home).holders).toEqual([]);
});

test.runIf(process.platform === "linux" && process.getuid?.() === 0)(
	"a holder in another mount namespace is ignored, although its folder has the same path",
	async () => {
		const home = resolveHome({ REEVE_HOME: temporaryFolder() });
		const folder = join(home.runtime, "pty");
		const script = `mount -t tmpfs none ${home.dir} && mkdir -p ${folder} && exec "$@"`;
		await startHolder(folder, ["unshare", "-m", "sh", "-c", script, "sh"]);
		// Absent here, present there; then present in both.
		expect(listProcesses(home).holders).toEqual([]);
		mkdirSync(folder, { recursive: true });
		expect(listProcesses(home).holders).toEqual([]);
	},
);
