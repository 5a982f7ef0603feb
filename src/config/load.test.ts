import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readEnvFile } from "./env-file.js";
import { loadFleet } from "./load.js";

let folder = "";
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "reeve-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (name: string, content: string | Uint8Array) => {
	const path = join(folder, name);
	writeFileSync(path, content);
	return path;
};
const load = (path: string) => loadFleet(path, { env: {}, homeDir: "/home/ada" });

const GOOD = "version: 1\nprojects: { p: { agents: { a: { command: [x], cwd: sub } } } }\n";

describe("loadFleet", () => {
	it("reads a fleet file and resolves paths relative to its folder", async () => {
		const path = put("reeve.yaml", GOOD);
		expect(await load(path)).toMatchObject({
			ok: true,
			fleet: { file: path, agents: [{ id: "p:a", cwd: join(folder, "sub") }] },
		});
	});

	it("names the file as the user did", async () => {
		const path = put("reeve.yaml", "version: 3\nprojects: {}\n");
		const given = join(folder, ".", "..", folder.split("/").at(-1) ?? "", "reeve.yaml");
		expect(await load(given)).toMatchObject({
			ok: false,
			missing: false,
			problems: [{ file: given }],
		});
		expect(await load(path)).toMatchObject({ problems: [{ file: path, line: 1, column: 10 }] });
	});

	it("checks the plan files of schedules, and names the place of one that cannot be read", async () => {
		const fleet = (plan: string) =>
			put(
				"reeve.yaml",
				`version: 1
projects:
  p:
    agents: { tool: { kind: call, command: [x] } }
    schedules: { s: { every: 1h, plan: ${plan} } }
`,
			);
		put("good.yaml", "tasks: { a: { agent: p:tool, action: go } }\n");
		expect(await load(fleet("good.yaml"))).toMatchObject({ ok: true });
		const bad = put("bad.yaml", "tasks: { a: { agent: p:tol, action: go } }\n");
		expect(await load(fleet("bad.yaml"))).toMatchObject({
			problems: [{ file: bad, message: "unknown agent `p:tol`" }],
		});
		const path = fleet("gone.yaml");
		expect(await load(path)).toMatchObject({
			ok: false,
			missing: false,
			problems: [
				{
					file: path,
					line: 5,
					path: "projects.p.schedules.s.plan",
					message: "cannot read the plan `gone.yaml`: the file does not exist",
				},
			],
		});
	});

	it("distinguishes a missing file from an invalid one", async () => {
		expect(await load(join(folder, "nope.yaml"))).toMatchObject({
			ok: false,
			missing: true,
			problems: [{ message: "the file does not exist" }],
		});
	});

	it("reports a directory, a pipe, a device and a file that is too large", async () => {
		const pipe = join(folder, "pipe");
		execFileSync("mkfifo", [pipe]);
		mkdirSync(join(folder, "dir"));
		const large = put("large.yaml", "#".repeat(1_048_577));
		const messages = await Promise.all(
			[join(folder, "dir"), pipe, "/dev/zero", large].map(async (path) => {
				const loaded = await load(path);
				return loaded.ok ? "" : loaded.problems[0]?.message;
			}),
		);
		expect(messages).toEqual([
			"the path is a directory, not a file",
			"the path is not a regular file",
			"the path is not a regular file",
			"the file is larger than 1MiB",
		]);
	});

	it("reports the line that is not UTF-8", async () => {
		const path = put("reeve.yaml", Buffer.from([...Buffer.from("version: 1\n# "), 0xe9, 0x0a]));
		expect(await load(path)).toMatchObject({
			ok: false,
			problems: [{ line: 2, message: "this line is not valid UTF-8" }],
		});
	});

	it("accepts a byte order mark and Windows line endings", async () => {
		const path = put("reeve.yaml", `\uFEFF${GOOD.replaceAll("\n", "\r\n")}`);
		expect(await load(path)).toMatchObject({ ok: true });
	});

	it("never throws, for any path", async () => {
		for (const path of ["", "\0", "a".repeat(5_000), join(put("file", ""), "under")]) {
			expect(await load(path)).toMatchObject({ ok: false });
		}
	});
});

describe("readEnvFile", () => {
	it("reads values byte for byte", async () => {
		expect(await readEnvFile(put(".env", "A= 'b' #c \n"))).toMatchObject({
			ok: true,
			values: { A: " 'b' #c " },
		});
	});

	it("treats a missing file as an empty one", async () => {
		expect(await readEnvFile(join(folder, "nope"))).toEqual({ ok: true, values: {}, warnings: [] });
	});

	it("reports every other reason why it cannot be read", async () => {
		expect(await readEnvFile(folder)).toMatchObject({
			ok: false,
			problems: [{ file: folder, message: "the path is a directory, not a file" }],
		});
	});

	it("reports a file without read permission", async ({ skip }) => {
		skip(process.getuid?.() === 0, "root may read every file");
		const path = put(".env", "A=b\n");
		chmodSync(path, 0o000);
		expect(await readEnvFile(path)).toMatchObject({
			ok: false,
			problems: [{ message: "permission denied" }],
		});
	});
});
