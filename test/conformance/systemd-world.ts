/**
 * A world in which every run is in a scope of its own: of the real systemd, where the tests run in a
 * virtual machine, or of a fake one in a folder.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { encloseServer } from "../../src/backends/systemd/scope.js";
import { createScopeGroups } from "../../src/backends/systemd/scope-groups.js";
import { findUserManager, type UserManager } from "../../src/backends/systemd/user-manager.js";
import { createPtyWorld, type PtyWorld } from "./pty-world.js";

const FAKES = resolve("test/fixtures/systemd");

export function createSystemdWorld(manager: UserManager): Promise<PtyWorld> {
	const groups = createScopeGroups(manager);
	const enclose = encloseServer(manager, "terminals");
	return createPtyWorld({ name: "s", backend: { name: "systemd", groups, enclose } });
}

/** The systemd of the user who runs the tests. */
export function realManager(): UserManager {
	const found = findUserManager();
	if (typeof found === "string") throw new Error(found);
	return found;
}

export interface FakeSystemd {
	/** Replaces `XDG_RUNTIME_DIR`; everything else is below it. */
	readonly folder: string;
	find(): UserManager | string;
	remove(): void;
}

export function createFakeSystemd({ controllers = "cpu memory pids" } = {}): FakeSystemd {
	const folder = mkdtempSync(join(tmpdir(), "reeve-fake-systemd-"));
	const groupRoot = join(folder, "cgroup");
	const own = join(groupRoot, "user.slice/user-1000.slice/user@1000.service");
	mkdirSync(own, { recursive: true });
	for (const at of [groupRoot, own]) writeFileSync(join(at, "cgroup.controllers"), controllers);
	const places = {
		...{ groupRoot, runtimeDir: folder, programs: FAKES },
		lingerFolder: join(folder, "linger"),
	};
	return {
		folder,
		find: () => findUserManager(places),
		remove: () => rmSync(folder, { recursive: true, force: true }),
	};
}
