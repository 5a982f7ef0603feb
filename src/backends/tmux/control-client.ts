/**
 * One `tmux -C` process: commands go in, responses come out in the same order. It ends with this
 * process, since its input does.
 */

import { type ChildProcess, spawn } from "node:child_process";
import type { Argv } from "../../host/cgroup.js";
import { createControlParser } from "./control-parser.js";

/** The command line that runs another outside of this process's unit. */
export type Enclose = (argv: Argv) => Argv;

/** The location of a backend's server, and how to run it. */
export interface ServerPlace {
	/** The program `tmux`. */
	readonly program: string;
	/** How to start the server, if it must not be in the daemon's own unit. */
	readonly enclose: Enclose | null;
	readonly socket: string;
	readonly config: string;
	/** The complete environment of client and server. */
	readonly env: Readonly<Record<string, string>>;
}

export interface ControlEvents {
	onNotice(line: Buffer): void;
	/** It has exited; called once, also if it never started. */
	onClose(reason: string): void;
}

/** The connection to tmux was lost, and with it the response. */
export class ConnectionLost extends Error {
	override readonly name = "ConnectionLost";
}

/** The bodies of a command's responses, or the error of tmux. Called while the response is read. */
export type OnAnswer = (answer: { readonly bodies: readonly Buffer[][] } | Error) => void;

interface Waiting {
	/** The number of pending responses; a failed command cancels those after it on its line. */
	left: number;
	readonly bodies: Buffer[][];
	readonly onAnswer: OnAnswer;
}

const SAID_BYTES_MAX = 4_096;

/** The arguments that select the server. */
export const serverArgs = ({ socket, config }: ServerPlace) => ["-u", "-S", socket, "-f", config];

export class ControlClient {
	/** Resolves when the first command, which connects, has a response. */
	readonly ready: Promise<void>;
	/** Resolves when its process has exited. */
	readonly gone: Promise<void>;
	readonly #child: ChildProcess;
	readonly #events: ControlEvents;
	readonly #waiting: Waiting[] = [];
	#onReady: (problem: Error | null) => void = () => {};
	#isReady = false;
	#isClosed = false;
	#said = "";

	/** `connect` is the command that attaches it to a session. */
	constructor(place: ServerPlace, connect: readonly string[], events: ControlEvents) {
		this.#events = events;
		this.ready = new Promise((resolve, reject) => {
			this.#onReady = (problem) => (problem === null ? resolve() : reject(problem));
		});
		this.ready.catch(() => {});
		const args = [...serverArgs(place), "-C", ...connect];
		// Its own session: Ctrl-C at the daemon's terminal must not reach it.
		this.#child = spawn(place.program, args, { cwd: "/", env: place.env, detached: true });
		this.gone = new Promise((resolve) => {
			this.#child.once("error", () => resolve());
			this.#child.once("close", () => resolve());
		});
		const parse = createControlParser();
		this.#child.stdout?.on("data", (piece: Buffer) => {
			for (const event of parse(piece)) {
				if (event.type === "notice") this.#onNotice(event.line);
				else if (!this.#isReady) this.#onConnected(event.ok, event.body);
				else if (event.own) this.#onAnswer(event.ok, event.body);
			}
		});
		this.#child.stderr?.on("data", (piece: Buffer) => {
			if (this.#said.length < SAID_BYTES_MAX) this.#said += piece.toString();
		});
		this.#child.stdin?.on("error", () => {});
		this.#child.once("error", (error) => this.#end(error.message));
		this.#child.once("close", () => this.#end(this.#said.trim() || "tmux hung up"));
	}

	/** Sends a line of `count` commands. */
	send(line: string, count: number, onAnswer: OnAnswer): void {
		if (this.#isClosed) {
			onAnswer(new ConnectionLost("the connection to tmux was lost"));
			return;
		}
		this.#waiting.push({ left: count, bodies: [], onAnswer });
		this.#child.stdin?.write(`${line}\n`);
	}

	close(): void {
		this.#child.stdin?.end();
		this.#child.kill("SIGTERM");
		this.#end("closed");
	}

	#onConnected(ok: boolean, body: readonly Buffer[]): void {
		this.#isReady = ok;
		if (ok) this.#onReady(null);
		else this.#said = body.join("\n");
	}

	#onNotice(line: Buffer): void {
		if (!this.#isClosed) this.#events.onNotice(line);
	}

	#onAnswer(ok: boolean, body: Buffer[]): void {
		const [first] = this.#waiting;
		if (first === undefined) return;
		first.bodies.push(body);
		first.left--;
		if (ok && first.left > 0) return;
		this.#waiting.shift();
		first.onAnswer(ok ? { bodies: first.bodies } : new Error(`tmux: ${body.join("; ")}`));
	}

	#end(reason: string): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#onReady(new Error(`tmux: ${reason}`));
		for (const { onAnswer } of this.#waiting.splice(0)) {
			onAnswer(new ConnectionLost("the connection to tmux was lost"));
		}
		this.#events.onClose(reason);
	}
}
