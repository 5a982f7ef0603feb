/** Watches the files of agents on this host. */

import { relative } from "node:path";
import type { WatchFiles } from "../engine/file-watches.js";
import { WatchedPath } from "./watched-path.js";

/** How often a watched path is checked for having been replaced. */
const LOOK_EVERY_MS = 1_000;

/** `home`: Reeve's own files, whose changes never count. */
export function createFileWatcher(home: string): WatchFiles {
	return ({ cwd }, paths, { onChange, onProblem }) => {
		const watched = paths.map(
			(path) => new WatchedPath(path, home, (changed) => onChange(nameOf(changed, cwd))),
		);
		let before: string | null = null;
		let reported: string | null = null;
		const problemNow = () => {
			const problems = watched.flatMap(({ problem }) => (problem === null ? [] : [problem]));
			return problems.length === 0 ? null : problems.join("; ");
		};
		const look = () => {
			for (const each of watched) each.look();
			const problem = problemNow();
			// A checkout may remove a folder for a moment.
			const lasts = problem === before;
			before = problem;
			if (!lasts || problem === reported) return;
			reported = problem;
			if (problem !== null) onProblem(problem);
		};
		look();
		const timer = setInterval(look, LOOK_EVERY_MS);
		timer.unref();
		return {
			folders: () => watched.reduce((sum, each) => sum + each.folders, 0),
			problem: problemNow,
			close() {
				clearInterval(timer);
				for (const each of watched) each.close();
			},
		};
	};
}

function nameOf(path: string, cwd: string): string {
	const name = relative(cwd, path);
	return name === "" || name.startsWith("..") ? path : name;
}
