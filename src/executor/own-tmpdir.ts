/** A folder for the temporary files of one attempt: some CLIs leave megabytes there each time. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallCommand } from "../ports/executor.js";

export interface OwnTmpdir {
	readonly env: CallCommand["env"];
	/** When nothing of the attempt runs any more. */
	remove(): Promise<void>;
}

export async function makeOwnTmpdir({ env, ownTmpdir }: CallCommand): Promise<OwnTmpdir> {
	if (ownTmpdir !== true) return { env, remove: async () => {} };
	const folder = await mkdtemp(join(env["TMPDIR"] ?? tmpdir(), "reeve-call-")).catch(() => null);
	// A full disk is for the program to complain about.
	if (folder === null) return { env, remove: async () => {} };
	return {
		env: { ...env, TMPDIR: folder },
		remove: () => rm(folder, { recursive: true, force: true }).catch(() => {}),
	};
}
