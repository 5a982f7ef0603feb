/**
 * An extension for pi that writes its events into the agent's spool. Of frequent events only the last is
 * kept. It is copied into the agent's folder and runs inside pi, so it imports nothing of Reeve.
 */

import { renameSync, utimesSync, writeFileSync } from "node:fs";

/**
 * The part of pi's API that this extension uses.
 *
 * @typedef {{
 *   role: string,
 *   stopReason?: string,
 *   errorMessage?: string,
 *   content?: readonly { type?: string, text?: string }[],
 *   usage?: { output?: number },
 *   api?: string,
 * }} Message
 * @typedef {{ text?: string, toolCallId?: string, messages?: readonly Message[] }} PiEvent
 * @typedef {{ on(event: string, listener: (event: PiEvent) => void): void }} Pi
 */

const EMPTY = "The service returned an empty response: no text, no tool call, no tokens.";
const ANSWER_LENGTH_MAX = 2_000;
/** After this time pi's screen shows whether it retries a failed turn. */
const RETRY_SHOWN_MS = 700;
const RETRY_MS = 1_000;
const UNWRITTEN_MAX = 300;

let count = 0;
let atMs = 0;

/** @type {Map<string, { text: string, seconds: number }>} */
const unwritten = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry;

/**
 * @param {string} event
 * @param {object} data
 * @param {"each" | "last"} keep
 */
function report(event, data, keep = "last") {
	const spool = process.env["REEVE_SPOOL"];
	if (!spool) return;
	const name = `${spool}/${event}.${keep === "last" ? "last" : `${process.pid}-${++count}`}`;
	// Keeps the order, even if file times are too coarse.
	atMs = Math.max(Date.now(), atMs + 1);
	unwritten.delete(name);
	unwritten.set(name, { text: JSON.stringify(data), seconds: atMs / 1000 });
	const [oldest] = unwritten.keys();
	if (unwritten.size > UNWRITTEN_MAX && oldest !== undefined) unwritten.delete(oldest);
	writeReports();
}

/** Reports that cannot be written (a full disk) are written later, with the time of their event. */
function writeReports() {
	clearTimeout(retry);
	try {
		for (const [name, { text, seconds }] of unwritten) {
			writeFileSync(`${name}.tmp`, text, { mode: 0o600 });
			utimesSync(`${name}.tmp`, seconds, seconds);
			renameSync(`${name}.tmp`, `${name}.json`);
			unwritten.delete(name);
		}
	} catch {
		retry = setTimeout(writeReports, RETRY_MS);
		retry.unref();
	}
}

/** @param {Pi} pi */
export default function reeve(pi) {
	/** @type {Set<string | undefined>} */
	const tools = new Set();
	/** @type {ReturnType<typeof setTimeout> | undefined} */
	let failing;

	pi.on("session_start", () => report("session_start", {}));
	pi.on("input", ({ text }) => report("input", { text }, "each"));
	pi.on("agent_start", () => {
		clearTimeout(failing);
		report("agent_start", {});
	});
	pi.on("agent_end", ({ messages }) => {
		/** @type {Partial<Message>} */
		const last = messages?.findLast(({ role }) => role === "assistant") ?? {};
		const { stopReason, errorMessage, content, usage, api } = last;
		const isEmpty = stopReason === "stop" && !content?.length && !usage?.output;
		const isRefused = api === "anthropic-messages" && errorMessage === "An unknown error occurred";
		tools.clear();
		const texts = (content ?? []).flatMap(({ type, text }) =>
			type === "text" ? (text ?? []) : [],
		);
		const answer = texts.join("\n").slice(0, ANSWER_LENGTH_MAX);
		const end = { stopReason, errorMessage, isEmpty, isRefused, empty: EMPTY, answer };
		if (stopReason === "error") {
			// Each one: they show how often turns have failed in a row, and that a retry succeeded after a limit.
			failing = setTimeout(() => report("agent_end", end, "each"), RETRY_SHOWN_MS);
		} else report("agent_end", end);
	});
	pi.on("tool_execution_start", ({ toolCallId }) => {
		tools.add(toolCallId);
		report("tool", { running: tools.size });
	});
	pi.on("tool_execution_end", ({ toolCallId }) => {
		tools.delete(toolCallId);
		report("tool", { running: tools.size });
	});
}
