/**
 * Runs `npm run test:systemd`: the tests that need a real systemd, in a virtual machine, since a
 * systemd on the developer's own machine would manage every process there. The guest boots, runs a
 * command as an ordinary user with a lingering manager, prints on the serial line and shuts down.
 * The guest keeps no changes. The processor is emulated, which needs no permissions and no hardware,
 * and takes ten to twenty times as long.
 *
 * Arguments are the command to run instead (`npm run test:systemd -- systemctl --user status`).
 */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { makeDisk, prepareImage } from "./lib/vm-image.mjs";

const CACHE = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "reeve-systemd-vm");
const TESTS =
	"REEVE_TEST_PATIENCE=20 REEVE_RUNS_AT_ONCE=5 node node_modules/vitest/vitest.mjs run --config test/systemd/guest.config.ts";
const MINUTES_MAX = Number(process.env["REEVE_VM_MINUTES"] ?? 60);
/** The guest's output after the command has finished. */
const ENDED = /REEVE-VM-EXIT (\d+)/;

/**
 * @param {import("./lib/vm-image.mjs").Image} image
 * @param {string} repository
 * @param {string} command
 */
function machineArgs({ disk, kernel, initrd }, repository, command) {
	const encoded = Buffer.from(command).toString("base64");
	const toKernel =
		"root=/dev/vda rw console=ttyS0 quiet mitigations=off loglevel=3 systemd.show_status=no";
	return [
		...["-accel", "tcg,thread=multi"],
		...["-cpu", "Nehalem", "-smp", "2", "-m", "2048", "-nodefaults", "-no-reboot", "-snapshot"],
		...["-display", "none", "-serial", "stdio", "-device", "virtio-rng-pci"],
		...["-drive", `file=${disk},format=raw,if=virtio`],
		...["-drive", `file=${repository},format=raw,if=virtio`],
		...["-kernel", kernel, "-initrd", initrd],
		...["-append", `${toKernel} reeve.command=${encoded}`],
	];
}

/**
 * Shows the output of the guest, and returns the exit code of its command.
 *
 * @param {string[]} args
 * @returns {Promise<number>}
 */
function runMachine(args) {
	return new Promise((resolve, reject) => {
		const machine = spawn("qemu-system-x86_64", args, { stdio: ["ignore", "pipe", "inherit"] });
		const late = setTimeout(() => machine.kill("SIGKILL"), MINUTES_MAX * 60_000);
		let tail = "";
		/** @type {number | null} */
		let code = null;
		machine.stdout.setEncoding("utf8").on("data", (text) => {
			process.stdout.write(text);
			tail = (tail + text).slice(-200 - text.length);
			code ??= ENDED.test(tail) ? Number(ENDED.exec(tail)?.[1]) : null;
		});
		machine.on("error", reject);
		machine.on("close", () => {
			clearTimeout(late);
			if (code === null) reject(new Error("the guest ended, or was ended, without a result"));
			else resolve(code);
		});
	});
}

async function main() {
	const image = await prepareImage(CACHE);
	const work = mkdtempSync(join(tmpdir(), "reeve-vm-"));
	try {
		const repository = join(work, "repository.img");
		await makeDisk(process.cwd(), repository, "2G");
		const command = process.argv.slice(2).join(" ") || TESTS;
		return await runMachine(machineArgs(image, repository, command));
	} finally {
		rmSync(work, { recursive: true, force: true });
	}
}

process.exitCode = await main().catch((error) => {
	console.error(`${error.message}\nNeeded: root, debootstrap, qemu-system-x86 and e2fsprogs.`);
	return 1;
});
