/** Paths as users write them: relative to the fleet file's directory, with `~/` for the home directory. */

export interface Folders {
	/** The directory of the fleet file, absolute. */
	readonly baseDir: string;
	readonly homeDir: string;
}

/** The absolute path, without `.`, `..` or doubled slashes. Symbolic links are not followed. */
export function resolvePath(written: string, { baseDir, homeDir }: Folders): string {
	if (written === "~" || written.startsWith("~/")) return normalise(homeDir + written.slice(1));
	return normalise(written.startsWith("/") ? written : `${baseDir}/${written}`);
}

function normalise(path: string): string {
	const steps: string[] = [];
	for (const step of path.split("/")) {
		if (step === "..") steps.pop();
		else if (step !== "" && step !== ".") steps.push(step);
	}
	return `/${steps.join("/")}`;
}
