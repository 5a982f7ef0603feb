/**
 * Sends datagrams to a unix socket, which Node cannot do: a small child process reads them from stdin
 * and sends them in order. A child that dies is replaced; if no suitable program is found, that is
 * reported once.
 */

import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { isExecutable } from "../../host/spawn-errors.js";

export interface DatagramRelay {
	send(text: string): void;
	/** Resolves when everything was sent, or after a moment. */
	close(): Promise<void>;
	/** The current child; for tests. */
	readonly pid: number | undefined;
}

/** Messages on stdin end with a NUL. A name that starts with @ is an abstract socket of Linux. */
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
	/** A new child was started: the last messages of the previous one may be lost. */
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

/** Without an interpreter for a relay: one `systemd-notify` process per message, in order. */
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
