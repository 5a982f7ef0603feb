import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readIdentity } from "../host/process-identity.js";
import { makePrivateFolder, SOCKET_PATH_BYTES_MAX, socketPathIn } from "../host/socket-path.js";
import { acquireLock } from "./instance-lock.js";

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "reeve-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const self = () => readIdentity(process.pid);

test("a lock is taken once, and held by a live owner", () => {
	expect(acquireLock(folder, "lock")).toEqual({ ok: true });
	expect(acquireLock(folder, "lock")).toEqual({ ok: false, owner: self() });
	expect(readdirSync(folder)).toEqual(["lock.1"]);
});

test("a dead owner's lock is taken over under a new number", () => {
	writeFileSync(join(folder, "lock.7"), JSON.stringify({ ...self(), startTime: "0" }));
	expect(acquireLock(folder, "lock")).toEqual({ ok: true });
	expect(readdirSync(folder)).toEqual(["lock.8"]);
});

test("a damaged lock counts as held until the caller has made sure that it has no owner", () => {
	writeFileSync(join(folder, "lock.1"), "{");
	expect(acquireLock(folder, "lock")).toEqual({ ok: false, owner: null, isDamaged: true });
	expect(acquireLock(folder, "lock", true)).toEqual({ ok: true });
	expect(readdirSync(folder)).toEqual(["lock.2"]);
});

test("a socket path that is too long is replaced by a short one, the same every time", () => {
	expect(socketPathIn("/run/reeve", "holder.sock")).toBe("/run/reeve/holder.sock");
	const long = `/${"x".repeat(200)}`;
	const short = socketPathIn(long, "holder.sock");
	expect(Buffer.byteLength(short)).toBeLessThanOrEqual(SOCKET_PATH_BYTES_MAX);
	expect(socketPathIn(long, "holder.sock")).toBe(short);
	expect(socketPathIn(`${long}y`, "holder.sock")).not.toBe(short);
});

test("a folder that other users can enter is rejected", () => {
	const path = join(folder, "private");
	makePrivateFolder(path);
	makePrivateFolder(path);
	expect(() => makePrivateFolder("/tmp")).toThrow(/accessible to other users|belongs to another/);
	writeFileSync(join(folder, "file"), "");
	expect(() => makePrivateFolder(join(folder, "file"))).toThrow();
});
