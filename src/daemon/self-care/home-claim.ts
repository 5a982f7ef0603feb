/**
 * Whether this daemon still owns its home. The directory may be removed, moved or replaced while the daemon runs; then
 * no command reaches it, its stored data is lost, and another daemon may use the same path. It reports that and exits,
 * without affecting an agent or a file of the other daemon. A lock file that was removed alone is restored.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { acquireLock } from "../../home/instance-lock.js";
import { newestNumber, readJsonFile } from "../../home/numbered-files.js";
import type { Home } from "../../home/paths.js";
import { readIdentity } from "../../host/process-identity.js";
import type { ProcessIdentity } from "../../ports/backend.js";
import type { Logger } from "../logger.js";

export type ClaimState = "held" | "unlocked" | "gone" | "taken";

export interface HomeClaim {
	look(): ClaimState;
	/** Why the home cannot be used now; null if it can. */
	problem(): string | null;
	/** Checks until the returned function is called; `onLost` is called once. */
	watch(logger: Logger, onLost: (reason: string) => void): () => void;
}

const POLL_MS = 1_000;
/** A home that is moved for a moment, or on a remounted disk, comes back within this time. */
const GONE_MS_MAX = 10_000;

/** Call it in the process that has just acquired the lock. */
export function createHomeClaim({ dir }: Pick<Home, "dir">): HomeClaim {
	const own = readIdentity(process.pid);
	const folder = identityOf(dir);

	function look(): ClaimState {
		try {
			if (identityOf(dir) === null) return "gone";
			const newest = newestNumber(dir, "lock");
			const owner = readJsonFile<ProcessIdentity>(join(dir, `lock.${newest}`));
			if (owner !== null) return isSame(owner, own) ? "held" : "taken";
			return identityOf(dir) === folder ? "unlocked" : "gone";
		} catch {
			// The state is unknown, for example without free file descriptors.
			return "held";
		}
	}

	let goneSinceMs: number | null = null;
	const reasons = {
		gone: `the home ${dir} was removed while the daemon ran`,
		taken: `another daemon has taken over the home ${dir}`,
	};

	return {
		look,
		problem: () => (goneSinceMs === null ? null : reasons.gone),
		watch(logger, onLost) {
			const timer = setInterval(() => {
				const state = look();
				if (state === "unlocked" && acquireLock(dir, "lock", true).ok) {
					logger.info("the lock of the home was removed; lock restored", { home: dir });
				}
				const nowMs = performance.now();
				if (state === "gone" && goneSinceMs === null) {
					goneSinceMs = nowMs;
					logger.error("the home was removed; agents keep running", reasons.gone);
				} else if (state !== "gone" && goneSinceMs !== null) {
					goneSinceMs = null;
					if (state === "held") logger.info("the home is available again", { home: dir });
				}
				const isLost = goneSinceMs !== null && nowMs - goneSinceMs > GONE_MS_MAX;
				if (state !== "taken" && !isLost) return;
				clearInterval(timer);
				onLost(state === "taken" ? reasons.taken : reasons.gone);
			}, POLL_MS);
			return () => clearInterval(timer);
		},
	};
}

/** The identity of the file or directory at this path; null if there is none. */
export function identityOf(path: string): string | null {
	const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
	return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}

function isSame(a: ProcessIdentity, b: ProcessIdentity | null): boolean {
	return a.pid === b?.pid && a.startTime === b.startTime && a.bootId === b.bootId;
}
