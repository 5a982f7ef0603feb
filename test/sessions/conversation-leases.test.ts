import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readIdentity } from "../../src/host/process-identity.js";
import type { ProcessIdentity } from "../../src/ports/backend.js";
import { createConversationLeases } from "../../src/sessions/conversation-leases.js";

const RACER = join(import.meta.dirname, "../fixtures/leases/races-for-conversation.mjs");
const holder = { agentId: "p:a", runId: "run-without-process" };
let folder: string;

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "reeve-leases-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function identityOf(pid: number | undefined): ProcessIdentity {
	const identity = pid === undefined ? null : readIdentity(pid);
	if (identity === null) throw new Error(`no process ${pid}`);
	return identity;
}

/** A process that does nothing, until it is killed. */
function startIdler(env: NodeJS.ProcessEnv = {}) {
	const child = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1e6)"], {
		env: { PATH: process.env["PATH"], ...env },
		stdio: ["ignore", "pipe", "ignore"],
	});
	const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
	const running = new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
	const end = () => {
		child.kill("SIGKILL");
		return ended;
	};
	return { child, running, end };
}

describe("the lease of a conversation", () => {
	test("has one holder at a time, and names it", async () => {
		const leases = createConversationLeases(folder);
		const first = await leases.take("claude/1", holder);
		expect(first.ok).toBe(true);
		const second = await leases.take("claude/1", { ...holder, agentId: "q:b" });
		expect(second).toMatchObject({ ok: false, detail: expect.stringContaining("in use by p:a") });
		expect((await leases.take("claude/2", holder)).ok).toBe(true);
	});

	test("gets a higher number with every holder, also after a release", async () => {
		const leases = createConversationLeases(folder);
		const tokens: number[] = [];
		for (let n = 0; n < 3; n++) {
			const taken = await leases.take("claude/1", holder);
			if (!taken.ok) throw new Error(taken.detail);
			tokens.push(taken.lease.token);
			await leases.release(taken.lease);
		}
		expect(tokens).toEqual([1, 2, 3]);
		expect(readdirSync(folder)).toHaveLength(1);
	});

	test("ends with the process that it is bound to", async () => {
		const leases = createConversationLeases(folder);
		const idler = startIdler();
		await idler.running;
		const taken = await leases.take("claude/1", holder);
		if (!taken.ok) throw new Error(taken.detail);
		expect(await leases.bind(taken.lease, identityOf(idler.child.pid))).toBe(true);
		expect((await leases.take("claude/1", holder)).ok).toBe(false);
		await idler.end();
		expect((await leases.take("claude/1", holder)).ok).toBe(true);
		// A late caller with an old number has lost it.
		expect(await leases.bind(taken.lease, identityOf(process.pid))).toBe(false);
	});

	test("is not lost while any process of the run lives, although its daemon died before recording it", async () => {
		const idler = startIdler({ REEVE_RUN_ID: "run-that-lives-on" });
		await idler.running;
		const gone = startIdler();
		await gone.running;
		const daemon = identityOf(gone.child.pid);
		await gone.end();
		const leases = createConversationLeases(folder);
		const taken = await leases.take("claude/1", { agentId: "p:a", runId: "run-that-lives-on" });
		if (!taken.ok) throw new Error(taken.detail);
		// Its daemon has died, and it was bound to no live process.
		await leases.bind(taken.lease, daemon);
		expect((await leases.take("claude/1", holder)).ok).toBe(false);
		await idler.end();
		expect((await leases.take("claude/1", holder)).ok).toBe(true);
	});

	test("never has two holders when two supervisors compete for it 200 times", async () => {
		const writers = mkdtempSync(join(tmpdir(), "reeve-writers-"));
		try {
			const race = () => promisify(execFile)(process.execPath, [RACER, folder, writers, "200"]);
			await expect(Promise.all([race(), race()])).resolves.toHaveLength(2);
			expect(readdirSync(writers)).toEqual([]);
		} finally {
			rmSync(writers, { recursive: true, force: true });
		}
	});
});
