/**
 * The only way to write a file: complete, under a temporary name, and renamed into place. A reader sees the old or the
 * new content, whatever dies in between (A9). Temporary names are unique, so that two writers never share one, and
 * contain the writer's pid, so that a later process can remove the leftovers of a killed writer.
 */

import { randomBytes } from "node:crypto";
import {
	closeSync,
	fchmodSync,
	fsyncSync,
	lstatSync,
	openSync,
	readdirSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface ReplaceOptions {
	/** Exactly this mode, independent of the umask; 0600 by default. */
	readonly mode?: number;
	/**
	 * Whether the file is on the disk when the call returns. False for files that describe a live
	 * process, which does not survive a power failure either.
	 */
	readonly durable?: boolean;
}

export interface ReplaceIfOptions extends ReplaceOptions {
	/** The owner of the file; by default that of this process. */
	readonly owner?: { readonly uid: number; readonly gid: number };
	/** Checked right before the new file replaces the old one. */
	readonly onlyIf?: () => Promise<boolean>;
}

const OWNER_ONLY = 0o600;

export async function replaceFile(
	path: string,
	text: string,
	options: ReplaceOptions = {},
): Promise<void> {
	await replaceFileIf(path, text, options);
}

/** The same with a condition; false if it did not hold, and the file is unchanged. */
export async function replaceFileIf(
	path: string,
	text: string,
	{ mode = OWNER_ONLY, durable = true, owner, onlyIf }: ReplaceIfOptions,
): Promise<boolean> {
	const beside = temporaryPath(path);
	try {
		const file = await open(beside, "wx", OWNER_ONLY);
		try {
			if (owner !== undefined) await chownTo(file, owner);
			await file.chmod(mode);
			await file.writeFile(text);
			if (durable) await file.sync();
		} finally {
			await file.close();
		}
		if (onlyIf !== undefined && !(await onlyIf())) {
			await rm(beside, { force: true });
			return false;
		}
		await rename(beside, path);
	} catch (error) {
		await rm(beside, { force: true });
		throw error;
	}
	if (durable) await syncFolder(dirname(path));
	return true;
}

/** A daemon of root may change files of another user, who must stay their owner. */
async function chownTo(
	file: FileHandle,
	{ uid, gid }: { uid: number; gid: number },
): Promise<void> {
	const now = await file.stat();
	if (now.uid !== uid || now.gid !== gid) await file.chown(uid, gid);
}

/** For synchronous callers. */
export function replaceFileSync(
	path: string,
	text: string,
	{ mode = OWNER_ONLY, durable = true }: ReplaceOptions = {},
): void {
	const beside = temporaryPath(path);
	try {
		const fd = openSync(beside, "wx", mode);
		try {
			fchmodSync(fd, mode);
			writeFileSync(fd, text);
			if (durable) fsyncSync(fd);
		} finally {
			closeSync(fd);
		}
		renameSync(beside, path);
	} catch (error) {
		rmSync(beside, { force: true });
		throw error;
	}
	if (durable) syncFolderSync(dirname(path));
}

/** A name next to the file that no other writer uses. */
export function temporaryPath(path: string): string {
	return `${path}.${process.pid}-${randomBytes(6).toString("hex")}.tmp`;
}

/** Of this version, and of older ones that wrote files of users; never a name that a user or a CLI would choose. */
export const OWN_TEMPORARY = /\.(?:reeve-\d+|\d+-[0-9a-f]{12})\.tmp$/;
/**
 * With the writer's pid; older versions used `NAME.PID.tmp`, `NAME.reeve-PID.tmp`, `NAME.tmp` and
 * `NAME.new`.
 */
const TEMPORARY = /\.(?:(?:(?:reeve-)?(\d+)(?:-[0-9a-f]+)?\.)?tmp|new)$/;
/** Longer than any write. A writer that was suspended fails at its rename, which is harmless. */
const WRITE_MS_MAX = 60 * 60 * 1_000;

/**
 * Removes the temporary files of killed writers in this directory. Pids are reused, so the age of a
 * file counts as well.
 */
export function removeLeftovers(
	folder: string,
	isCandidate: (name: string) => boolean = () => true,
): void {
	const nowMs = Date.now();
	const startedMs = nowMs - process.uptime() * 1_000;
	for (const name of namesIn(folder)) {
		const match = isCandidate(name) ? TEMPORARY.exec(name) : null;
		if (match === null) continue;
		const path = join(folder, name);
		const atMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
		const pid = match[1] === undefined ? null : Number(match[1]);
		const isOld = atMs < nowMs - WRITE_MS_MAX || (pid === process.pid && atMs < startedMs);
		if (isOld || (pid !== null && !isRunning(pid))) rmSync(path, { force: true });
	}
}

/** The same in all directories below this one. */
export function removeLeftoversBelow(folder: string): void {
	removeLeftovers(folder);
	for (const name of namesIn(folder)) {
		const path = join(folder, name);
		if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) removeLeftoversBelow(path);
	}
}

function isRunning(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code !== "ESRCH";
	}
}

function namesIn(folder: string): readonly string[] {
	try {
		return readdirSync(folder);
	} catch {
		return [];
	}
}

/** Some filesystems cannot sync a directory, and report that. */
const UNSUPPORTED = ["EINVAL", "ENOTSUP", "EISDIR"];

function ignoreUnsupported(error: unknown): void {
	if (!UNSUPPORTED.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
}

async function syncFolder(path: string): Promise<void> {
	const folder = await open(path, "r");
	try {
		await folder.sync().catch(ignoreUnsupported);
	} finally {
		await folder.close();
	}
}

function syncFolderSync(path: string): void {
	const fd = openSync(path, "r");
	try {
		fsyncSync(fd);
	} catch (error) {
		ignoreUnsupported(error);
	} finally {
		closeSync(fd);
	}
}
