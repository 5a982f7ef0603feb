/**
 * A plugin for opencode that writes its events into the agent's spool. Of frequent events only the last
 * is kept. The work of subagents in their own conversations belongs to the tool that started them.
 * opencode's own record is a database, so usage has its own file.
 *
 * It is copied into the agent's folder and runs inside opencode, so it imports nothing of Reeve.
 */

import { appendFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";

/**
 * The parts of opencode's API that this plugin uses.
 *
 * @typedef {{
 *   id: string,
 *   role?: string,
 *   parentID?: string,
 *   finish?: string,
 *   summary?: unknown,
 *   error?: unknown,
 *   tokens?: { output?: number, reasoning?: number },
 *   cost?: number,
 *   time?: { completed?: number },
 * }} Info
 * @typedef {{ id?: string, type: string, text?: string, messageID: string, synthetic?: boolean }} Part
 * @typedef {{
 *   sessionID: string,
 *   info: Info,
 *   part: Part,
 *   messageID: string,
 *   status: { type: string },
 *   error?: { name?: string },
 *   id?: string,
 *   permission?: string,
 *   patterns?: readonly string[],
 * }} Properties
 * @typedef {{ event: { type: string, properties?: Properties } }} Event
 * @typedef {{ sessionID: string, callID: string }} ToolCall
 *
 * A prompt that opencode has not saved completely yet.
 * @typedef {{ sessionID: string | null, text: string, unsaved: Set<string> }} Prompt
 */

const USAGE_BYTES_MAX = 1_000_000;
const ANSWER_LENGTH_MAX = 2_000;
const RETRY_MS = 1_000;
const UNWRITTEN_MAX = 300;

// Only for the install before plugins are loaded: tools that the agent runs have npm's own default.
if (process.env["npm_config_fetch_retries"] === "0") {
	Reflect.deleteProperty(process.env, "npm_config_fetch_retries");
}
if (process.env["npm_config_fetch_timeout"] === "10000") {
	Reflect.deleteProperty(process.env, "npm_config_fetch_timeout");
}

const spool = process.env["REEVE_SPOOL"];
const usageFile = `${spool}/../opencode-usage.jsonl`;
try {
	if (statSync(usageFile).size > USAGE_BYTES_MAX) rmSync(usageFile);
} catch {
	// There is none yet.
}

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
	if (!spool) return;
	const name = `${spool}/${event}.${keep === "last" ? "last" : `${process.pid}-${++count}`}`;
	// Keeps the order, even if file times are too coarse.
	atMs = Math.max(Date.now(), atMs + 1);
	unwritten.delete(name);
	unwritten.set(name, { text: JSON.stringify({ ...data, at: atMs }), seconds: atMs / 1000 });
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

/** @param {Info} info */
function reportUsage({ id, tokens, cost, time }) {
	try {
		const timestamp = new Date(time?.completed ?? Date.now());
		const line = JSON.stringify({ id, tokens, cost, timestamp });
		appendFileSync(usageFile, `${line}\n`, { mode: 0o600 });
	} catch {
		// A lost report must not disturb opencode.
	}
}

/** Conversations of subagents. @type {Set<string>} */
const subagents = new Set();
/** Messages with content. @type {Set<string>} */
const contents = new Set();
/** @type {Map<string, Prompt>} */
const prompts = new Map();
/** Running tools. @type {Set<string>} */
const tools = new Set();
/** Failures in a row within one turn. */
let attempts = { count: 0, since: 0 };
/** @type {{ error: unknown, finished: boolean, empty?: boolean, answeredBy?: string, answer?: string }} */
let turn = { error: null, finished: false };
/** The last empty answer. @type {string | null} */
let lastEmpty = null;

/**
 * @param {string} sessionID
 * @param {object} data
 */
function failed(sessionID, data) {
	attempts.count++;
	attempts.since = attempts.since || Date.now();
	return { sessionID, ...data, attempts: { ...attempts } };
}

/**
 * Reports a prompt once it is saved: a killed opencode loses a prompt whose message is saved and whose
 * text, which is saved after it, is not.
 *
 * @param {string} id
 * @param {Prompt} prompt
 */
function confirm(id, { sessionID, text, unsaved }) {
	if (sessionID === null || unsaved.size > 0) return;
	prompts.delete(id);
	turn = { error: null, finished: false };
	attempts = { count: 0, since: 0 };
	contents.clear();
	report("prompt", { sessionID, text }, "each");
}

/**
 * opencode repeats the request when the service returns an empty response: no text, tools or tokens.
 *
 * @param {string} sessionID
 * @param {Info} info
 */
function answered(sessionID, { id, error, finish, tokens = {} }) {
	if (finish && contents.has(id)) {
		// Earlier failures are resolved: by another attempt, or by a shorter conversation.
		turn.error = null;
		attempts = { count: 0, since: 0 };
	}
	const isEmpty = !contents.has(id) && !tokens.output && !tokens.reasoning && !error && !turn.error;
	if (!isEmpty) return;
	if (lastEmpty !== id) report("attempt", failed(sessionID, { empty: true }));
	lastEmpty = id;
	turn.finished = false;
	turn.empty = true;
}

/** @type {Readonly<Record<string, (properties: Properties) => void>>} */
const LISTENERS = {
	"session.created": ({ info }) => {
		if (info.parentID) subagents.add(info.id);
	},
	"message.updated": ({ sessionID, info }) => {
		if (info.role === "assistant") {
			if (turn.answeredBy !== info.id) turn = { ...turn, answeredBy: info.id, answer: "" };
			if (info.finish) turn.finished = true;
			if (info.time?.completed && !info.summary) answered(sessionID, info);
			return;
		}
		const prompt = prompts.get(info.id);
		if (prompt === undefined) return;
		prompt.sessionID = sessionID;
		confirm(info.id, prompt);
	},
	"session.status": ({ sessionID, status }) => {
		if (status.type === "retry") report("status", failed(sessionID, { status }));
		else if (status.type !== "idle") report("status", { sessionID, status });
	},
	"message.part.updated": ({ part }) => {
		if (part.type === "tool" || part.text) contents.add(part.messageID);
		if (part.type === "text" && part.messageID === turn.answeredBy && part.text) {
			turn.answer = part.text.slice(0, ANSWER_LENGTH_MAX);
		}
		const prompt = prompts.get(part.messageID);
		if (prompt === undefined) return;
		if (part.id !== undefined) prompt.unsaved.delete(part.id);
		confirm(part.messageID, prompt);
	},
	"message.part.delta": ({ messageID }) => {
		contents.add(messageID);
	},
	"session.error": ({ error, sessionID }) => {
		turn.error = error;
		if (error?.name !== "MessageAbortedError") report("attempt", failed(sessionID, { error }));
	},
	"session.idle": ({ sessionID }) => {
		tools.clear();
		// Each failure: they show how often turns have failed in a row.
		report("idle", { sessionID, ...turn }, turn.error ? "each" : "last");
	},
	"permission.asked": ({ sessionID, id, permission, patterns }) =>
		report("permission.asked", { sessionID, id, permission, patterns }),
	"permission.replied": ({ sessionID }) => report("permission.replied", { sessionID }),
};

const HOOKS = {
	/** @param {Event} input */
	event: async ({ event: { type, properties } }) => {
		if (properties === undefined) return;
		const { info, sessionID } = properties;
		if (type === "message.updated" && info?.role === "assistant" && info.time?.completed) {
			reportUsage(info);
		}
		const isAside = subagents.has(sessionID) && !type.startsWith("permission");
		if (!isAside && Object.hasOwn(LISTENERS, type)) LISTENERS[type]?.(properties);
	},
	/**
	 * @param {{ sessionID: string }} input
	 * @param {{ message: { id: string }, parts: readonly Part[] }} output
	 */
	"chat.message": async ({ sessionID }, { message, parts }) => {
		if (subagents.has(sessionID)) return;
		const typed = parts.filter(({ type, synthetic }) => type === "text" && !synthetic);
		const text = typed.map((part) => part.text).join("\n");
		const unsaved = new Set(typed.flatMap(({ id }) => id ?? []));
		prompts.set(message.id, { sessionID: null, text, unsaved });
	},
	/** @param {ToolCall} call */
	"tool.execute.before": async ({ callID, sessionID }) => {
		tools.add(callID);
		if (!subagents.has(sessionID)) report("tool", { sessionID, running: tools.size });
	},
	/** @param {ToolCall} call */
	"tool.execute.after": async ({ callID, sessionID }) => {
		tools.delete(callID);
		if (!subagents.has(sessionID)) report("tool", { sessionID, running: tools.size });
	},
};

export const Reeve = async () => (spool === undefined ? {} : HOOKS);
