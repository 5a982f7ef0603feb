import {
	mkdtempSync,
	openSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDaemonLog } from "./daemon-log.js";

function temporaryLog(): string {
	const folder = mkdtempSync(join(tmpdir(), "reeve-log-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return join(folder, "daemon.log");
}

const elsewhere = () => {
	const lines: string[] = [];
	return { lines, fd: openSync("/dev/null", "w"), write: (line: string) => lines.push(line) };
};

test("the log stays within its bounds, and keeps the newest", () => {
	const path = temporaryLog();
	const log = openDaemonLog(path, { bytesMax: 1_000, olderMax: 2, stderr: elsewhere() });
	for (let number = 0; number < 500; number++) log.write(`line ${number}\n`);
	const names = readdirSync(join(path, "..")).sort();
	expect(names).toEqual(["daemon.log", "daemon.log.1", "daemon.log.2"]);
	for (const name of names) expect(statSync(join(path, "..", name)).size).toBeLessThan(1_100);
	const all = ["daemon.log.2", "daemon.log.1", "daemon.log"].map((name) =>
		readFileSync(join(path, "..", name), "utf8"),
	);
	const numbers = all
		.join("")
		.trim()
		.split("\n")
		.map((line) => Number(line.slice(5)));
	expect(numbers.at(-1)).toBe(499);
	expect(numbers).toEqual(numbers.map((_, place) => 500 - numbers.length + place));
});

test("a line is not written twice where stderr is the file itself", () => {
	const path = temporaryLog();
	const same = { ...elsewhere(), fd: openSync(path, "a") };
	openDaemonLog(path, { stderr: same }).write("once\n");
	expect([readFileSync(path, "utf8"), same.lines]).toEqual(["once\n", []]);
});

test("a moved log is reopened at its path, and stderr gets nothing new", () => {
	const path = temporaryLog();
	const same = { ...elsewhere(), fd: openSync(path, "a") };
	const log = openDaemonLog(path, { stderr: same });
	log.write("before\n");
	renameSync(path, `${path}.moved`);
	log.reopen();
	log.write("after\n");
	expect([readFileSync(path, "utf8"), readFileSync(`${path}.moved`, "utf8")]).toEqual([
		"after\n",
		"before\n",
	]);
	expect(same.lines).toEqual([]);
});

test("without a file, everything goes to stderr", () => {
	const stderr = elsewhere();
	openDaemonLog("/proc/no/such/place", { stderr }).write("line\n");
	expect(stderr.lines).toEqual(["line\n"]);
});
