/** Atomic writes, by several writers in several processes. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { withFileLock } from "../../src/home/file-lock.js";
import {
	removeLeftovers,
	removeLeftoversBelow,
	replaceFile,
	replaceFileSync,
} from "../../src/home/replace-file.js";
import { updateFile, withLockFolder } from "../../src/home/update-file.js";
import { temporaryFolder } from "../support/reeve.js";

const built = (path: string) => pathToFileURL(resolve("build", path)).href;

/** Runs this text as a module in a process of its own. */
function run(text: string) {
	const args = ["--input-type=module", "-e", text];
	return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

test("A9: writers in one process never share a temporary file, and leave none", async () => {
	const folder = temporaryFolder();
	const path = join(folder, "file");
	const texts = Array.from({ length: 50 }, (_, each) => String(each).repeat(10_000));
	await Promise.all(texts.map((text) => replaceFile(path, text)));
	expect(texts).toContain(readFileSync(path, "utf8"));
	expect(readdirSync(folder)).toEqual(["file"]);
});

test("a file has exactly the requested mode, regardless of the umask", () => {
	const path = join(temporaryFolder(), "file");
	const before = process.umask(0o077);
	try {
		replaceFileSync(path, "x", { mode: 0o644 });
	} finally {
		process.umask(before);
	}
	expect(statSync(path).mode & 0o777).toBe(0o644);
});

test("A9: six processes change one file at once, one of them is killed, and no change is lost", {
	timeout: 60_000,
}, async () => {
	const folder = temporaryFolder();
	const path = join(folder, "numbers");
	const change = (name: string) => `
		import { updateFile } from ${JSON.stringify(built("home/update-file.js"))};
		for (let n = 0; n < 40; n++) {
			await updateFile(${JSON.stringify(path)}, (text) => (text ?? "") + "${name}" + n + "\\n", {
				locks: ${JSON.stringify(join(folder, "locks"))}, keepsPrevious: true });
			console.log("${name}" + n);
		}`;
	const acknowledged: string[] = [];
	const names = ["a", "b", "c", "d", "e", "f"];
	const writers = names.map((name) => {
		const writer = run(change(name));
		let text = "";
		writer.stdout.on("data", (data) => {
			text += String(data);
			if (name === "a" && text.includes("a3\n")) writer.kill("SIGKILL");
		});
		return once(writer, "close").then(() => acknowledged.push(...text.split("\n").slice(0, -1)));
	});
	await Promise.all(writers);
	const lines = readFileSync(path, "utf8").trimEnd().split("\n");
	expect(new Set(lines).size).toBe(lines.length);
	expect(lines).toEqual(expect.arrayContaining(acknowledged));
	expect(acknowledged.length).toBeGreaterThanOrEqual(5 * 40);
	expect(readdirSync(folder).sort()).toEqual(["locks", "numbers", "numbers.previous"]);
});

test("a lock whose holder was killed does not block the next", { timeout: 60_000 }, async () => {
	const folder = temporaryFolder();
	const holder = run(`
		import { withFileLock } from ${JSON.stringify(built("home/file-lock.js"))};
		await withFileLock(${JSON.stringify(folder)}, "it", () => {
			console.log("held");
			return new Promise((resolve) => setTimeout(resolve, 60_000));
		});`);
	await once(holder.stdout, "data");
	await expect(withFileLock(folder, "it", async () => {}, 100)).rejects.toThrow(
		`pid ${holder.pid} has held the lock`,
	);
	holder.kill("SIGKILL");
	await once(holder, "exit");
	expect(await withFileLock(folder, "it", async () => "mine")).toBe("mine");
});

test("A9: a change that cannot read the original does not change the file", async () => {
	const folder = temporaryFolder();
	const path = join(folder, "settings.json");
	writeFileSync(path, "{ not json");
	const change = updateFile(path, (text) => JSON.stringify({ ...JSON.parse(text ?? "{}"), a: 1 }), {
		locks: join(folder, "locks"),
	});
	await expect(change).rejects.toThrow(SyntaxError);
	expect(readFileSync(path, "utf8")).toBe("{ not json");
});

test("a change of a user's file removes nothing that Reeve did not write", async () => {
	const folder = temporaryFolder();
	const path = join(folder, "settings.json");
	const names = ["settings.json.new", "settings.json.tmp", "settings.json.tmp.12.ab"];
	for (const name of names) writeFileSync(join(folder, name), "mine");
	const old = new Date(Date.now() - 2 * 60 * 60 * 1_000);
	for (const name of names) utimesSync(join(folder, name), old, old);
	const locks = temporaryFolder();
	await updateFile(path, () => "{}", { locks, isShared: true });
	expect(readdirSync(folder).sort()).toEqual(["settings.json", ...names]);
});

test("a change that another program makes without a lock is kept", async () => {
	const folder = temporaryFolder();
	const path = join(folder, "settings.json");
	writeFileSync(path, "a");
	let tries = 0;
	const change = (text: string | null) => {
		if (tries++ === 0) writeFileSync(path, "b");
		return `${text}+`;
	};
	await updateFile(path, change, { locks: temporaryFolder(), keepsPrevious: true });
	expect(readFileSync(path, "utf8")).toBe("b+");
	expect(readFileSync(`${path}.previous`, "utf8")).toBe("b");
});

test("a lock folder that a killed program left is removed, one that is in use is waited for", async () => {
	const path = join(temporaryFolder(), "settings.json");
	const lock = `${path}.lock`;
	mkdirSync(lock);
	const old = new Date(Date.now() - 60_000);
	utimesSync(lock, old, old);
	expect(await withLockFolder(path, async () => existsSync(lock))).toBe(true);
	expect(existsSync(lock)).toBe(false);
	mkdirSync(lock);
	await expect(withLockFolder(path, async () => "mine", 200)).rejects.toThrow("for too long");
	expect(existsSync(lock)).toBe(true);
});

test("temporary files of killed writers are removed, those of live ones and other files stay", async () => {
	const folder = temporaryFolder();
	const gone = run("");
	await once(gone, "exit");
	const old = new Date(Date.now() - 2 * 60 * 60 * 1_000);
	const names = {
		[`env.json.${gone.pid}-0123456789ab.tmp`]: false,
		[`env.json.${process.ppid}-0123456789ab.tmp`]: true,
		"env.json.new": true,
		"old.json.new": false,
		"notes.txt": true,
	};
	for (const name of Object.keys(names)) writeFileSync(join(folder, name), "");
	utimesSync(join(folder, "old.json.new"), old, old);
	utimesSync(join(folder, "notes.txt"), old, old);
	removeLeftovers(folder);
	const stay = Object.keys(names).filter((name) => names[name]);
	expect(readdirSync(folder).sort()).toEqual(stay.sort());
});

test("temporary files of killed writers are removed in folders below, and links are not followed", async () => {
	const folder = temporaryFolder();
	const elsewhere = temporaryFolder();
	const left = "hook.sh.999999999-00ff00ff00ff.tmp";
	for (const path of [join(folder, "p", "a"), elsewhere]) {
		mkdirSync(path, { recursive: true });
		writeFileSync(join(path, left), "");
	}
	writeFileSync(join(folder, "p", "a", "hook.sh"), "");
	symlinkSync(elsewhere, join(folder, "p", "link"));
	removeLeftoversBelow(folder);
	expect(readdirSync(join(folder, "p", "a"))).toEqual(["hook.sh"]);
	expect(readdirSync(elsewhere)).toEqual([left]);
});
