import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readOpenFiles } from "./open-files.js";
import { readIdentity } from "./process-identity.js";

test.runIf(process.platform === "linux")(
	"the files of a CLI and its helpers are listed, those of its tools are not",
	async () => {
		const folder = realpathSync(mkdtempSync(join(tmpdir(), "reeve-open-files-")));
		onTestFinished(() => rmSync(folder, { recursive: true }));
		// A launcher, its program in the same process group, and a tool in its own group.
		const script = `
			exec 3>own
			perl -e 'open(my $f, ">", "helper"); syswrite STDOUT, "h"; sleep 1000' &
			perl -e 'setpgrp; open(my $f, ">", "tool"); syswrite STDOUT, "t"; sleep 1000' & tool=$!
			trap 'kill $tool' TERM; wait`;
		const child = spawn("sh", ["-c", script], {
			cwd: folder,
			detached: true,
			stdio: ["ignore", "pipe", "inherit"],
		});
		onTestFinished(() => void process.kill(-(child.pid ?? 0), "SIGTERM"));
		let reported = "";
		while (reported.length < 2) reported += String((await once(child.stdout, "data"))[0]);
		const root = readIdentity(child.pid ?? 0);
		if (root === null) throw new Error("it is not there");
		const files = await readOpenFiles("no-run", root);
		expect(files).toContain(join(folder, "own"));
		expect(files).toContain(join(folder, "helper"));
		expect(files).not.toContain(join(folder, "tool"));
	},
);
