/** Reads the remotes. What follows their agents is only loaded if there are any. */

import { call } from "./api.js";
import { remotes } from "./hosts.js";

let isFollowing = false;

/** Reads them again, and follows those that answer. */
export async function readRemotes(): Promise<void> {
	remotes.value = (await call("GET /api/v1/remotes")).remotes;
	if (remotes.value.length === 0 && !isFollowing) return;
	isFollowing = true;
	(await import("./remotes.js")).followRemotes();
}
