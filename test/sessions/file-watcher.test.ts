/** Watched files on a real file system. Git itself decides what `.gitignore` ignores. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { SessionSpec } from "../../src/config/spec.js";
import { createFileWatcher } from "../../src/sessions/file-watcher.js";
import { IgnoredFiles } from "../../src/sessions/ignored-files.js";

function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "reeve-watch-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

function write(path: string, text = "x"): void {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
}

async function eventually(holds: () => boolean, what: () => string): Promise<void> {
	const untilMs = performance.now() + 30_000;
	while (!holds()) {
		if (performance.now() > untilMs) throw new Error(`waited too long: ${what()}`);
		await sleep(20);
	}
}

/** Watches paths of a folder; waits until they are watched. */
async function watchIn(folder: string, paths: readonly string[], folders: number) {
	const changes: string[] = [];
	const problems: string[] = [];
	const spec = { id: "p:a", cwd: folder } as SessionSpec;
	const watched = createFileWatcher(join(folder, ".reeve-home"))(
		spec,
		paths.map((path) => join(folder, path)),
		{ onChange: (file) => changes.push(file), onProblem: (reason) => problems.push(reason) },
	);
	onTestFinished(() => watched.close());
	await eventually(
		() => watched.folders() === folders,
		() => `${watched.folders()} of ${folders} folders`,
	);
	return {
		watched,
		changes,
		problems,
		/** Waits for a change of this file; earlier ones are forgotten. */
		async sees(file: string, change: () => void) {
			changes.length = 0;
			change();
			await eventually(
				() => changes.includes(file),
				() => `${file}, saw ${changes}`,
			);
		},
		/** The changes seen until one that follows them is seen. */
		async until(marker: string): Promise<readonly string[]> {
			write(join(folder, marker), String(changes.length));
			await eventually(
				() => changes.includes(marker),
				() => marker,
			);
			return [...new Set(changes)].filter((each) => each !== marker);
		},
	};
}

describe("a watched folder", () => {
	test("reports files that are written, created, renamed and removed, in new folders too", async () => {
		const folder = temporaryFolder();
		write(join(folder, "src/deep/a.js"));
		const { sees } = await watchIn(folder, ["src"], 2);
		await sees("src/deep/a.js", () => write(join(folder, "src/deep/a.js"), "y"));
		await sees("src/b.js", () => write(join(folder, "src/b.js")));
		await sees("src/new/er/c.js", () => write(join(folder, "src/new/er/c.js")));
		await sees("src/new/er/c.js", () => write(join(folder, "src/new/er/c.js"), "z"));
		// As editors save: a new file takes the name of the old one.
		await sees("src/b.js", () => {
			write(join(folder, "src/.b.js.tmp"), "saved");
			renameSync(join(folder, "src/.b.js.tmp"), join(folder, "src/b.js"));
		});
		await sees("src/b.js", () => rmSync(join(folder, "src/b.js")));
		await sees("src/moved/er/c.js", () =>
			renameSync(join(folder, "src/new"), join(folder, "src/moved")),
		);
		await sees("src/moved/er/c.js", () => write(join(folder, "src/moved/er/c.js"), "again"));
	});

	test("is watched again after it, or a folder in it, was removed and came back", async () => {
		const folder = temporaryFolder();
		write(join(folder, "src/deep/a.js"));
		const { sees, problems } = await watchIn(folder, ["src"], 2);
		for (let round = 0; round < 5; round++) {
			await sees("src/deep/a.js", () => {
				rmSync(join(folder, "src/deep"), { recursive: true });
				write(join(folder, "src/deep/a.js"));
			});
			await sees("src/deep/a.js", () => write(join(folder, "src/deep/a.js"), `${round}`));
		}
		await sees("src", () => rmSync(join(folder, "src"), { recursive: true }));
		await eventually(
			() => problems.length === 1,
			() => "a report that it is missing",
		);
		expect(problems[0]).toBe(`${join(folder, "src")} does not exist`);
		await sees("src", () => write(join(folder, "src/deep/a.js")));
		await sleep(1_500);
		await sees("src/deep/a.js", () => write(join(folder, "src/deep/a.js"), "back"));
	});

	test("does not report what is ignored, and follows changed rules", async () => {
		const folder = temporaryFolder();
		mkdirSync(join(folder, ".git"));
		write(join(folder, ".gitignore"), "*.log\n/dist/\n");
		write(join(folder, "src/.gitignore"), "!kept.log\nbuild/\n");
		write(join(folder, "dist/out.js"));
		write(join(folder, "src/build/out.js"));
		write(join(folder, "node_modules/x/index.js"));
		write(join(folder, ".reeve-home/state"));
		const { until, changes, watched } = await watchIn(folder, ["."], 2);
		const quiet = ["a.log", "src/b.log", "dist/out.js", "src/build/out.js", "src/build/new/x.js"];
		for (const name of [...quiet, "node_modules/x/index.js", ".git/index", ".reeve-home/state"]) {
			write(join(folder, name), "changed");
		}
		write(join(folder, "src/.x.js.swp"));
		rmSync(join(folder, "dist"), { recursive: true });
		expect(await until("first")).toEqual([]);
		write(join(folder, "src/kept.log"));
		expect(await until("second")).toContain("src/kept.log");
		write(join(folder, ".gitignore"), "/dist/\n");
		write(join(folder, "src/.gitignore"), "");
		await eventually(
			() => watched.folders() === 4,
			() => `${watched.folders()} folders: the rules allow src/build now`,
		);
		changes.length = 0;
		write(join(folder, "src/build/out.js"), "seen");
		write(join(folder, "a.log"), "seen");
		const seen = await until("third");
		expect(seen).toContain("src/build/out.js");
		expect(seen).toContain("a.log");
	});

	test("that is ignored itself is watched, because it is listed", async () => {
		const folder = temporaryFolder();
		mkdirSync(join(folder, ".git"));
		write(join(folder, ".gitignore"), "dist/\n*.js\n");
		write(join(folder, "dist/a.js"));
		const { sees } = await watchIn(folder, ["dist"], 1);
		await sees("dist/a.js", () => write(join(folder, "dist/a.js"), "y"));
	});

	test("does not follow links to other folders, but may be one itself", async () => {
		const [folder, other] = [temporaryFolder(), temporaryFolder()];
		write(join(other, "src/a.js"));
		symlinkSync(join(other, "src"), join(folder, "link"));
		symlinkSync(folder, join(other, "src/loop"));
		const { sees } = await watchIn(folder, ["link"], 1);
		await sees("link/a.js", () => write(join(other, "src/a.js"), "y"));
	});

	test("survives ten thousand changes", { timeout: 240_000 }, async () => {
		const folder = temporaryFolder();
		for (let n = 0; n < 200; n++) write(join(folder, `src/d${n}/start`));
		const { changes, watched, sees } = await watchIn(folder, ["src"], 201);
		for (let n = 0; n < 10_000; n++) write(join(folder, `src/d${n % 400}/f${n}`));
		await eventually(
			() => watched.folders() === 401,
			() => `${watched.folders()} folders`,
		);
		expect(changes.length).toBeGreaterThan(100);
		await sees("src/d399/late", () => write(join(folder, "src/d399/late")));
		rmSync(join(folder, "src"), { recursive: true });
		await eventually(
			() => watched.folders() <= 1,
			() => `${watched.folders()} folders are left`,
		);
	});
});

test("a watched file is seen through replacement, removal and return", async () => {
	const folder = temporaryFolder();
	write(join(folder, "conf.json"));
	write(join(folder, "other.json"));
	const { sees, changes } = await watchIn(folder, ["conf.json", "later.json"], 2);
	await sees("conf.json", () => write(join(folder, "conf.json"), "y"));
	write(join(folder, "other.json"), "y");
	await sees("conf.json", () => {
		write(join(folder, "tmp"), "z");
		renameSync(join(folder, "tmp"), join(folder, "conf.json"));
	});
	await sees("conf.json", () => rmSync(join(folder, "conf.json")));
	await sees("conf.json", () => write(join(folder, "conf.json"), "again"));
	await sees("later.json", () => write(join(folder, "later.json"), "new"));
	expect(changes).not.toContain("other.json");
});

const NAMES = ["a", "b", "a.log", "build", "keep"];
const patterns = fc
	.tuple(
		fc.constantFrom("", "", "!", "/", "!/"),
		fc.array(fc.constantFrom(...NAMES, "*", "**", "*.log", "?", "[ab]", "[!a]*", "b*d", "*e*"), {
			...{ minLength: 1, maxLength: 3 },
		}),
		fc.constantFrom("", "", "/"),
	)
	.map(([start, parts, end]) => `${start}${parts.join("/")}${end}`);
const paths = fc.uniqueArray(
	fc
		.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 })
		.map((parts) => parts.join("/")),
	{ minLength: 1, maxLength: 12 },
);
const rules = fc.dictionary(
	fc.constantFrom("", "a/", "b/", "build/", "a/b/"),
	fc.array(patterns, { minLength: 1, maxLength: 4 }),
);

test("a file is ignored exactly if git ignores it", { timeout: 240_000 }, async () => {
	await fc.assert(
		fc.asyncProperty(rules, paths, fc.boolean(), async (files, tree, below) => {
			const top = mkdtempSync(join(tmpdir(), "reeve-ignored-"));
			try {
				execFileSync("git", ["init", "-q", top]);
				for (const path of tree) {
					// A name can be a file or a folder; the first one decides.
					try {
						write(join(top, path));
					} catch {}
				}
				for (const [folder, lines] of Object.entries(files)) {
					try {
						write(join(top, folder, ".gitignore"), `${lines.join("\n")}\n`);
					} catch {}
				}
				const root = below ? join(top, "a") : top;
				const found = execFileSync("find", [
					top,
					"-name",
					".git",
					"-prune",
					"-o",
					"-type",
					"f",
					"-print",
				]);
				const all = found
					.toString()
					.trim()
					.split("\n")
					.filter((path) => path.startsWith(`${root}/`));
				if (all.length === 0 || (below && isIgnoredByGit(top, [root]).size > 0)) return;
				const ignored = new IgnoredFiles(root, "/nowhere");
				const byGit = isIgnoredByGit(top, all);
				for (const path of all) {
					expect([path, await ignored.isIgnored(path, false)]).toEqual([path, byGit.has(path)]);
				}
			} finally {
				rmSync(top, { recursive: true, force: true });
			}
		}),
		{ numRuns: Number(process.env["REEVE_IGNORE_RUNS"] ?? 60) },
	);
});

function isIgnoredByGit(top: string, files: readonly string[]): ReadonlySet<string> {
	try {
		const options = { input: files.join("\0"), cwd: top };
		const out = execFileSync("git", ["check-ignore", "--no-index", "--stdin", "-z"], options);
		return new Set(out.toString().split("\0").filter(Boolean));
	} catch (error) {
		// Its exit code for "none of them".
		if ((error as { status?: number }).status === 1) return new Set();
		throw error;
	}
}
