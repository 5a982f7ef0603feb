/**
 * Why a program cannot be started. The system reports ENOENT for a missing program, a missing directory and a missing
 * interpreter alike, and a fork in a terminal reports nothing, so most of it is checked in advance.
 */

import {
	accessSync,
	closeSync,
	constants,
	openSync,
	readFileSync,
	readSync,
	statSync,
} from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import type { StartFailure } from "../ports/backend.js";

export interface Launch {
	readonly argv: readonly [string, ...string[]];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
}

const permanent = (detail: string): StartFailure => ({ permanent: true, detail });
const passing = (detail: string): StartFailure => ({ permanent: false, detail });

/** The obstacle to this start, or null. */
export function checkLaunch(launch: Launch): StartFailure | null {
	const [program] = launch.argv;
	return (
		checkText(launch) ??
		checkFolder(launch.cwd) ??
		checkSize(launch) ??
		checkProgram(findProgram(program, launch), program, launch)
	);
}

/** The meaning of an error of the start itself. */
export function explainSpawnError(error: unknown, launch: Launch): StartFailure {
	const { code, message } = error as NodeJS.ErrnoException;
	if (code === "EMFILE" || code === "ENFILE") {
		return passing("too many open files: raise the limit (`ulimit -n`) or run fewer agents");
	}
	if (code === "EAGAIN")
		return passing("the limit on processes is reached (`ulimit -u`, pids limit)");
	if (code === "ENOMEM") return passing("the system is out of memory");
	if (code === "E2BIG") return permanent(TOO_LONG);
	const found = checkLaunch(launch);
	if (found !== null) return found;
	if (code === "EACCES" || code === "EPERM") {
		return permanent(`no permission to execute ${launch.argv[0]} (${code})`);
	}
	if (code === "ENOEXEC" || code === "ENOENT") {
		return permanent(`${launch.argv[0]} is not a program for this machine (${code})`);
	}
	return passing(`cannot start: ${message}`);
}

/** The system ends a string at its first NUL, and would start another command than requested. */
function checkText({ argv, cwd, env }: Launch): StartFailure | null {
	const texts = [...argv, cwd, ...Object.entries(env).flat()];
	return texts.some((text) => text.includes("\0"))
		? permanent("an argument, a variable or the working directory contains a NUL character")
		: null;
}

function checkFolder(cwd: string): StartFailure | null {
	const kind = kindOf(cwd);
	if (kind === "missing")
		return permanent(`the working directory ${cwd} does not exist: create it`);
	if (kind === "hidden") return permanent(`cannot read the working directory ${cwd}`);
	if (kind !== "folder") return permanent(`the working directory ${cwd} is not a directory`);
	return isExecutable(cwd)
		? null
		: permanent(`no permission to enter the working directory ${cwd}`);
}

type Kind = "file" | "folder" | "missing" | "hidden";

function kindOf(path: string): Kind {
	try {
		return statSync(path).isDirectory() ? "folder" : "file";
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		return code === "ENOENT" || code === "ENOTDIR" ? "missing" : "hidden";
	}
}

/** Whether this user may execute the file, or enter the directory. */
export function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

/** Where a program would be found: by its path, or on the agent's own PATH. */
function findProgram(program: string, { cwd, env }: Launch): string | null {
	if (program.includes("/")) return isAbsolute(program) ? program : join(cwd, program);
	const folders = (env["PATH"] ?? "/usr/bin:/bin").split(":");
	const candidates = folders
		.map((folder) => join(isAbsolute(folder) ? folder : join(cwd, folder), program))
		.filter((path) => kindOf(path) === "file");
	return candidates.find(isExecutable) ?? candidates[0] ?? null;
}

function checkProgram(path: string | null, name: string, launch: Launch): StartFailure | null {
	if (path === null) {
		return permanent(
			`program \`${name}\` not found on the agent's PATH: install it, or set \`command\` to its full path`,
		);
	}
	const kind = kindOf(path);
	if (kind === "missing") return permanent(`the program ${path} does not exist`);
	if (kind === "folder") return permanent(`the program ${path} is a directory`);
	if (!isExecutable(path)) return permanent(`${path} is not executable: chmod +x ${path}`);
	return checkInterpreter(path, launch);
}

function checkInterpreter(path: string, launch: Launch): StartFailure | null {
	const line = readShebang(path);
	if (line === null) return null;
	const [interpreter = "", argument] = line.trim().split(/\s+/);
	if (interpreter === "") return permanent(`${path} starts with \`#!\` but names no interpreter`);
	const hint = line.endsWith("\r") ? " (the file has Windows line endings)" : "";
	if (kindOf(interpreter) !== "file") {
		return permanent(`the interpreter ${interpreter} of ${path} does not exist${hint}`);
	}
	if (!isExecutable(interpreter)) {
		return permanent(`the interpreter ${interpreter} of ${path} is not executable`);
	}
	const isByName = basename(interpreter) === "env" && /^[\w.+-]+$/.test(argument ?? "-");
	if (!isByName || argument === undefined || argument.startsWith("-")) return null;
	return findProgram(argument, launch) === null
		? permanent(`the interpreter \`${argument}\` of ${path} is not on the agent's PATH${hint}`)
		: null;
}

const SHEBANG_BYTES_MAX = 256;

function readShebang(path: string): string | null {
	let fd: number | undefined;
	try {
		fd = openSync(path, "r");
		const bytes = Buffer.alloc(SHEBANG_BYTES_MAX);
		const text = bytes.toString("latin1", 0, readSync(fd, bytes));
		return text.startsWith("#!") ? (text.slice(2).split("\n", 1)[0] ?? "") : null;
	} catch {
		// Executable but not readable is fine for a binary.
		return null;
	} finally {
		if (fd !== undefined) closeSync(fd);
	}
}

const TOO_LONG =
	"the arguments and the environment together are too long for the system: pass large values in a file";

/** The limits of this process do not change while it runs. */
let sizeMax: number | null = null;

/** Linux refuses single texts beyond 32 pages. */
const TEXT_BYTES_MAX = 131_072;

function checkSize({ argv, env }: Launch): StartFailure | null {
	const texts = [...argv, ...Object.entries(env).map(([key, value]) => `${key}=${value}`)];
	const sizes = texts.map((text) => Buffer.byteLength(text) + 1);
	if (process.platform === "linux" && sizes.some((bytes) => bytes > TEXT_BYTES_MAX)) {
		return permanent(`a single argument or variable is longer than ${TEXT_BYTES_MAX} bytes`);
	}
	const total = sizes.reduce((sum, bytes) => sum + bytes + 8, 0);
	sizeMax ??= readSizeMax();
	return total > sizeMax ? permanent(TOO_LONG) : null;
}

/** A quarter of the stack on Linux, between 128 KiB and 6 MiB; 1 MiB on macOS. The system uses a page or two. */
function readSizeMax(): number {
	const spare = 8_192;
	if (process.platform !== "linux") return 1_048_576 - spare;
	try {
		const limits = readFileSync("/proc/self/limits", "utf8");
		const stack = /^Max stack size\s+(\d+|unlimited)/m.exec(limits)?.[1];
		const quarter = stack === "unlimited" ? Number.POSITIVE_INFINITY : Number(stack) / 4;
		return Math.min(Math.max(quarter, 131_072), 6_291_456) - spare;
	} catch {
		return 2_097_152 - spare;
	}
}
