import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readCrashReports } from "../../home/crash-reports.js";
import { resolveHome } from "../../home/paths.js";
import { type CrashFacts, writeCrashReport } from "./crash-file.js";
import { causeOf } from "./running-marker.js";

function temporaryHome() {
	const dir = mkdtempSync(join(tmpdir(), "reeve-crash-"));
	onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
	return resolveHome({ REEVE_HOME: dir });
}

const facts = (more: Partial<CrashFacts> = {}): CrashFacts => ({
	at: "2031-01-02T03:04:05.000Z",
	cause: "uncaught_exception",
	message: "boom",
	stack: null,
	pid: 1,
	uptime_ms: 2,
	started_at: "2031-01-02T03:04:05.000Z",
	services: [],
	events: [],
	versions: { reeve: "0", node: "0", platform: "linux" },
	...more,
});

test("a report contains no secret", async () => {
	const home = temporaryHome();
	writeFileSync(home.vault, JSON.stringify({ "p:a": { WORD: "vault-secret" } }));
	writeFileSync(home.token, "token-secret\n");
	const secrets = "vault-secret token-secret env-secret";
	writeFileSync(home.daemonLog, `{"msg":"${secrets}"}\n`);
	const services = [{ name: "a", state: "ended", ready: false, restarts: 0, reason: secrets }];
	const env = { API_KEY: "env-secret", LANG: "boom" };
	const path = writeCrashReport(home, facts({ message: secrets, stack: secrets, services }), env);
	const text = readFileSync(path ?? "", "utf8");
	expect(text).not.toContain("secret");
	expect(text.match(/\[struck out\] \[struck out\] \[struck out\]/g)).toHaveLength(4);
	expect(statSync(path ?? "").mode & 0o777).toBe(0o600);
	expect(statSync(home.crashes).mode & 0o777).toBe(0o700);
});

test("the newest ten are kept and read, newest first, and other files are ignored", async () => {
	const home = temporaryHome();
	const at = (number: number) => `2031-01-02T03:04:${String(number).padStart(2, "0")}.000Z`;
	for (let number = 0; number < 25; number++) writeCrashReport(home, facts({ at: at(number) }));
	expect(readdirSync(home.crashes)).toHaveLength(10);
	writeFileSync(join(home.crashes, "crash-broken.json"), "{");
	const read = await readCrashReports(home);
	expect(read.map(({ report }) => report.at)).toEqual(
		Array.from({ length: 10 }, (_, place) => at(24 - place)),
	);
	expect(await readCrashReports(temporaryHome())).toEqual([]);
});

test("where a report cannot be written, no other error follows", () => {
	const home = { ...temporaryHome(), crashes: "/proc/no/such/place" };
	expect(writeCrashReport(home, facts())).toBeNull();
});

test("Node's output at out of memory is distinguished from a silent death", () => {
	const home = temporaryHome();
	expect(causeOf(home.daemonLog).cause).toBe("killed");
	const words = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory";
	writeFileSync(home.daemonLog, `{"msg":"started"}\n${words}\n----- Native stack trace -----\n`);
	expect(causeOf(home.daemonLog)).toEqual({ cause: "out_of_memory", message: words });
});
