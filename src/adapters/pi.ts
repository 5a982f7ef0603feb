/** pi, the coding agent. Measured with 0.73. It creates a named session file that does not exist. */

import { type EventRule, PLAIN_PROFILE } from "../core/adapter.js";
import { SERVICE_TEXTS } from "../core/service-errors.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord } from "../ports/adapter.js";

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
	{ ...END, where: { path: "isEmpty", match: "^true$" }, cause: "unknown", detail: "empty" },
	{ ...END, turn: "ok", answer: "answer" },
];

const SESSION = "<folder>/pi-<conversation>.jsonl";

export const pi: AgentAdapter = {
	name: "pi",
	profile: {
		...PLAIN_PROFILE,
		command: ["pi"],
		args: ["--extension", "<folder>/reeve-extension.js"],
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
	programs: [
		{ name: "reeve-extension.js", source: new URL("./pi/reeve-extension.js", import.meta.url) },
	],
	usage: { read: readUsage },
};

function readUsage(line: JsonRecord): UsageReading | null {
	const { role, usage } = Object(line["message"]) as JsonRecord;
	const { id } = line;
	if (role !== "assistant" || !usage || typeof id !== "string") return null;
	const reported = Object(usage) as JsonRecord;
	const { total } = Object(reported["cost"]) as JsonRecord;
	return {
		key: id,
		isTotal: false,
		costUsd: total === undefined ? null : numberOf(total),
		input: numberOf(reported["input"]),
		output: numberOf(reported["output"]),
		cacheRead: numberOf(reported["cacheRead"]),
		cacheWrite: numberOf(reported["cacheWrite"]),
	};
}
