/** As little as a keeper of processes can be: starts each agent, and starts it again when it ends. */

import { spawn } from "node:child_process";

const [script = "", ledger = "", count = "0"] = process.argv.slice(2);
/** @type {Set<import("node:child_process").ChildProcess>} */
const children = new Set();
let isEnding = false;

/** @param {string} name */
function keep(name) {
	const child = spawn("/bin/bash", [script, name, ledger], { stdio: "ignore" });
	children.add(child);
	child.once("exit", () => {
		children.delete(child);
		if (!isEnding) keep(name);
	});
}

for (let n = 0; n < Number(count); n++) keep(`a${n}`);
process.on("SIGTERM", () => {
	isEnding = true;
	for (const child of children) child.kill();
});
