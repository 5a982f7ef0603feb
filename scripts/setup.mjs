/**
 * `npm run setup`: makes a fresh checkout ready for work. Installs the packages, names the missing programs of the
 * system (or installs them, as root with apt-get), and builds.
 */

import { runShown } from "./lib/run.mjs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
	console.error(`Node ${process.versions.node} is too old. Install Node 20.19 or later.`);
	process.exit(1);
}
/** @type {[program: string, ...args: string[]][]} */
const STEPS = [
	["npm", "ci"],
	[process.execPath, "scripts/system-packages.mjs"],
	["npm", "run", "--silent", "build"],
];
for (const [program, ...args] of STEPS) {
	const code = await runShown(program, args);
	if (code !== 0) process.exit(code);
}
console.log('Ready. "npm run dev" runs a scratch daemon, "npm run check" checks a change.');
