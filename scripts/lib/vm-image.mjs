/**
 * The disk of a small Debian with systemd, on which the tests of the systemd backend run. Built once
 * into a cache, and again when its inputs change. Needs root, because debootstrap does.
 */

import { createHash } from "node:crypto";
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { runShown } from "./run.mjs";

const RELEASE = "bookworm";
const PACKAGES = [
	...["linux-image-cloud-amd64", "initramfs-tools", "systemd", "systemd-sysv", "udev", "kmod"],
	...["dbus", "dbus-user-session", "libpam-systemd", "procps", "perl", "tmux", "libstdc++6"],
];

/** Runs the command that the repository contains, with the serial line as its terminal. */
const GUEST_UNIT = `[Unit]
After=multi-user.target user@1000.service
Wants=user@1000.service

[Service]
Type=oneshot
ExecStartPre=/bin/mount -o ro /dev/vdb /repo
ExecStart=/bin/sh /repo/test/systemd/guest.sh
StandardInput=null
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity

[Install]
WantedBy=graphical.target
`;

/** @type {Record<string, string>} by their path on the disk */
const FILES = {
	"etc/hostname": "reeve-vm\n",
	"etc/hosts": "127.0.0.1 localhost reeve-vm\n",
	"etc/systemd/system/reeve-guest.service": GUEST_UNIT,
	// The user's manager runs without a login.
	"var/lib/systemd/linger/reeve": "",
};

/** Tests do not need them, and each costs seconds on an emulated processor. */
const MASKED = [
	...["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer"],
	...["e2scrub_reap.service", "getty@tty1.service", "serial-getty@ttyS0.service", "fstrim.timer"],
	...["systemd-timesyncd.service", "systemd-update-utmp.service", "systemd-tmpfiles-clean.timer"],
	// All the hardware there is has been found when the root is mounted.
	...["systemd-udevd.service", "systemd-udev-trigger.service"],
	...["systemd-udevd-control.socket", "systemd-udevd-kernel.socket"],
];

/**
 * @typedef {object} Image
 * @property {string} disk
 * @property {string} kernel
 * @property {string} initrd
 */

/**
 * The image, built if need be.
 *
 * @param {string} cache
 * @returns {Promise<Image>}
 */
export async function prepareImage(cache) {
	const recipe = JSON.stringify([RELEASE, PACKAGES, FILES, MASKED, process.version]);
	const name = createHash("sha256").update(recipe).digest("hex").slice(0, 12);
	const folder = join(cache, name);
	if (!existsSync(folder)) {
		mkdirSync(cache, { recursive: true });
		const work = mkdtempSync(join(cache, "building-"));
		try {
			await build(work);
			renameSync(work, folder);
		} catch (error) {
			rmSync(work, { recursive: true, force: true });
			throw error;
		}
	}
	return {
		disk: join(folder, "root.img"),
		kernel: join(folder, "vmlinuz"),
		initrd: join(folder, "initrd.img"),
	};
}

/** @param {string} work */
async function build(work) {
	const root = join(work, "root");
	const include = `--include=${PACKAGES.join(",")}`;
	await must("debootstrap", ["--variant=minbase", include, RELEASE, root]);
	await must("chroot", [root, "useradd", "--create-home", "--shell", "/bin/bash", "reeve"]);
	mkdirSync(join(root, "repo"));
	for (const [path, text] of Object.entries(FILES)) {
		mkdirSync(dirname(join(root, path)), { recursive: true });
		writeFileSync(join(root, path), text);
	}
	await must("systemctl", [`--root=${root}`, "mask", ...MASKED]);
	await must("systemctl", [`--root=${root}`, "enable", "reeve-guest.service"]);
	cpSync(process.execPath, join(root, "usr/local/bin/node"));
	for (const stem of ["vmlinuz", "initrd.img"]) {
		const found = readdirSync(join(root, "boot")).find((each) => each.startsWith(`${stem}-`));
		cpSync(join(root, "boot", found ?? stem), join(work, stem));
	}
	await makeDisk(root, join(work, "root.img"), "3G");
	rmSync(root, { recursive: true, force: true });
}

/**
 * A disk with the content of a folder.
 *
 * @param {string} folder
 * @param {string} disk
 * @param {string} size
 */
export async function makeDisk(folder, disk, size) {
	rmSync(disk, { force: true });
	await must("mkfs.ext4", ["-q", "-m", "0", "-d", folder, disk, size]);
}

/**
 * @param {string} program
 * @param {string[]} args
 */
async function must(program, args) {
	const code = await runShown(program, args);
	if (code !== 0) throw new Error(`${program} failed with code ${code}`);
}
