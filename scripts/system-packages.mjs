/**
 * Sees to the programs that the tests need from the system. Silent when all are there. Installs by
 * itself only where that is expected and harmless: as root, with apt-get (a container). Anywhere else
 * it prints the missing packages; in CI that is an error, elsewhere the tests that need it are skipped.
 */

import { spawnSync } from "node:child_process";
import { runShown } from "./lib/run.mjs";
import { adviseInstall, findMissing, planInstall } from "./lib/system-programs.mjs";

/** @returns {import("./lib/system-programs.mjs").Facts} */
function gatherFacts() {
	return {
		platform: process.platform,
		uid: process.getuid?.(),
		hasApt: spawnSync("apt-get", ["--version"]).error === undefined,
		missing: findMissing(),
		ci: process.env["CI"] === "true",
	};
}

/** @param {[program: string, ...args: string[]][]} commands */
async function install(commands) {
	const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
	for (const [program, ...args] of commands) {
		console.log(`Installing what the tests need: ${[program, ...args].join(" ")}`);
		// A failed `update` is not fatal: the current lists may be sufficient. Only the installed programs
		// count.
		await runShown(program, args, { env });
	}
}

async function main() {
	const facts = gatherFacts();
	let plan = planInstall(facts);
	if (plan.type === "install") {
		await install(plan.commands);
		const missing = findMissing();
		plan = missing.length === 0 ? { type: "nothing" } : adviseInstall({ ...facts, missing });
	}
	if (plan.type !== "advise") return 0;
	for (const line of plan.lines) console.error(line);
	return plan.exitCode;
}

process.exitCode = await main();
