/**
 * Where the file system places the folders of a new home. ext4 does not reuse inodes that were deleted in the last
 * minutes, and skips over them one by one for each new file. Near a busy folder such as `/tmp` that takes half a
 * millisecond per file, and each agent needs several. With its attribute `T` ("top of a directory hierarchy"), ext4
 * places the folders of the home in other regions of the disk, where few files were deleted.
 */

import { execFile } from "node:child_process";
import { describeShim } from "../../native/find-binary.js";

const MS_MAX = 5_000;

/** For a folder whose subfolders do not exist yet. Does nothing where the file system does not support it. */
export function spreadFolders(folder: string): Promise<void> {
	const { path } = describeShim();
	if (path === null) return Promise.resolve();
	return new Promise((resolve) => {
		execFile(path, ["spread", folder], { env: {}, timeout: MS_MAX }, () => resolve());
	});
}
