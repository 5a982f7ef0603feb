/** A directory for the temporary files of one attempt: some CLIs leave megabytes there each time. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallCommand } from "../ports/executor.js";

export interface OwnTmpdir {
	readonly env: CallCommand["env"];
	/** Called when no process of the attempt is left. */
	remove(): Promise<void>;
}

export async function makeOwnTmpdir({ env, ownTmpdir }: CallCommand): Promise<OwnTmpdir> {
	if (ownTmpdir !== true) return { env, remove: async () => {} };
	const folder = await mkdtemp(join(env["TMPDIR"] ?? tmpdir(), "reeve-call-")).catch(() => null);
	// On a full disk, the program itself reports the error.
	if (folder === null) return { env, remove: async () => {} };
	return {
		env: { ...env, TMPDIR: folder },
		remove: () => rm(folder, { recursive: true, force: true }).catch(() => {}),
	};
}
