/** `npm run dev` in a copy of this checkout: a change restarts the daemon, its agents keep running. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PlantedCopy } from "../check/planted-copy.js";
import { eventually } from "../faults/fleet-home.js";
import { runReeve, temporaryFolder } from "../support/reeve.js";

test("rebuilds and restarts a scratch daemon, whose agents keep running", {
	timeout: 300_000,
}, async () => {
	const copy = new PlantedCopy(process.cwd());
	onTestFinished(() => copy.remove());
	const folder = temporaryFolder();
	const env = { REEVE_HOME: join(folder, "home") };
	const program = join(copy.root, "dist/cli/main.js");
	const reeve = async (...args: string[]) => {
		const ran = await runReeve(args, { cwd: folder, env, program });
		expect(ran.code, ran.stderr).toBe(0);
		return ran.stdout;
	};
	const dev = spawn(process.execPath, ["scripts/dev.mjs"], {
		cwd: copy.root,
		env: { ...process.env, ...env },
		stdio: ["ignore", "pipe", "pipe"],
	});
	onTestFinished(async () => {
		dev.kill("SIGKILL");
		await runReeve(["daemon", "stop", "--all"], { env, program });
	});
	let output = "";
	for (const stream of [dev.stdout, dev.stderr]) {
		stream.setEncoding("utf8").on("data", (text: string) => {
			output += text;
		});
	}
	const times = (text: string) => output.split(text).length - 1;

	await eventually(() => times('"msg":"started"') === 1, "the daemon runs");
	const fleet = `version: 1\nprojects: { p: { agents: { a: { backend: pty, command: [sleep, "1000"] } } } }\n`;
	writeFileSync(join(folder, "reeve.yaml"), fleet);
	await reeve("up");
	const pid = async () => JSON.parse(await reeve("ps", "--json"))[0].pid as number;
	const before = await pid();

	appendFileSync(join(copy.root, "src/core/units.ts"), "\nexport const broken = ;\n");
	await eventually(() => output.includes("the build failed"), "the mistake is reported");
	expect(output).toContain("src/core/units.ts");
	expect(await pid()).toBe(before);
	expect(times('"msg":"started"')).toBe(1);

	await copy.with({ "src/core/units.ts": (text) => text.replace("= ;", "= 1;") }, async () => {
		await eventually(() => times('"msg":"started"') === 2, "the next daemon runs");
		expect(await pid()).toBe(before);
		dev.kill("SIGINT");
		expect(await once(dev, "exit")).toEqual([0, null]);
	});
	expect(() => process.kill(before, 0)).toThrow("ESRCH");
});
