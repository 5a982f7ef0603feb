/**
 * The holder: a small program that owns the terminals of all agents of one home and outlives the
 * daemon. Started by the daemon as `holder-main.js <folder>`; leaves by itself when no run is left and
 * nobody has been connected for a while.
 *
 * Its death is the death of every terminal, so it does little and stays alive: it ignores SIGHUP and
 * SIGINT, takes SIGTERM as "when the last run has ended", and reports what would end another program.
 */

import { createHash } from "node:crypto";
import { chmodSync, closeSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createGroups } from "../../../host/cgroup.js";
import { takeLock } from "../../../host/instance-lock.js";
import { makePrivateFolder } from "../../../host/socket-path.js";
import { holderSocketPath } from "../holder-paths.js";
import { createRecords } from "./records.js";
import { RunKeeper } from "./run-keeper.js";
import { createHolderServer } from "./server.js";

const TIDY_MS = 250;
const PRUNE_MS = 60 * 60 * 1_000;
/** How long to wait for another holder that is neither answering nor gone. */
const LOCK_WAIT_MS = 5_000;

function say(message: string): void {
	process.stderr.write(`${new Date().toISOString()} ${message}\n`);
}

/** Programs that we start must not get what whoever started us has left open. Our own are closed by exec. */
function closeInherited(): void {
	if (process.platform !== "linux") return;
	const O_CLOEXEC = 0o2000000;
	for (const fd of readdirSync("/proc/self/fd").map(Number)) {
		if (fd <= 2) continue;
		try {
			const info = readFileSync(`/proc/self/fdinfo/${fd}`, "utf8");
			const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? "", 8);
			if ((flags & O_CLOEXEC) === 0) closeSync(fd);
		} catch {
			// Closed already: it was that of the listing.
		}
	}
}

/** False when another holder is at work. */
async function becomeTheOne(folder: string, socketPath: string): Promise<boolean> {
	const deadlineMs = performance.now() + LOCK_WAIT_MS;
	while (!takeLock(folder, "holder.lock").ok) {
		if (await answers(socketPath)) return false;
		// It may be leaving just now.
		if (performance.now() > deadlineMs)
			throw new Error("another holder has the lock but no socket");
		await sleep(20);
	}
	return true;
}

function answers(socketPath: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(socketPath);
		socket.once("connect", () => resolve(true));
		socket.once("error", () => resolve(false));
		socket.once("connect", () => socket.destroy());
	});
}

function leaveWhenIdle(isIdle: () => boolean, idleMs: number, leave: () => void) {
	let timer: NodeJS.Timeout | undefined;
	let hurry = false;
	const check = () => {
		clearTimeout(timer);
		if (isIdle()) timer = setTimeout(() => isIdle() && leave(), hurry ? 0 : idleMs);
	};
	process.on("SIGTERM", () => {
		hurry = true;
		check();
	});
	return check;
}

async function main(folder: string): Promise<void> {
	closeInherited();
	makePrivateFolder(folder);
	const socketPath = holderSocketPath(folder);
	makePrivateFolder(dirname(socketPath));
	if (!(await becomeTheOne(folder, socketPath))) return say("another holder is at work");

	const owner = createHash("sha256").update(folder).digest("hex").slice(0, 12);
	const isOff = process.env["REEVE_HOLDER_GROUPS"] === "off";
	const groups = isOff ? createGroups(owner, "control groups are turned off") : createGroups(owner);
	const records = createRecords(folder);
	const keeper = new RunKeeper({
		records,
		groups,
		orphanGraceMs: numberFrom("REEVE_HOLDER_ORPHAN_GRACE_MS", 10_000),
		onExit: (exit) => server.tellExit(exit),
		onTrouble: say,
		onCount: () => checkIdle(),
	});
	const server = createHolderServer(keeper, () => checkIdle());
	const checkIdle = leaveWhenIdle(
		() => keeper.count === 0 && server.count === 0,
		numberFrom("REEVE_HOLDER_IDLE_MS", 60_000),
		() => {
			server.close();
			groups.sweep();
			process.exit(0);
		},
	);
	rmSync(socketPath, { force: true });
	await server.listen(socketPath);
	// The folder has kept others out until now. The umask stays as it is: agents inherit it.
	chmodSync(socketPath, 0o600);
	setInterval(() => keeper.tidy(), TIDY_MS);
	setInterval(() => records.prune(), PRUNE_MS);
	records.prune();
	checkIdle();
	say(`ready, pid ${process.pid}`);
}

/** For tests, which do not wait for a minute. */
function numberFrom(name: string, otherwise: number): number {
	const value = Number(process.env[name]);
	return Number.isFinite(value) && value > 0 ? value : otherwise;
}

for (const signal of ["SIGHUP", "SIGINT", "SIGPIPE"] as const) process.on(signal, () => {});
process.on("uncaughtException", (error) => say(`bug: ${error.stack ?? error.message}`));
process.on("unhandledRejection", (error) => say(`bug: ${(error as Error)?.stack ?? error}`));

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: holder-main.js <folder>");
try {
	await main(folder);
} catch (error) {
	say(`cannot start: ${(error as Error).message}`);
	process.exit(1);
}
