/**
 * One agent that speaks the Agent Client Protocol over its stdin and stdout. It can run several
 * conversations at once, with one turn each.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import {
	type ClientConnection,
	client,
	type InitializeResponse,
	methods,
	type NewSessionRequest,
	ndJsonStream,
	PROTOCOL_VERSION,
	type StopReason,
} from "@agentclientprotocol/sdk";
import { BadRequest, RetryLater } from "../agent/errors.js";
import type { Operator } from "./operator.js";

export interface TurnResult {
	readonly text: string;
	readonly conversation: string;
	readonly stop_reason: StopReason;
	/** The tools that it used, with its own titles. */
	readonly tools: readonly string[];
}

interface Turn {
	text: string;
	readonly tools: string[];
	readonly cancelled: AbortController;
}

const BUSY_AGAIN_MS = 1_000;

export class AcpAgent {
	readonly #connection: ClientConnection;
	readonly #ready: Promise<InitializeResponse>;
	readonly #turns = new Map<string, Turn>();
	/** Conversations that this process has open. */
	readonly #held = new Set<string>();
	readonly child: ChildProcess;

	constructor(argv: readonly [string, ...string[]], version: string, operator: Operator) {
		const [program, ...args] = argv;
		const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
		this.child = child;
		const app = client({ name: "reeve" })
			.onRequest(methods.client.session.requestPermission, ({ params }) => {
				const turn = this.#turns.get(params.sessionId);
				if (turn === undefined) return { outcome: { outcome: "cancelled" } };
				return operator.decide(params, turn.cancelled.signal);
			})
			.onNotification(methods.client.session.update, ({ params: { sessionId, update } }) => {
				// Updates between turns repeat earlier content.
				const turn = this.#turns.get(sessionId);
				if (turn === undefined) return;
				if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
					turn.text += update.content.text;
				}
				if (update.sessionUpdate === "tool_call") turn.tools.push(update.title);
			});
		this.#connection = app.connect(
			ndJsonStream(
				Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
				Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
			),
		);
		this.#ready = this.#connection.agent.request(methods.agent.initialize, {
			protocolVersion: PROTOCOL_VERSION,
			clientInfo: { name: "reeve", version },
			// It uses its own tools for files and commands, to which Reeve's limits apply.
			clientCapabilities: {},
		});
		// Reported to the first caller.
		this.#ready.catch(() => {});
	}

	async ask(prompt: string, conversation: string | null): Promise<TurnResult> {
		const sessionId = await this.#open(conversation);
		if (this.#turns.has(sessionId)) {
			throw new RetryLater("a turn of this conversation is in progress", BUSY_AGAIN_MS);
		}
		const turn: Turn = { text: "", tools: [], cancelled: new AbortController() };
		this.#turns.set(sessionId, turn);
		try {
			const { stopReason } = await this.#connection.agent.request(methods.agent.session.prompt, {
				sessionId,
				prompt: [{ type: "text", text: prompt }],
			});
			return outcomeOf(stopReason, { ...turn, conversation: sessionId });
		} catch (error) {
			throw explain(error);
		} finally {
			this.#turns.delete(sessionId);
		}
	}

	/** Cancels the turn of one conversation, or of all; returns their ids. */
	async cancel(conversation: string | null): Promise<string[]> {
		const ids = [...this.#turns.keys()].filter(
			(id) => conversation === null || id === conversation,
		);
		for (const sessionId of ids) {
			this.#turns.get(sessionId)?.cancelled.abort();
			await this.#connection.agent.notify(methods.agent.session.cancel, { sessionId });
		}
		return ids;
	}

	/** Closes its input; well-behaved agents then exit. */
	close(): void {
		this.child.stdin?.end();
	}

	async #open(conversation: string | null): Promise<string> {
		const { agentCapabilities } = await this.#ready.catch((error: unknown) => {
			throw explain(error);
		});
		const place: NewSessionRequest = { cwd: process.cwd(), mcpServers: [] };
		const { agent } = this.#connection;
		try {
			if (conversation === null) {
				const { sessionId } = await agent.request(methods.agent.session.new, place);
				this.#held.add(sessionId);
				return sessionId;
			}
			if (this.#held.has(conversation)) return conversation;
			const asked = { ...place, sessionId: conversation };
			if (agentCapabilities?.sessionCapabilities?.resume) {
				await agent.request(methods.agent.session.resume, asked);
			} else if (agentCapabilities?.loadSession) {
				await agent.request(methods.agent.session.load, asked);
			} else throw new BadRequest("this agent cannot resume an earlier conversation");
		} catch (error) {
			if (conversation === null || error instanceof BadRequest) throw explain(error);
			throw new BadRequest(`cannot resume conversation ${conversation}: ${explain(error).message}`);
		}
		this.#held.add(conversation);
		return conversation;
	}
}

function outcomeOf(
	stop_reason: StopReason,
	{ text, tools, conversation }: Pick<Turn, "text" | "tools"> & { conversation: string },
): TurnResult {
	if (stop_reason === "refusal") {
		throw new BadRequest(text === "" ? "the model refused" : `the model refused: ${text}`);
	}
	if (stop_reason === "cancelled") throw new BadRequest("the turn was cancelled");
	return { text, conversation, stop_reason, tools };
}

/** Protocol errors often have their text in `data` instead of the message. */
function explain(error: unknown): Error {
	if (error instanceof BadRequest || error instanceof RetryLater) return error;
	const { message = String(error), data } = Object(error) as { message?: string; data?: unknown };
	const more = data === undefined ? "" : ` (${JSON.stringify(data).slice(0, 300)})`;
	return new Error(`${message}${more}`);
}
