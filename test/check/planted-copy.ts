/**
 * A copy of this checkout in which violations can be planted and pulled out again, and what
 * `scripts/check.mjs` finds in it, as `file: rule`.
 */

import {
	appendFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { type Ran, runQuietly } from "../../scripts/lib/run.mjs";

export type Step =
	| "types"
	| "lint"
	| "imports"
	| "dead-code"
	| "generated"
	| "prose"
	| "shell"
	| "manifests";

/** The change of one file: its new text, or a function of the old text. */
export type Change = string | ((before: string) => string);

const NOT_COPIED = /^(\.git|node_modules|build|dist|coverage|\.planted-.*)$/;
/** Folders with packages of their own; linked, since a copy would take longer than all the checks. */
const PACKAGES = [".", "dashboard"];

export class PlantedCopy {
	readonly root = mkdtempSync(join(tmpdir(), "reeve-planted-"));

	constructor(checkout: string) {
		cpSync(checkout, this.root, {
			recursive: true,
			filter: (path) => path === checkout || !NOT_COPIED.test(basename(path)),
		});
		for (const folder of PACKAGES) {
			const installed = resolve(checkout, folder, "node_modules");
			if (existsSync(installed)) symlinkSync(installed, join(this.root, folder, "node_modules"));
		}
	}

	check(...steps: Step[]): Promise<Ran> {
		return this.run("scripts/check.mjs", ...steps);
	}

	/** Runs one of the copy's own scripts. */
	run(...args: string[]): Promise<Ran> {
		const env = { ...process.env, NO_COLOR: "1" };
		return runQuietly(process.execPath, args, { cwd: this.root, env });
	}

	/** Changes files, does something, and puts them back as they were. */
	async with<T>(changes: Readonly<Record<string, Change>>, body: () => Promise<T>): Promise<T> {
		const undo = Object.entries(changes).map(([path, change]) => this.#change(path, change));
		try {
			return await body();
		} finally {
			// Last first: a folder goes after what was planted in it.
			for (const restore of undo.reverse()) restore();
		}
	}

	remove(): void {
		rmSync(this.root, { recursive: true, force: true });
	}

	#change(path: string, change: Change): () => void {
		const full = join(this.root, path);
		if (!existsSync(full)) {
			// The topmost folder that this creates has to be removed again.
			const made = mkdirSync(dirname(full), { recursive: true }) ?? full;
			appendFileSync(full, typeof change === "string" ? change : change(""));
			return () => rmSync(made, { recursive: true });
		}
		const before = readFileSync(full, "utf8");
		writeFileSync(full, typeof change === "string" ? change : change(before));
		return () => writeFileSync(full, before);
	}
}

/** The format of each tool's findings; the groups are the file and the rule. */
const FINDING: Readonly<Record<Exclude<Step, "dead-code">, RegExp>> = {
	types: /^(?<file>\S+)\(\d+,\d+\): error (?<rule>TS\d+):/gm,
	// A rule of our own (a plugin) is named at the start of its message.
	lint: /^(?<file>\S+?)(?::\d+:\d+)? (?:plugin ━+\s+× (?<plugin>[\w-]+):|(?<rule>(?:lint|assist)\/\S+|format)\s)/gm,
	imports: /^ *error (?<rule>[\w-]+): (?<file>\S+)/gm,
	generated: /^(?<file>\S+) (?<rule>is stale)/gm,
	prose: /^(?<file>\S+?):\d+: "(?<rule>[\w ]+)" is not plain English/gm,
	shell: /^(?<file>\S+) has a (?<rule>syntax error)/gm,
	// A mistake in a schema is named by its kind, a rule between objects completely.
	manifests:
		/^(?<file>\S+): (?:✖ )?(?<rule>Unrecognized key|Invalid input|needs a fixed version|.+)/gm,
};

/** Each finding once, in order: `src/core/planted.ts: lint/suspicious/noExplicitAny`. */
export function findingsOf(step: Step, output: string): string[] {
	if (step === "dead-code") return deadCodeIn(output);
	const found = [...output.matchAll(FINDING[step])].map(({ groups = {} }) => {
		const { file, rule, plugin } = groups as Record<string, string | undefined>;
		return `${file}: ${plugin ?? rule}`;
	});
	return [...new Set(found)].sort();
}

/** Knip writes a heading, `Unused exports (1)`, and under it a line for each: the name, if any, and the file. */
function deadCodeIn(output: string): string[] {
	const sections = output.matchAll(
		/^(?<rule>Unused [\w ]+?) \(\d+\)\n(?<lines>(?:\S.*\n?)+?)(?=Unused |\n|$)/gm,
	);
	return [...sections]
		.flatMap(({ groups = {} }) => {
			const { rule, lines = "" } = groups as Record<string, string | undefined>;
			return lines.split("\n").flatMap((line) => {
				const [file = "", ...name] = line.trim().split(/\s+/).reverse();
				const at = file.replace(/(:\d+)+$/, "");
				return at === "" ? [] : [[`${at}: ${rule}`, ...name].join(" ")];
			});
		})
		.sort();
}
