/**
 * `reeve attach`: connects this terminal to that of an agent, until the detach keys are pressed or it
 * closes.
 */

import type { Client, TerminalSocket } from "../../client/client.js";
import { CLI_EXIT, ReeveError } from "../../core/errors.js";
import { plainLine } from "../../core/safe-text.js";
import type { TerminalMessage } from "../../http/contract/streams.js";
import { tellAfterExit } from "../after-attach.js";
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
import { resolveAgent } from "../resolve.js";

/** The limit of one message; a paste may be longer. */
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
	const keys = parseDetachKeys(options.detachKeys);
	const streams = checkTerminal(process.stdin, process.stdout);
	const { client } = connect(env);
	const agent = await resolveAgent(id, client);
	const mayAsk = options.ro !== true && options.json !== true;
	for (;;) {
		const { ending, attached } = await attachOnce(client, agent, keys, streams, options, output);
		const code = tellEnding(agent, ending, options, output);
		const exited = ending.type === "closed" && ending.seen && options.json !== true;
		if (!exited) return code;
		const after = { id: agent, runId: await attached, client, output, mayAsk };
		if (!(await tellAfterExit(after))) return code;
	}
}

async function attachOnce(
	client: Client,
	agent: string,
	keys: DetachKeys,
	streams: TerminalStreams,
	options: AttachOptions,
	output: Output,
): Promise<{ readonly ending: Ending; readonly attached: Promise<string | null> }> {
	const readOnly = options.ro === true;
	const size = sizeOf(streams.stdout);
	const socket = await client.terminal(agent, { ...size, readOnly });
	const attached = client.call("GET /api/v1/agents/:id", { place: agent }).then(
		({ run_id }) => run_id,
		() => null,
	);
	const greeting = `attached to ${agent}${readOnly ? ", read only" : ""}; ${keys.name} detaches`;
	const terminal = enterRawTerminal(streams, () => output.say(greeting));
	try {
		const ending = await converse(socket, terminal, streams, { keys, readOnly, greeting });
		return { ending, attached };
	} finally {
		terminal.restore();
		await leave(socket);
	}
}

/** Flushes first: the last keys before the detach keys are still in flight. */
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
		throw new ReeveError(
			"connection_lost",
			`lost the connection to ${id}; the agent may still be running`,
		);
	}
	const reason = ending.type === "closed" ? plainLine(ending.reason) : null;
	if (json) output.json({ id, ended: ending.type, reason });
	else if (ending.type === "detached") output.say(`detached from ${id}; the agent keeps running`);
	else output.say(`${id}: ${reason}`);
	// A terminal that closed before it showed anything could not be attached to.
	return ending.type === "closed" && !ending.seen ? CLI_EXIT.failed : CLI_EXIT.done;
}

/** Copies bytes in both directions until one side closes. */
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
				screen.typed();
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
			// An earlier attachment, or a question after it, has paused it.
			stdin.resume();
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

/** Reads from the keyboard at the speed of the daemon. */
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

/** Reads from the daemon at the speed of the terminal. */
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
