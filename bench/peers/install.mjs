/**
 * The peers, in a folder of their own: packages of npm by npm, programs of Debian unpacked beside them. Nothing is
 * installed on the system.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const NPM = { pm2: "7.0.4", bullmq: "6.7.0", ioredis: "6.0.0" };
const DEBIAN = ["redis-server", "supervisor", "tmux"];

/**
 * @typedef {object} Peers
 * @property {string} folder
 * @property {string} pm2
 * @property {string} redis
 * @property {string} supervisord
 * @property {string} supervisorctl
 * @property {string} tmux
 * @property {Record<string, string>} env what the programs of Debian need to find their libraries
 * @property {Record<string, string>} versions
 */

/** @returns {Peers} */
export function installPeers() {
	const folder =
		process.env["REEVE_BENCH_CACHE"] ??
		join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "reeve-bench");
	mkdirSync(folder, { recursive: true });
	installNpm(folder);
	const root = join(folder, "debian");
	installDebian(root);
	const library = join(root, "usr/lib");
	const libraries = readdirSync(library, { withFileTypes: true })
		.filter((entry) => entry.isDirectory() && entry.name.includes("-linux-"))
		.map(({ name }) => join(library, name));
	const env = {
		LD_LIBRARY_PATH: libraries.join(":"),
		PYTHONPATH: join(root, "usr/lib/python3/dist-packages"),
	};
	const peers = {
		...{ folder, env, pm2: join(folder, "node_modules/pm2/bin/pm2") },
		redis: findProgram(root, "redis-server"),
		supervisord: findProgram(root, "supervisord"),
		supervisorctl: findProgram(root, "supervisorctl"),
		tmux: findProgram(root, "tmux"),
	};
	return { ...peers, versions: versionsOf(peers) };
}

/** @param {string} folder */
function installNpm(folder) {
	const wanted = Object.entries(NPM).map(([name, version]) => `${name}@${version}`);
	const record = join(folder, "npm-packages");
	if (existsSync(record) && readFileSync(record, "utf8") === wanted.join(" ")) return;
	writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
	console.error(`installing ${wanted.join(", ")} into ${folder}`);
	const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...wanted];
	execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
	writeFileSync(record, wanted.join(" "));
}

/** Programs that the system has already are used from there. @param {string} root */
function installDebian(root) {
	if (existsSync(join(root, "complete"))) return;
	mkdirSync(join(root, "usr/lib"), { recursive: true });
	const missing = DEBIAN.filter((name) => !isThere(name === "supervisor" ? "supervisord" : name));
	if (missing.length > 0) {
		console.error(`unpacking ${missing.join(", ")} into ${root}`);
		const ask = ["install", "--simulate", "-qq", "-y", "--no-install-recommends", ...missing];
		const plan = execFileSync("apt-get", ask, { encoding: "utf8" });
		const names = [...plan.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? "");
		execFileSync("apt-get", ["download", "-qq", ...names], { cwd: root, stdio: "inherit" });
		for (const file of readdirSync(root).filter((name) => name.endsWith(".deb")))
			execFileSync("dpkg", ["-x", join(root, file), root]);
	}
	writeFileSync(join(root, "complete"), "");
}

/** @param {string} program */
function isThere(program) {
	return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}

/**
 * @param {string} root
 * @param {string} name
 */
function findProgram(root, name) {
	const own = join(root, "usr/bin", name);
	return existsSync(own) ? own : name;
}

/** @param {Omit<Peers, "versions">} peers */
function versionsOf({ folder, redis, supervisord, tmux, env }) {
	const first = (/** @type {string} */ program, /** @type {string[]} */ args) =>
		spawnSync(program, args, { encoding: "utf8", env: { ...process.env, ...env } }).stdout.trim();
	const npm = (/** @type {string} */ name) =>
		JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version;
	return {
		pm2: npm("pm2"),
		bullmq: npm("bullmq"),
		redis: /v=(\S+)/.exec(first(redis, ["--version"]))?.[1] ?? "?",
		supervisord: first("python3", [which(supervisord), "--version"]),
		tmux: first(tmux, ["-V"]).replace("tmux ", ""),
	};
}

/** Python is given the file. @param {string} program */
export function which(program) {
	if (program.startsWith("/")) return program;
	return execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim();
}
