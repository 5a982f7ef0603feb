/** The facts of the host for `GET /api/v1/host`, and the findings of `reeve doctor`, which runs as a program. */

import { stat, statfs } from "node:fs/promises";
import { arch, cpus, freemem, loadavg, platform, release, totalmem, uptime } from "node:os";
import { messageOf } from "../core/message-of.js";
import type { Home } from "../home/paths.js";
import type { FindingJson, HostJson } from "../http/contract/daemon.js";
import { runOwnProgram } from "./own-program.js";

type Facts = Omit<HostJson, "daemon" | "host">;
type Findings = Pick<Facts, "findings" | "findings_at" | "findings_problem">;

const DOCTOR_MS_MAX = 20_000;
/** Findings are reused for this long, however many clients ask. */
const KEPT_MS = 30_000;
/** It looks for a fleet file in the current directory, and the daemon has none. */
const WITHOUT = ["fleet file"];
const WORST_FIRST = ["fail", "warn", "ok"];
const NO_FINDINGS: Findings = { findings: null, findings_at: null, findings_problem: null };

export function createHostFacts(home: Home): (withFindings: boolean) => Promise<Facts> {
	let kept: { readonly atMs: number; readonly findings: Promise<Findings> } | null = null;

	function findings(): Promise<Findings> {
		const nowMs = performance.now();
		if (kept === null || nowMs - kept.atMs > KEPT_MS) {
			kept = { atMs: nowMs, findings: askDoctor(home) };
		}
		return kept.findings;
	}

	return async (withFindings) => {
		const [disk, database, found] = await Promise.all([
			readDisk(home.dir),
			stat(home.database).catch(() => null),
			withFindings ? findings() : NO_FINDINGS,
		]);
		return {
			platform: `${platform()} ${release()} ${arch()}`,
			node: process.versions.node,
			cpus: cpus().length,
			load: loadavg(),
			memory_total_bytes: totalmem(),
			memory_free_bytes: freemem(),
			uptime_ms: Math.round(uptime() * 1_000),
			daemon_memory_bytes: process.memoryUsage.rss(),
			disk,
			database_bytes: database?.size ?? null,
			...found,
		};
	};
}

async function readDisk(path: string): Promise<Facts["disk"]> {
	try {
		const { blocks, bavail, bsize } = await statfs(path);
		return { path, total_bytes: blocks * bsize, free_bytes: bavail * bsize };
	} catch {
		return null;
	}
}

async function askDoctor(home: Home): Promise<Findings> {
	const findings_at = new Date().toISOString();
	try {
		// It fails with 1 if a check fails, and still prints all of them.
		const { checks } = (await runOwnProgram("../cli/main.js", {
			args: ["doctor", "--json"],
			timeoutMs: DOCTOR_MS_MAX,
			codes: [0, 1],
			env: { ...process.env, REEVE_HOME: home.dir },
		})) as { readonly checks: readonly FindingJson[] };
		const findings = checks
			.filter(({ name }) => !WITHOUT.includes(name))
			.toSorted((a, b) => WORST_FIRST.indexOf(a.status) - WORST_FIRST.indexOf(b.status));
		return { findings, findings_at, findings_problem: null };
	} catch (error) {
		const problem = messageOf(error);
		return { findings: null, findings_at, findings_problem: `reeve doctor: ${problem}` };
	}
}
