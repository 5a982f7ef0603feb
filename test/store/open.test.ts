/** Opening: an existing file is never replaced, and problems are reported. */

import { execFileSync } from "node:child_process";
import {
	chmodSync,
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type DriverName, loadDriver } from "../../src/store/sqlite/driver.js";
import {
	APPLICATION_ID,
	MIGRATIONS,
	migrate,
	readPragma,
	versionAfter,
} from "../../src/store/sqlite/migrations.js";
import { openStore } from "../../src/store/sqlite/open-store.js";
import { eventWith } from "../../src/testing/conformance/store-records.js";
import { connect, DRIVERS, mountDisk, newPath, numbersIn, open, range } from "./support.js";

async function refused(path: string, driver: DriverName) {
	const opened = await openStore(path, { driver });
	if (opened.ok) {
		await opened.store.close();
		throw new Error("the store was opened");
	}
	return opened;
}

/** A store with some events in it, closed again. */
async function filled(driver: DriverName): Promise<string> {
	const path = newPath();
	const store = await open(path, { driver });
	const commit = (number: number) =>
		store.commit((transaction) => transaction.appendEvent(eventWith(number), number));
	await Promise.all(range(500).map(commit));
	await store.close();
	// A copy, since the package releases a closed file only when its memory is collected.
	const copy = newPath();
	cpSync(path, copy);
	return copy;
}

/** Every file of the folder that holds anything, byte for byte. */
const contents = (path: string) =>
	readdirSync(dirname(path))
		.filter((name) => !name.endsWith("-shm"))
		.map((name) => [name, readFileSync(join(dirname(path), name)).toString("hex")])
		.filter(([, hex]) => hex !== "");

describe.each(DRIVERS)("opening with %s", (driver) => {
	test("the file has the documented settings for durability, checks and version", async () => {
		const path = newPath();
		const store = await open(path, { driver, now: () => 1_700_000_000_000 });
		const other = await connect(path, driver);
		expect(readPragma(other, "application_id")).toBe(APPLICATION_ID);
		expect(readPragma(other, "user_version")).toBe(versionAfter(MIGRATIONS));
		expect(other.readValue("SELECT value FROM meta WHERE key = 'migrated_to_1_at'")).toBe(
			"2023-11-14T22:13:20.000Z",
		);
		expect(readPragma(other, "journal_mode")).toBe("wal");
		expect(store.health()).toEqual({ ok: true });
	});

	test("a file that is not a database is rejected and kept", async () => {
		for (const bytes of [Buffer.from("hello\n"), Buffer.alloc(8_192, 7), Buffer.alloc(10)]) {
			const path = newPath();
			writeFileSync(path, bytes);
			const before = contents(path);
			const { reason, hint } = await refused(path, driver);
			expect(reason).toContain(`${path} is damaged or not a database`);
			expect(hint).toContain("It was not changed");
			expect(contents(path)).toEqual(before);
		}
	});

	test("a damaged database is refused and kept, its log too", async () => {
		const source = await filled(driver);
		const size = statSync(source).size;
		// Copied while open, so that there is a log.
		const store = await open(source, { driver });
		await store.commit((transaction) => transaction.appendEvent(eventWith(500), 1));
		for (const [from, length] of [
			[100, 60],
			[4_096, 4_096],
			[size - 8_192, 8_192],
			[0, 16],
		] as const) {
			const path = newPath();
			for (const end of ["", "-wal"]) cpSync(`${source}${end}`, `${path}${end}`);
			const bytes = readFileSync(path);
			bytes.fill(0xa5, from, from + length);
			writeFileSync(path, bytes);
			const before = contents(path);
			expect(before).toHaveLength(2);
			expect(await refused(path, driver)).toMatchObject({
				reason: expect.stringContaining(`${path} is damaged or not a database`),
			});
			expect(contents(path)).toEqual(before);
		}
	});

	test("an empty file is a new database, unless a log is left beside it", async () => {
		const path = newPath();
		writeFileSync(path, "");
		await (await open(path, { driver })).close();
		const orphaned = newPath();
		writeFileSync(orphaned, "");
		writeFileSync(`${orphaned}-wal`, "precious");
		const before = contents(orphaned);
		expect((await refused(orphaned, driver)).reason).toContain("is empty, but");
		expect(contents(orphaned)).toEqual(before);
	});

	test("a database of another program is refused and kept", async () => {
		const path = newPath();
		const other = await connect(path, driver);
		other.exec("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')");
		other.close();
		const before = contents(path);
		expect((await refused(path, driver)).reason).toBe(`${path} is a database of another program`);
		expect(contents(path)).toEqual(before);
	});

	test("a database of a newer Reeve is refused and kept", async () => {
		const path = await filled(driver);
		const other = await connect(path, driver);
		other.exec("PRAGMA user_version = 99");
		other.close();
		const before = contents(path);
		const { reason, hint } = await refused(path, driver);
		const known = MIGRATIONS.length;
		expect(reason).toContain(
			`written by a newer Reeve: its schema version is 99, this one supports ${known}`,
		);
		expect(hint).toContain("Nothing was changed");
		expect(contents(path)).toEqual(before);
	});

	test("refusing leaves no file open, however often", async () => {
		const path = await filled(driver);
		const other = await connect(path, driver);
		other.exec("PRAGMA user_version = 99");
		other.close();
		await refused(path, driver);
		const countOpen = () => readdirSync("/dev/fd").length;
		const before = countOpen();
		for (const _ of range(20)) await refused(path, driver);
		expect(countOpen()).toBe(before);
	});

	test("a database of ours without its tables is refused", async () => {
		const path = newPath();
		const other = await connect(path, driver);
		other.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`);
		other.close();
		expect((await refused(path, driver)).reason).toContain("no such table");
	});

	test("a path that is not a file, or whose folder is missing, is rejected", async () => {
		const folder = dirname(newPath());
		mkdirSync(join(folder, "directory"));
		symlinkSync(join(folder, "elsewhere"), join(folder, "link"));
		execFileSync("mkfifo", [join(folder, "pipe")]);
		const reasons = await Promise.all(
			["directory", "link", "pipe", "missing/reeve.db"].map(async (name) => {
				const { reason, hint } = await refused(join(folder, name), driver);
				expect(hint).not.toBe("");
				return reason.replaceAll(`${folder}/`, "");
			}),
		);
		expect(reasons).toEqual([
			"directory is a directory",
			"link is not a regular file",
			"pipe is not a regular file",
			expect.stringMatching(/^cannot open missing\/reeve.db: ENOENT/),
		]);
		expect(existsSync(join(folder, "elsewhere"))).toBe(false);
	});

	test("a file that other users can read is made private", async () => {
		const path = await filled(driver);
		chmodSync(path, 0o644);
		writeFileSync(`${path}-wal`, "", { mode: 0o666 });
		await open(path, { driver });
		const modes = ["", "-wal", "-shm"].map((end) => statSync(`${path}${end}`).mode & 0o777);
		expect(modes).toEqual([0o600, 0o600, 0o600]);
	});

	test("without the right to write it is refused, with a hint", async (context) => {
		if (process.getuid?.() === 0) return context.skip("root may write everywhere");
		const path = await filled(driver);
		chmodSync(path, 0o400);
		expect((await refused(path, driver)).hint).toContain("writable");
		chmodSync(path, 0o600);
		chmodSync(dirname(path), 0o500);
		onTestFinished(() => chmodSync(dirname(path), 0o700));
		expect((await refused(path, driver)).hint).toContain("writable");
		expect((await refused(`${path}-new`, driver)).hint).toContain("writable");
	});

	test("a read-only disk is refused, and opens when it is writable again", async (context) => {
		const disk = mountDisk(1_024);
		if (typeof disk === "string") return context.skip(disk);
		const source = await filled(driver);
		const path = join(disk.folder, basename(source));
		cpSync(source, path);
		disk.remount("ro");
		for (const each of [path, `${path}-new`]) {
			expect(await refused(each, driver)).toMatchObject({
				reason: expect.stringContaining("EROFS"),
				hint: expect.stringContaining("mounted read-only"),
			});
		}
		disk.remount("rw");
		const store = await open(path, { driver });
		expect(store.lastSeq()).toBe(500);
		await store.close();
	});

	test("a full disk is refused, and opens when there is room", async (context) => {
		const disk = mountDisk(64);
		if (typeof disk === "string") return context.skip(disk);
		writeFileSync(join(disk.folder, "ballast"), Buffer.alloc(56 * 1_024));
		const path = join(disk.folder, "reeve.db");
		expect((await refused(path, driver)).reason).toMatch(/full|ENOSPC|disk I\/O/);
		rmSync(join(disk.folder, "ballast"));
		disk.remount("size=1024k");
		await (await open(path, { driver })).close();
	});

	test("a database that another program holds for itself is refused, and kept", async () => {
		const path = await filled(driver);
		const other = await connect(path, driver);
		other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; PRAGMA user_version = 1");
		expect((await refused(path, driver)).reason).toContain("locked by another program");
		other.exec("ROLLBACK");
		other.close();
		expect(numbersIn(await open(path, { driver }))).toEqual(range(500));
	});

	test("a database that another program writes to can be opened and read", async () => {
		const path = await filled(driver);
		const other = await connect(path, driver);
		other.exec("BEGIN IMMEDIATE");
		expect((await open(path, { driver })).lastSeq()).toBe(500);
		other.exec("ROLLBACK");
	});

	test("the two SQLites read each other's files", async () => {
		const path = await filled(driver);
		for (const each of DRIVERS) {
			const store = await open(path, { driver: each });
			expect(store.lastSeq()).toBe(500);
			await store.close();
		}
	});
});

describe.each(DRIVERS)("migrations in %s", (driver) => {
	const next = MIGRATIONS.length + 1;
	const first = { version: next, sql: "CREATE TABLE a (x); INSERT INTO a VALUES (1);" };
	const second = { version: next + 1, sql: "CREATE TABLE b (y); INSERT INTO a VALUES (2);" };
	const broken = { ...second, sql: `${second.sql} INSERT INTO nowhere VALUES (1);` };

	test("a failed step is rolled back, earlier ones stay, and it runs again (A2)", async () => {
		const database = await connect(newPath(), driver);
		const steps = (last: typeof second) => [...MIGRATIONS, first, last];
		expect(() => migrate(database, 0, steps(broken))).toThrow(/nowhere/);
		expect(readPragma(database, "user_version")).toBe(next);
		expect(database.readValue("SELECT count(*) FROM a")).toBe(1);
		migrate(database, 0, steps(second));
		migrate(database, 0, steps(second));
		expect(readPragma(database, "user_version")).toBe(next + 1);
		expect(database.readValue("SELECT count(*) FROM a")).toBe(2);
	});

	test("exits of an earlier version get the plain name of their cause", async () => {
		const path = newPath();
		const database = await connect(path, driver);
		migrate(
			database,
			0,
			MIGRATIONS.filter(({ version }) => version < 4),
		);
		const record = (cause: string) => `{"runId":"r","detail":"killed_by_us","cause":"${cause}"}`;
		const [before, after] = [record("killed_by_us"), record("requested")];
		database.exec(`
			INSERT INTO runs VALUES (1, 'r', 'p:a', 'ended', '{}');
			INSERT INTO exits VALUES (1, 'r', 'p:a', '${before}');
		`);
		migrate(database, 0);
		expect(database.readValue("SELECT record FROM exits")).toBe(after);
	});

	test("state that an earlier version kept among the effects moves to its own tables (A2)", async () => {
		const path = newPath();
		const database = await connect(path, driver);
		const before = MIGRATIONS.filter(({ version }) => version < 5);
		migrate(database, 0, before);
		const message = { id: "m1", agentId: "p:a", text: "it's \ud800 a\0b", phase: "queued" };
		const question = { agent: "p:a", question: "which?", askedAtMs: 1.5 };
		const account = { account: "team", state: { phase: "limited" }, freedAtMs: 2 };
		const usage = { agentId: "p:a", usage: { today: { costUsd: 0.125 } } };
		const start = { agent: "p:a", afterMs: 250 };
		const notification = { route: "phone", notice: { title: "t" }, attempts: 1 };
		const payloads = { inbox: message, question, account, usage, start, notification };
		const insert = database.prepare(
			"INSERT INTO effects (key, due_at_ms, record) VALUES (?, ?, ?)",
		);
		for (const [type, payload] of Object.entries({ ...payloads, cursor: { seq: 42 } })) {
			insert.run(type, 5, JSON.stringify({ key: type, type, dueAtMs: 5, payload }));
		}
		const interrupted = MIGRATIONS.map((each) =>
			each.version === 5 ? { ...each, sql: `${each.sql} INSERT INTO nowhere VALUES (1);` } : each,
		);
		expect(() => migrate(database, 0, interrupted)).toThrow(/nowhere/);
		expect(database.readValue("SELECT count(*) FROM effects")).toBe(7);
		database.close();
		const store = await open(path, { driver });
		expect(store.readMessages()).toEqual([message]);
		expect(store.readQuestions()).toEqual([question]);
		expect(store.readAccounts()).toEqual([account]);
		expect(store.readUsage()).toEqual([usage]);
		expect(store.readCursor("notify")).toBe(42);
		expect(store.readEffects("start")).toEqual([
			{ key: "start", type: "start", dueAtMs: 5, payload: start },
		]);
		expect(store.readEffects("notification")).toMatchObject([{ payload: notification }]);
		await store.commit((transaction) => transaction.removeEffect("start"));
		expect(store.readEffects("start")).toEqual([]);
	});

	test("their numbers rise by one from 1", () => {
		expect(MIGRATIONS.map(({ version }) => version)).toEqual(
			MIGRATIONS.map((_, index) => index + 1),
		);
	});
});

describe("the driver", () => {
	test("is Node's own if available, and its warning is suppressed", async () => {
		const expected = DRIVERS[0];
		expect((await loadDriver()).name).toBe(expected);
		const folder = mkdtempSync(join(tmpdir(), "reeve-driver-"));
		onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
		const program = `
			const { openStore } = await import(${JSON.stringify(join(process.cwd(), "build/store/sqlite/open-store.js"))});
			const opened = await openStore(${JSON.stringify(join(folder, "reeve.db"))});
			process.emitWarning("SQLite is mine", "ExperimentalWarning");
			await opened.store.close();`;
		const output = execFileSync(
			"sh",
			["-c", 'exec "$0" --input-type=module -e "$1" 2>&1', process.execPath, program],
			{ encoding: "utf8" },
		);
		expect(output).toContain("SQLite is mine");
		expect(output).not.toContain("experimental feature");
	});

	test("that does not exist is reported as missing", async () => {
		const opened = await openStore(newPath(), { driver: "node:sqlite" });
		if (DRIVERS.includes("node:sqlite")) {
			expect(opened.ok).toBe(true);
			if (opened.ok) await opened.store.close();
		} else {
			expect(opened).toMatchObject({ ok: false, reason: expect.stringContaining("not available") });
		}
	});
});
