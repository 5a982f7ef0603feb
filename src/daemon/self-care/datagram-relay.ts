/**
 * Sends datagrams to a unix socket, which Node cannot do: a small child does it, from what it reads on its
 * stdin, in order. A child that dies is replaced; where no program for it is found, that is told once.
 */

import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { isExecutable } from "../../host/spawn-errors.js";

export interface DatagramRelay {
	send(text: string): void;
	/** Resolves when all was handed over, or after a moment. */
	close(): Promise<void>;
	/** The child now; for tests. */
	readonly pid: number | undefined;
}

/** Texts end with a NUL on stdin. A name that begins with @ has no file: it is abstract, as Linux calls it. */
const PERL = String.raw`
use Socket;
$/ = "\0";
my $path = $ENV{NOTIFY_SOCKET};
$path =~ s/^@/\0/;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or exit 1;
while (my $text = <STDIN>) {
	chomp $text;
	send($socket, $text, 0, pack_sockaddr_un($path));
}`;
const PYTHON = `
import os, socket, sys
path = os.environ["NOTIFY_SOCKET"]
if path.startswith("@"): path = "\\0" + path[1:]
out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
held = b""
while True:
    piece = os.read(0, 65536)
    if not piece: break
    *texts, held = (held + piece).split(b"\\0")
    for text in texts:
        try: out.sendto(text, path)
        except OSError: pass`;

const AGAIN_MS = 1_000;
const CLOSE_MS_MAX = 1_000;

export interface RelayOptions {
	/** The socket's path, or its abstract name after an @. */
	readonly path: string;
	readonly searchPath: string;
	/** A new child stands: whoever listens may not have heard the last words of the one before. */
	readonly onRestart: () => void;
	readonly onTrouble: (message: string) => void;
}

export function createDatagramRelay(options: RelayOptions): DatagramRelay {
	const { path, searchPath, onRestart } = options;
	const command = findCommand(searchPath);
	if (command === null) return createSender(options);
	const [program, ...args] = command;
	let isClosed = false;
	let child = start();

	function start(): ChildProcessByStdio<Writable, null, null> {
		const started = spawn(program, args, {
			env: { PATH: searchPath, NOTIFY_SOCKET: path },
			stdio: ["pipe", "ignore", "ignore"],
		});
		started.stdin.on("error", () => {});
		started.on("error", () => {});
		started.once("close", () => {
			if (isClosed) return;
			setTimeout(() => {
				if (isClosed) return;
				child = start();
				onRestart();
			}, AGAIN_MS).unref();
		});
		return started;
	}

	return {
		send: (text) => void child.stdin.write(`${text}\0`),
		async close() {
			isClosed = true;
			if (child.exitCode !== null || child.signalCode !== null) return;
			await new Promise<void>((resolve) => {
				const giveUp = setTimeout(resolve, CLOSE_MS_MAX);
				child.once("close", () => {
					clearTimeout(giveUp);
					resolve();
				});
				child.stdin.end();
			});
		},
		get pid() {
			return child.pid;
		},
	};
}

function findCommand(searchPath: string): readonly [string, ...string[]] | null {
	if (hasProgram(searchPath, "perl")) return ["perl", "-e", PERL];
	return hasProgram(searchPath, "python3") ? ["python3", "-c", PYTHON] : null;
}

function hasProgram(searchPath: string, name: string): boolean {
	return searchPath.split(":").some((folder) => isExecutable(join(folder, name)));
}

/** Where there is nothing to write a relay in: a program of systemd's own for each text, one after another. */
function createSender({ path, searchPath, onTrouble }: RelayOptions): DatagramRelay {
	if (!hasProgram(searchPath, "systemd-notify")) {
		onTrouble(
			"cannot notify the service manager: none of perl, python3 and systemd-notify is installed",
		);
		return { send() {}, close: async () => {}, pid: undefined };
	}
	const env = { PATH: searchPath, NOTIFY_SOCKET: path };
	let sent = Promise.resolve();
	return {
		send(text) {
			const run = () =>
				new Promise<void>((resolve) => {
					const options = { env, timeout: CLOSE_MS_MAX };
					execFile("systemd-notify", text.split("\n"), options, () => resolve());
				});
			sent = sent.then(run);
		},
		close: () => sent,
		pid: undefined,
	};
}
