/** pi, the coding agent. Measured with 0.73. It creates a named session file that does not exist. */

import { type EventRule, PLAIN_PROFILE } from "../core/adapter.js";
import { SERVICE_TEXTS } from "../core/turn-failure.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord } from "../ports/adapter.js";

/** An extension that forwards events. Of frequent events only the last is kept. */
const EXTENSION = `import { renameSync, utimesSync, writeFileSync } from "node:fs";
let count = 0;
let atMs = 0;
const tools = new Set();
const EMPTY = "The service returned an empty response: no text, no tool call, no tokens.";
function report(event: string, data: object, keep = "last") {
	const spool = process.env.REEVE_SPOOL;
	if (!spool) return;
	try {
		const name = spool + "/" + event + "." + (keep === "last" ? "last" : process.pid + "-" + ++count);
		// In order, also where the clock of the files is too coarse to tell.
		atMs = Math.max(Date.now(), atMs + 1);
		writeFileSync(name + ".tmp", JSON.stringify(data), { mode: 0o600 });
		utimesSync(name + ".tmp", atMs / 1000, atMs / 1000);
		renameSync(name + ".tmp", name + ".json");
	} catch {}
}
export default function (pi: any) {
	pi.on("session_start", () => report("session_start", {}));
	pi.on("input", (event: any) => report("input", { text: event.text }, "each"));
	let failing: any;
	pi.on("agent_start", () => {
		clearTimeout(failing);
		report("agent_start", {});
	});
	pi.on("agent_end", (event: any) => {
		const last = event.messages?.findLast((each: any) => each.role === "assistant") ?? {};
		const { stopReason, errorMessage, content, usage, api } = last;
		const isEmpty = stopReason === "stop" && !content?.length && !usage?.output;
		const isRefused = api === "anthropic-messages" && errorMessage === "An unknown error occurred";
		tools.clear();
		const end = { stopReason, errorMessage, isEmpty, isRefused, answer: EMPTY };
		// By then its screen shows whether it tries again by itself.
		if (stopReason === "error") failing = setTimeout(() => report("agent_end", end), 700);
		else report("agent_end", end);
	});
	pi.on("tool_execution_start", (event: any) => {
		tools.add(event.toolCallId);
		report("tool", { running: tools.size });
	});
	pi.on("tool_execution_end", (event: any) => {
		tools.delete(event.toolCallId);
		report("tool", { running: tools.size });
	});
}
`;

const stopped = (reason: string) => ({ path: "stopReason", match: `^${reason}$` });
const END = { event: "agent_end", activity: "ready", inTool: false } as const;

const EVENTS: readonly EventRule[] = [
	{ event: "session_start", activity: "ready" },
	{ event: "input", activity: "busy", prompt: "text" },
	{ event: "agent_start", activity: "busy" },
	{ event: "tool", where: { path: "running", match: "^0$" }, activity: "busy", inTool: false },
	{ event: "tool", activity: "busy", inTool: true },
	// Its text for a lost connection.
	{
		...END,
		where: { path: "errorMessage", match: "^terminated$" },
		cause: "overloaded",
		detail: "errorMessage",
	},
	// This API has two causes that pi reports with this text: a refusal and flagged content.
	{
		...END,
		where: { path: "isRefused", match: "^true$" },
		cause: "refused",
		detail: "errorMessage",
	},
	{ ...END, where: stopped("error"), turn: "failed", detail: "errorMessage" },
	{ ...END, where: stopped("aborted") },
	// It treats an empty response as the end of a turn.
	{ ...END, where: { path: "isEmpty", match: "^true$" }, cause: "unknown", detail: "answer" },
	{ ...END, turn: "ok" },
];

const SESSION = "<folder>/pi-<conversation>.jsonl";

export const pi: AgentAdapter = {
	name: "pi",
	profile: {
		...PLAIN_PROFILE,
		command: ["pi"],
		args: ["--extension", "<folder>/reeve-extension.ts"],
		eventRules: EVENTS,
		confirmsPrompts: true,
		screen: {
			ready: ["%/\\S+ \\(auto\\)"],
			busy: ["^\\s*[\u2800-\u28ff] (Working\\.\\.\\.|Retrying \\()"],
			retrying: ["^\\s*[\u2800-\u28ff] Retrying \\("],
			waitingInput: [],
			rateLimited: [],
			dialogs: [],
		},
		drain: ["turn", "esc", "sigterm"],
		ownTmpdir: true,
		files: [{ name: "reeve-extension.ts", text: EXTENSION }],
		// In its JSON mode it always exits with 0.
		exits: { codes: [], texts: SERVICE_TEXTS },
		conversation: {
			id: "chosen",
			fresh: ["--session", SESSION],
			resume: ["--session", SESSION],
			gone: ["[Nn]o session found"],
			transcript: [SESSION],
		},
	},
	usage: { read: readUsage },
};

function readUsage(line: JsonRecord): UsageReading | null {
	const { role, usage } = Object(line["message"]) as JsonRecord;
	const { id } = line;
	if (role !== "assistant" || !usage || typeof id !== "string") return null;
	const told = Object(usage) as JsonRecord;
	const { total } = Object(told["cost"]) as JsonRecord;
	return {
		key: id,
		isTotal: false,
		costUsd: total === undefined ? null : numberOf(total),
		input: numberOf(told["input"]),
		output: numberOf(told["output"]),
		cacheRead: numberOf(told["cacheRead"]),
		cacheWrite: numberOf(told["cacheWrite"]),
	};
}
