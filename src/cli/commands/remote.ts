/** `reeve remote`: the daemons of other hosts. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { REMOTE_NAME } from "../../core/remote.js";
import { plainLine } from "../../core/safe-text.js";
import { renderElapsed } from "../../core/units.js";
import type { RemoteJson } from "../../http/contract/remotes.js";
import { invalidValue } from "../arguments.js";
import { connectOwn } from "../connect.js";
import { ensureDaemon } from "../daemon-process.js";
import type { Cli, Output } from "../output.js";
import { renderTable } from "../table.js";

interface JsonOption {
	readonly json?: boolean;
}

interface AddOptions extends JsonOption {
	readonly ssh?: string;
	readonly socket?: string;
	readonly command: string;
	readonly url?: string;
	readonly tokenFile?: string;
	readonly ca?: string;
}

export async function runRemoteAdd(
	name: string,
	options: AddOptions,
	{ output, env }: Cli,
): Promise<number> {
	if (!REMOTE_NAME.test(name)) {
		const hint = "Use lower-case letters, digits, `-` and `_`, at most 63 characters.";
		throw new ReeveError("usage", `\`${name}\` is not a valid remote name`, hint);
	}
	const address =
		options.ssh === undefined ? urlAddress(options) : await sshAddress(options, output, env);
	const { home, client } = connectOwn(env);
	await ensureDaemon({ home, env });
	const body = { name, address };
	const signal = AbortSignal.timeout(ADD_MS_MAX);
	return printConnected(
		await client.call("POST /api/v1/remotes", { body, signal }),
		options,
		output,
	);
}

/** Longer than the daemon's first attempt to connect. */
const ADD_MS_MAX = 60_000;

function urlAddress({ url, tokenFile, ca, socket }: AddOptions) {
	if (url === undefined) {
		const hint = "Use `--ssh user@host`, or `--url https://HOST:PORT --token-file FILE`.";
		throw new ReeveError("usage", "reeve remote add needs --ssh or --url", hint);
	}
	if (socket !== undefined) {
		throw new ReeveError("usage", "--socket is for --ssh", "Remove it.");
	}
	if (tokenFile === undefined) {
		const hint =
			"On the other host: `reeve token create --scope operate`. Save the token in a file.";
		throw new ReeveError("usage", "--url needs --token-file", hint);
	}
	for (const file of [tokenFile, ...(ca === undefined ? [] : [ca])]) {
		if (existsSync(file)) continue;
		throw new ReeveError("usage", `there is no file ${file} on this host`, "Check the path.");
	}
	return {
		type: "url" as const,
		url,
		token_file: resolve(tokenFile),
		ca_file: ca === undefined ? null : resolve(ca),
	};
}

async function sshAddress(options: AddOptions, output: Output, env: NodeJS.ProcessEnv) {
	const { ssh: target = "", socket, command, url, tokenFile } = options;
	if (url !== undefined || tokenFile !== undefined) {
		const hint = "Remove --url and --token-file, or --ssh.";
		throw new ReeveError("usage", "--ssh and --url cannot be combined", hint);
	}
	if (!/^[^\s-]\S*$/.test(target)) {
		const hint = "Use `user@host`, or a host of your ssh configuration.";
		throw invalidValue("--ssh", target, hint);
	}
	return {
		type: "ssh" as const,
		target,
		socket: socket ?? (await findSocket(target, command, output)),
		auth_sock: env["SSH_AUTH_SOCK"] ?? null,
	};
}

/**
 * Asks Reeve on the other host. `ssh` may ask for a password or a host key on this terminal, which it opens itself; what
 * the other host prints is made safe first (A10).
 */
async function findSocket(target: string, command: string, output: Output): Promise<string> {
	const child = spawn("ssh", ["--", target, `${command} daemon status --json`], {
		stdio: ["inherit", "pipe", "pipe"],
	});
	let pending = "";
	const printLines = (isEnd: boolean) => {
		const lines = pending.split("\n");
		pending = isEnd || pending.length > LINE_CHARS_MAX ? "" : (lines.pop() ?? "");
		for (const line of lines) if (line.trim() !== "") output.note(line.trimEnd());
	};
	child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
		pending += chunk;
		printLines(false);
	});
	let text = "";
	child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
		text = (text + chunk).slice(-STATUS_CHARS_MAX);
	});
	const code = await new Promise<number | null>((resolve, reject) => {
		child.on("error", (error: NodeJS.ErrnoException) => {
			const why = error.code === "ENOENT" ? "the program `ssh` is not installed" : error.message;
			reject(new ReeveError("remote_unreachable", `cannot reach ${target}: ${why}`));
		});
		child.on("close", resolve);
	});
	printLines(true);
	const socket = parseSocket(text);
	if (socket !== null) return socket;
	if (code === SSH_FAILED) {
		throw new ReeveError(
			"remote_unreachable",
			`cannot reach ${target}: ssh failed, see above`,
			`Check that \`ssh ${target}\` works.`,
		);
	}
	throw new ReeveError(
		"remote_unreachable",
		`${target} does not run \`${command} daemon status --json\` (exit code ${code})`,
		"Install Reeve there, or pass its path with `--command /path/to/reeve`, or the daemon's socket with `--socket PATH`.",
	);
}

const STATUS_CHARS_MAX = 1_000_000;
const LINE_CHARS_MAX = 4_096;
/** Braces in the output of login scripts. */
const TRIES_MAX = 100;
/** The exit code of `ssh` itself. */
const SSH_FAILED = 255;

/** Login scripts may print text before the status. */
function parseSocket(text: string): string | null {
	let at = text.indexOf("{");
	for (let tries = 0; at !== -1 && tries < TRIES_MAX; at = text.indexOf("{", at + 1), tries++) {
		try {
			const { socket } = JSON.parse(text.slice(at)) as { socket?: unknown };
			if (typeof socket === "string" && socket.startsWith("/")) return socket;
		} catch {
			// The next brace may begin the status.
		}
	}
	return null;
}

export async function runRemoteList(options: JsonOption, { output, env }: Cli): Promise<number> {
	const { remotes } = await connectOwn(env).client.call("GET /api/v1/remotes");
	if (options.json) {
		output.json(remotes);
		return CLI_EXIT.done;
	}
	if (remotes.length === 0) {
		output.note("no remotes: `reeve remote add NAME --ssh user@host` adds one");
		return CLI_EXIT.done;
	}
	const { colors } = output;
	const paints = {
		reachable: colors.green,
		connecting: colors.yellow,
		unreachable: colors.red,
	};
	const rows = remotes.map((remote) => [
		{ text: remote.name },
		{ text: remote.state, paint: paints[remote.state] },
		{ text: remote.seen_at === null ? "never" : `${ageOf(remote.seen_at)} ago` },
		{ text: remote.version ?? "-" },
		{ text: remote.address },
		{ text: remote.reason ?? "" },
	]);
	const head = ["REMOTE", "STATE", "SEEN", "VERSION", "ADDRESS", "REASON"];
	for (const line of renderTable(head, rows, output.columns)) output.result(line);
	return CLI_EXIT.done;
}

function ageOf(time: string): string {
	return renderElapsed(Math.max(0, Date.now() - Date.parse(time)));
}

export async function runRemoteConnect(
	name: string,
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connectOwn(env);
	const body = { auth_sock: env["SSH_AUTH_SOCK"] ?? null };
	const signal = AbortSignal.timeout(ADD_MS_MAX);
	const reply = await client.call("POST /api/v1/remotes/:remote/connect", {
		place: name,
		body,
		signal,
	});
	return printConnected(reply, options, output);
}

function printConnected(remote: RemoteJson, { json }: JsonOption, output: Output): number {
	const { name, state, version, reason } = remote;
	if (json) output.json(remote);
	else if (state === "reachable") output.result(`${name}: connected, version ${version}`);
	else {
		output.result(
			`${name}: saved, but it does not answer: ${plainLine(reason ?? "still connecting")}`,
		);
		output.note(
			`hint: the daemon keeps trying. \`reeve remote connect ${name}\` tries immediately, \`reeve remote rm ${name}\` removes it`,
		);
	}
	return state === "reachable" ? CLI_EXIT.done : CLI_EXIT.failed;
}

export async function runRemoteRemove(
	name: string,
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connectOwn(env);
	const { removed } = await client.call("POST /api/v1/remotes/:remote/remove", { place: name });
	if (options.json) output.json({ removed });
	else output.result(`${removed}: removed; its daemon and agents are not affected`);
	return CLI_EXIT.done;
}
