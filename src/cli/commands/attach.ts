/** `reeve attach`: an agent's terminal in this one, until the detach keys, or until it closes. */

import type { TerminalSocket } from "../../client/client.js";
import { CLI_EXIT, ReeveError } from "../../core/errors.js";
import type { TerminalMessage } from "../../http/contract/streams.js";
import { checkAgentId } from "../arguments.js";
import { createAttachedScreen } from "../attached-screen.js";
import { connect } from "../connect.js";
import { createDetachMatcher, type DetachKeys, parseDetachKeys } from "../detach-keys.js";
import type { Output } from "../output.js";
import {
	checkTerminal,
	enterRawTerminal,
	type RawTerminal,
	sizeOf,
	type TerminalStreams,
} from "../raw-terminal.js";
import { plainLine } from "../sanitize.js";

/** More in one message would be refused; a paste may be longer. */
const INPUT_BYTES_MAX = 16_384;
const LEAVE_MS_MAX = 1_000;

export interface AttachOptions {
	readonly ro?: boolean;
	readonly detachKeys: string;
	readonly json?: boolean;
}

interface Conversation {
	readonly keys: DetachKeys;
	readonly readOnly: boolean;
	readonly greeting: string;
}

type Ending =
	| { readonly type: "detached" }
	| { readonly type: "closed"; readonly reason: string; readonly seen: boolean }
	| { readonly type: "lost" };

export async function runAttach(
	id: string,
	options: AttachOptions,
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const agent = checkAgentId(id);
	const keys = parseDetachKeys(options.detachKeys);
	const streams = checkTerminal(process.stdin, process.stdout);
	const readOnly = options.ro === true;
	const size = sizeOf(streams.stdout);
	const socket = await connect(env).client.terminal(agent, { ...size, readOnly });
	const greeting = `attached to ${agent}${readOnly ? ", read only" : ""}; ${keys.name} detaches`;
	const terminal = enterRawTerminal(streams, () => output.say(greeting));
	let ending: Ending;
	try {
		ending = await converse(socket, terminal, streams, { keys, readOnly, greeting });
	} finally {
		terminal.restore();
		await leave(socket);
	}
	return tellEnding(agent, ending, options, output);
}

/** In order: the last keys before the detach keys are still on their way. */
async function leave(socket: TerminalSocket): Promise<void> {
	if (socket.readyState === socket.OPEN) {
		await new Promise<void>((resolve) => {
			setTimeout(resolve, LEAVE_MS_MAX).unref();
			socket.on("close", () => resolve());
			socket.resume();
			socket.close();
		});
	}
	socket.terminate();
}

function tellEnding(id: string, ending: Ending, { json }: AttachOptions, output: Output): number {
	if (ending.type === "lost") {
		throw new ReeveError("connection_lost", `the connection to ${id} was lost; it may run on`);
	}
	const reason = ending.type === "closed" ? plainLine(ending.reason) : null;
	if (json) output.json({ id, ended: ending.type, reason });
	else if (ending.type === "detached") output.say(`detached from ${id}; it runs on`);
	else output.say(`${id}: ${reason}`);
	// A terminal that closed before it showed anything could not be attached to.
	return ending.type === "closed" && !ending.seen ? CLI_EXIT.failed : CLI_EXIT.done;
}

/** Bytes both ways until one side has had enough. */
async function converse(
	socket: TerminalSocket,
	terminal: RawTerminal,
	{ stdin, stdout }: TerminalStreams,
	{ keys, readOnly, greeting }: Conversation,
): Promise<Ending> {
	const matcher = createDetachMatcher(keys);
	const write = (bytes: Buffer) => writeSlowly(socket, stdout, bytes);
	const screen = createAttachedScreen(write, terminal, { greeting, readOnly });
	const tell = (message: TerminalMessage) => {
		if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
	};
	const onResize = () => tell({ type: "resize", ...terminal.size() });
	let onInput = (_: Buffer) => {};
	try {
		return await new Promise<Ending>((resolve) => {
			onInput = (bytes) => {
				const { pass, detach } = matcher.take(bytes);
				if (!readOnly) typeSlowly(socket, stdin, pass);
				if (detach) resolve({ type: "detached" });
			};
			socket.on("message", (data, isBinary) => {
				if (isBinary) screen.draw(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
				else screen.hear(parseMessage(data));
			});
			socket.on("close", () => {
				const { closedFor: reason, seen } = screen;
				resolve(reason === null ? { type: "lost" } : { type: "closed", reason, seen });
			});
			stdin.on("data", onInput);
			stdin.once("end", () => resolve({ type: "detached" }));
			if (!readOnly) stdout.on("resize", onResize);
			socket.resume();
			if (!readOnly) tell({ type: "take_over" });
		});
	} finally {
		screen.end();
		stdin.removeListener("data", onInput);
		stdout.removeListener("resize", onResize);
	}
}

/** Reads no more from the keyboard than the daemon takes. */
function typeSlowly(socket: TerminalSocket, stdin: TerminalStreams["stdin"], bytes: Buffer): void {
	if (socket.readyState !== socket.OPEN || bytes.length === 0) return;
	for (let at = 0; at < bytes.length; at += INPUT_BYTES_MAX) {
		const part = bytes.subarray(at, at + INPUT_BYTES_MAX);
		const isLast = at + INPUT_BYTES_MAX >= bytes.length;
		if (isLast) stdin.pause();
		socket.send(part, () => {
			if (isLast) stdin.resume();
		});
	}
}

/** Takes no more from the daemon than the terminal shows. */
function writeSlowly(
	socket: TerminalSocket,
	stdout: TerminalStreams["stdout"],
	bytes: Buffer,
): void {
	if (stdout.write(bytes)) return;
	socket.pause();
	stdout.once("drain", () => socket.resume());
}

function parseMessage(data: Uint8Array): TerminalMessage | null {
	try {
		return JSON.parse(new TextDecoder().decode(data)) as TerminalMessage;
	} catch {
		return null;
	}
}
