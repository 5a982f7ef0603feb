/**
 * One holder per conversation, among all daemons of this user. It consists of files that are linked
 * into place: `<name>.1`, `<name>.2`… The highest number is valid and names its holder; a process that
 * finds that holder gone creates the next number, and only one can succeed. A returned lease keeps its
 * number, so numbers only grow: a process that decided too late finds its number taken.
 *
 * A lease is held while the daemon that acquired it, its bound process, or any process with the mark of
 * its run is alive: a daemon may die between starting an agent and recording it.
 */

import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createNumberedFile, newestNumber, numbers, readJsonFile } from "../home/numbered-files.js";
import { replaceFileSync } from "../home/replace-file.js";
import { isAlive, readIdentity } from "../host/process-identity.js";
import { nextProcessTable } from "../host/process-table.js";
import type { ConversationLeases, LeaseResult } from "../ports/adapter.js";
import type { ProcessIdentity } from "../ports/backend.js";

interface Holder {
	readonly agentId: string;
	readonly runId: string;
	/** The daemon that acquired it. */
	readonly daemon: ProcessIdentity | null;
	/** The agent, once it runs. */
	readonly agent: ProcessIdentity | null;
	readonly released: boolean;
}

/** Another process was faster; the second attempt finds its holder. */
const TRIES_MAX = 3;

export function createConversationLeases(folder: string): ConversationLeases {
	return {
		async take(conversation, { agentId, runId }) {
			prepareFolder(folder);
			const name = nameOf(conversation);
			const holder: Holder = {
				agentId,
				runId,
				daemon: readIdentity(process.pid),
				agent: null,
				released: false,
			};
			for (let tries = 0; tries < TRIES_MAX; tries++) {
				const result = await tryToTake(folder, name, conversation, holder);
				if (result !== "again") return result;
			}
			return {
				ok: false,
				detail: `another process is resuming conversation ${conversation} right now`,
			};
		},
		async bind(lease, agent) {
			const name = nameOf(lease.conversation);
			const held = readJsonFile<Holder>(join(folder, `${name}.${lease.token}`));
			if (held === null || newestNumber(folder, name) !== lease.token) return false;
			replace(folder, name, lease.token, { ...held, agent, released: false });
			return true;
		},
		async release(lease) {
			const name = nameOf(lease.conversation);
			const held = readJsonFile<Holder>(join(folder, `${name}.${lease.token}`));
			if (held !== null) replace(folder, name, lease.token, { ...held, released: true });
		},
	};
}

async function tryToTake(
	folder: string,
	name: string,
	conversation: string,
	holder: Holder,
): Promise<LeaseResult | "again"> {
	const newest = newestNumber(folder, name);
	if (newest > 0) {
		const before = readJsonFile<Holder>(join(folder, `${name}.${newest}`));
		// It was replaced by a newer one between the two reads.
		if (before === null) return "again";
		if (await isHeld(before)) return { ok: false, detail: renderHolder(conversation, before) };
	}
	const token = newest + 1;
	if (!createNumberedFile(folder, name, token, holder)) return "again";
	// Numbers only grow, so a newer one means that this one was never the newest.
	if (newestNumber(folder, name) !== token) return "again";
	for (const number of numbers(folder, name)) {
		if (number < token) rmSync(join(folder, `${name}.${number}`), { force: true });
	}
	return { ok: true, lease: { conversation, token } };
}

async function isHeld({ released, daemon, agent, runId }: Holder): Promise<boolean> {
	if (released) return false;
	// An unknown state counts as alive.
	if (agent !== null && isAlive(agent) !== false) return true;
	if (agent === null && daemon !== null && isAlive(daemon) !== false) return true;
	const table = await nextProcessTable();
	return table.entries.some(({ pid, ended }) => !ended && table.runIdOf(pid) === runId);
}

function renderHolder(conversation: string, { agentId, agent, daemon }: Holder): string {
	const who = agent === null ? `its daemon (pid ${daemon?.pid})` : `pid ${agent.pid}`;
	return `conversation ${conversation} is in use by ${agentId}, ${who}; two processes would corrupt it`;
}

/** Mode 0700 and owned by this user: write access would allow another user to take any conversation. */
function prepareFolder(folder: string): void {
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const stats = lstatSync(folder);
	const uid = process.getuid?.();
	if (!stats.isDirectory() || (uid !== undefined && stats.uid !== uid)) {
		throw new Error(`${folder} is not a directory owned by this user`);
	}
	if ((stats.mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

/** Ids come from other programs, so file names use their hash. */
function nameOf(conversation: string): string {
	return createHash("sha256").update(conversation).digest("hex").slice(0, 32);
}

function replace(folder: string, name: string, number: number, holder: Holder): void {
	const path = join(folder, `${name}.${number}`);
	replaceFileSync(path, JSON.stringify(holder), { durable: false });
}
