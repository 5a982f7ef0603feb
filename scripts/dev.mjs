/**
 * `npm run dev`: builds Reeve, runs a daemon in a home of its own, and on every change of a source file builds again
 * and restarts that daemon. Its agents keep running, as they do when any daemon is restarted. A failed build leaves
 * the running daemon alone. Ctrl-C stops the daemon and its agents.
 *
 * Types are not checked here: that is the work of the editor and of `npm run check`.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, watch } from "node:fs";
import { join, resolve } from "node:path";
import { writeBundles } from "./lib/bundle.mjs";
import { copyNative, copyPrograms } from "./lib/copy-files.mjs";
import { runShown } from "./lib/run.mjs";

/** Editors write a file in several steps. */
const SETTLE_MS = 150;
const CLI = resolve("dist/cli/main.js");
const home = resolve(process.env["REEVE_HOME"] ?? join(".dev", "home"));
const env = { ...process.env, REEVE_HOME: home };

/** @type {import("node:child_process").ChildProcess | null} */
let daemon = null;
let isStopping = false;

/** @param {string} message */
const log = (message) => console.log(`[dev] ${message}`);

async function build() {
	const startedMs = performance.now();
	try {
		await writeBundles();
		copyNative("dist");
		copyPrograms("dist");
	} catch {
		// esbuild has printed the errors.
		log("the build failed; the daemon keeps running as it is");
		return false;
	}
	log(`built in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
	return true;
}

async function stopDaemon() {
	const running = daemon;
	daemon = null;
	if (running === null || running.exitCode !== null || running.signalCode !== null) return;
	const ended = once(running, "exit");
	running.kill("SIGTERM");
	await ended;
}

function startDaemon() {
	// In a group of its own, so that Ctrl-C reaches only this script.
	const started = spawn(process.execPath, [CLI, "daemon", "run"], {
		env,
		detached: true,
		stdio: ["ignore", "inherit", "inherit"],
	});
	started.once("exit", (code, signal) => {
		if (daemon === started)
			log(`the daemon exited (${signal ?? code}); change a file to start it again`);
	});
	daemon = started;
	log(`daemon started in ${home}`);
}

let isBusy = false;
let isDue = false;

async function rebuild() {
	isDue = true;
	if (isBusy) return;
	isBusy = true;
	while (isDue && !isStopping) {
		isDue = false;
		if (!(await build()) || isStopping) continue;
		await stopDaemon();
		startDaemon();
	}
	isBusy = false;
}

async function stop() {
	if (isStopping) return;
	isStopping = true;
	log("stopping the daemon and its agents");
	daemon = null;
	process.exit(await runShown(process.execPath, [CLI, "daemon", "stop", "--all"], { env }));
}

for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]))
	process.on(signal, stop);
mkdirSync(home, { recursive: true, mode: 0o700 });
log(`use it from another terminal: REEVE_HOME=${home} node ${CLI} ps`);
await rebuild();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let settled;
watch("src", { recursive: true }, (_, name) => {
	if (name === null || /\.test\.ts$|~$|\.swp$/.test(name)) return;
	clearTimeout(settled);
	settled = setTimeout(() => void rebuild(), SETTLE_MS);
});
