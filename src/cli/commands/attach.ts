/**
 * `reeve attach`: connects this terminal to that of an agent, until the detach keys are pressed or it
 * closes.
 */

import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, TerminalSocket } from "../../client/client.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { plainLine } from "../../core/safe-text.js";
import type { AgentJson } from "../../http/contract/agents.js";
import type { TerminalMessage } from "../../http/contract/streams.js";
import { reasonBesideState, renderState } from "../agent-table.js";
import { createAttachedScreen } from "../attached-screen.js";
import { connect } from "../connect.js";
import { createDetachMatcher, type DetachKeys, parseDetachKeys } from "../detach-keys.js";
import type { Cli, Output } from "../output.js";
import {
	checkTerminal,
	enterRawTerminal,
	type RawTerminal,
	sizeOf,
	type TerminalStreams,
} from "../raw-terminal.js";
import { resolveAgent } from "../resolve.js";
import { START_WORDS } from "../start-report.js";
import { renderClock } from "../top/words.js";

/** The limit of one message; a paste may be longer. */
const INPUT_BYTES_MAX = 16_384;
const LEAVE_MS_MAX = 1_000;

export interface AttachOptions {
	readonly ro?: boolean;
	/** Types without asking, even if another client has the keyboard. */
	readonly takeOver?: boolean;
	readonly detachKeys: string;
	readonly json?: boolean;
}

const NEEDS_TERMINAL = {
	command: "reeve attach",
	instead: "Without one, use `reeve logs -f` to read its output and `reeve send` to send messages.",
};

/** How to begin: `type` uses the keyboard if it is free, `take_over` also if another client has it. */
type Start = "watch" | "type" | "take_over";

interface Conversation {
	readonly keys: DetachKeys;
	readonly start: Start;
	readonly greeting: string;
}

type Ending =
	| { readonly type: "detached" }
	| { readonly type: "closed"; readonly reason: string; readonly seen: boolean }
	| { readonly type: "lost" };

export async function runAttach(
	id: string,
	options: AttachOptions,
	{ output, env }: Cli,
): Promise<number> {
	const keys = parseDetachKeys(options.detachKeys);
	const streams = checkTerminal(process.stdin, process.stdout, NEEDS_TERMINAL);
	const { client } = connect(env);
	const agent = await resolveAgent(id, client);
	const mayAsk = options.ro !== true && options.json !== true;
	for (;;) {
		const { ending, attached } = await attachOnce(client, agent, keys, streams, options, output);
		const code = tellEnding(agent, ending, options, output);
		if (ending.type !== "closed" || options.json === true) return code;
		const after = { id: agent, runId: await attached, client, output, mayAsk };
		const isStarted = ending.seen ? await reportAfterExit(after) : await reportRefused(after);
		if (!isStarted) return code;
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
	const start = await chooseStart(client, agent, options, output);
	const readOnly = start === "watch";
	const size = sizeOf(streams.stdout);
	const socket = await client.terminal(agent, { ...size, readOnly });
	const attached = client.call("GET /api/v1/agents/:id", { place: agent }).then(
		({ run_id }) => run_id,
		() => null,
	);
	const mode = readOnly ? ", read only" : "";
	const greeting = `attached to ${agent}${mode}; ${keys.name} detaches`;
	const frames = receive(socket);
	try {
		const refused = await frames.opened;
		if (refused !== null) return { ending: refused, attached };
		const terminal = enterRawTerminal(streams, () => output.note(greeting));
		try {
			const talk = { keys, start, greeting };
			return { ending: await converse(socket, frames, terminal, streams, talk), attached };
		} finally {
			terminal.restore();
		}
	} finally {
		await leave(socket);
	}
}

type Frame = Buffer | TerminalMessage | null;

interface Frames {
	/** Resolves when the agent's screen arrives: null, or why it never does. */
	readonly opened: Promise<Ending | null>;
	/** Calls this with each frame, also with the earlier ones. */
	follow(listener: (frame: Frame) => void, onClose: () => void): void;
}

/** Reads a terminal's connection. The user's own terminal stays as it is until the agent's screen is there. */
function receive(socket: TerminalSocket): Frames {
	const early: Frame[] = [];
	let listener: ((frame: Frame) => void) | null = null;
	let onClose = () => {};
	let isClosed = false;
	const opened = new Promise<Ending | null>((resolve) => {
		socket.on("message", (data, isBinary) => {
			const frame = isBinary
				? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
				: parseMessage(data);
			if (listener !== null) return listener(frame);
			early.push(frame);
			if (Buffer.isBuffer(frame)) {
				socket.pause();
				resolve(null);
			} else if (frame?.type === "closed") {
				resolve({ type: "closed", reason: frame.reason, seen: false });
			}
		});
		socket.on("close", () => {
			isClosed = true;
			onClose();
			resolve({ type: "lost" });
		});
	});
	socket.resume();
	return {
		opened,
		follow(next, closed) {
			for (const frame of early) next(frame);
			listener = next;
			onClose = closed;
			if (isClosed) closed();
			else socket.resume();
		},
	};
}

/** Asks before it takes the keyboard from another client. */
async function chooseStart(
	client: Client,
	id: string,
	{ ro, takeOver, json }: AttachOptions,
	output: Output,
): Promise<Start> {
	if (ro) return "watch";
	if (takeOver) return "take_over";
	const { keyboard } = await client.call("GET /api/v1/agents/:id", { place: id });
	if (keyboard === null || json) return "type";
	const since = renderClock(Date.parse(keyboard.since), Date.now());
	output.note(`${id}: ${plainLine(keyboard.label)} has had the keyboard since ${since}.`);
	const isTaken = await askLine("Take it over? [y/N, Enter to watch] ", (line) =>
		line === "" ? null : /^y(es)?$/.test(line) ? true : /^no?$/.test(line) ? false : undefined,
	);
	return isTaken === true ? "take_over" : "watch";
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
	else if (ending.type === "detached") output.note(`detached from ${id}; the agent keeps running`);
	else if (ending.type === "closed" && !ending.seen) output.note(`cannot attach: ${reason}`);
	else output.note(`${id}: ${reason}`);
	return ending.type === "closed" && !ending.seen ? CLI_EXIT.failed : CLI_EXIT.done;
}

/** Copies bytes in both directions until one side closes. */
async function converse(
	socket: TerminalSocket,
	frames: Frames,
	terminal: RawTerminal,
	{ stdin, stdout }: TerminalStreams,
	{ keys, start, greeting }: Conversation,
): Promise<Ending> {
	const readOnly = start === "watch";
	const matcher = createDetachMatcher(keys);
	const write = (bytes: Buffer) => writeSlowly(socket, stdout, bytes);
	const screen = createAttachedScreen(write, terminal, { greeting, readOnly });
	const sendMessage = (message: TerminalMessage) => {
		if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
	};
	const onResize = () => sendMessage({ type: "resize", ...terminal.size() });
	let onInput = (_: Buffer) => {};
	try {
		return await new Promise<Ending>((resolve) => {
			onInput = (bytes) => {
				const { pass, detach } = matcher.take(bytes);
				screen.typed();
				if (!readOnly) typeSlowly(socket, stdin, pass);
				if (detach) resolve({ type: "detached" });
			};
			stdin.on("data", onInput);
			// An earlier attachment, or a question after it, has paused it.
			stdin.resume();
			stdin.once("end", () => resolve({ type: "detached" }));
			if (!readOnly) stdout.on("resize", onResize);
			const onFrame = (frame: Frame) =>
				Buffer.isBuffer(frame) ? screen.draw(frame) : screen.onMessage(frame);
			frames.follow(onFrame, () => {
				const { closedFor: reason, seen } = screen;
				resolve(reason === null ? { type: "lost" } : { type: "closed", reason, seen });
			});
			if (start === "take_over") sendMessage({ type: "take_over" });
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

/** An exit is classified and recorded a moment after the terminal closes. */
const RECORDED_MS_MAX = 5_000;
const POLL_MS = 50;
const ANSWERS = ["fresh", "continue", "stop"] as const;
type Answer = (typeof ANSWERS)[number];

interface AfterAttach {
	readonly id: string;
	/** The attached run; null if unknown. */
	readonly runId: string | null;
	readonly client: Client;
	readonly output: Output;
	/** Whether the user at this terminal may be asked. */
	readonly mayAsk: boolean;
}

/** Prints why an agent cannot be attached to. True if an answer given here started it. */
async function reportRefused(after: AfterAttach): Promise<boolean> {
	const place = { place: after.id };
	const agent = await after.client.call("GET /api/v1/agents/:id", place).catch(() => null);
	// Only sessions can be attached to later.
	if (agent === null || agent.kind !== "session" || agent.pid !== null) return false;
	return reportState(agent, after);
}

/** Prints what follows the exit. True if an answer given here started the agent again. */
async function reportAfterExit(after: AfterAttach): Promise<boolean> {
	const agent = await recordedState(after);
	return agent !== null && reportState(agent, after);
}

async function reportState(
	agent: AgentJson,
	{ id, output, client, mayAsk }: AfterAttach,
): Promise<boolean> {
	const reason = plainLine(reasonBesideState(agent));
	if (!agent.waiting) {
		output.note(`${id}: ${renderState(agent, Date.now())}: ${reason}`);
		const hint = hintOf(agent);
		if (hint !== null) output.note(`hint: ${hint}`);
		return false;
	}
	output.note(`${id}: ${reason}`);
	const answer = mayAsk ? await askOperator() : null;
	if (answer === null) {
		output.note(`hint: decide what happens next with \`reeve answer ${id} ${ANSWERS.join("|")}\``);
		return false;
	}
	const place = { place: id, body: { answer } };
	const { outcome } = await client.call("POST /api/v1/agents/:id/answer", place);
	output.note(`${id}: ${START_WORDS[outcome]}`);
	return outcome === "started";
}

/** The agent once its exit is recorded; its current state if that takes too long, null if it cannot be read. */
async function recordedState({ client, id, runId }: AfterAttach): Promise<AgentJson | null> {
	const untilMs = performance.now() + RECORDED_MS_MAX;
	for (;;) {
		const agent = await client.call("GET /api/v1/agents/:id", { place: id }).catch(() => null);
		// The run id is removed with its record, and another run may have started by now. The terminal may
		// close before the daemon notices the exit.
		const isOld = runId === null ? agent?.pid === null : agent?.run_id === runId;
		if (agent === null || agent.run_id === null || !isOld) return agent;
		if (performance.now() > untilMs) return agent;
		await sleep(POLL_MS);
	}
}

function hintOf({ id, policy, desired, process }: AgentJson): string | null {
	if (policy === "halted") return `run \`reeve resume ${id}\` to start it again`;
	if (desired === "down") return `run \`reeve up ${id}\` to start it`;
	return process === "stopped" || process === "running"
		? `run \`reeve attach ${id}\` to attach again once it is running`
		: null;
}

/** Null if the user leaves the question open with Enter, Ctrl-C or Ctrl-D. */
function askOperator(): Promise<Answer | null> {
	const question =
		"Start a fresh conversation, continue, or stop? [fresh/continue/stop, Enter to decide later] ";
	return askLine(question, (line) =>
		line === "" ? null : ANSWERS.find((answer) => answer.startsWith(line)),
	);
}

/**
 * Asks until `parse` understands the answer. It gets an empty line for Enter; null is for a user who leaves with
 * Ctrl-C or Ctrl-D.
 */
async function askLine<T>(
	question: string,
	parse: (line: string) => T | null | undefined,
): Promise<T | null> {
	const lines = createInterface({ input: process.stdin, output: process.stderr });
	const closed = new Promise<null>((resolve) => lines.once("close", () => resolve(null)));
	lines.once("SIGINT", () => lines.close());
	try {
		for (;;) {
			const line = await Promise.race([lines.question(question).catch(() => null), closed]);
			if (line === null) return null;
			const answer = parse(line.trim().toLowerCase());
			if (answer !== undefined) return answer;
		}
	} finally {
		lines.close();
	}
}
