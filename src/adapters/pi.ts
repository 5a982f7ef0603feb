/** pi, the coding agent. Measured with 0.73. A session file that is named and not there is begun. */

import { type EventRule, PLAIN_PROFILE, SERVICE_TEXTS } from "../core/adapter.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord } from "../ports/adapter.js";

/** An extension that passes on what it is told. Of what comes often only the last is kept. */
const EXTENSION = `import { renameSync, utimesSync, writeFileSync } from "node:fs";
let count = 0;
let atMs = 0;
const tools = new Set();
function tell(event: string, data: object, keep = "last") {
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
	pi.on("session_start", () => tell("session_start", {}));
	pi.on("input", (event: any) => tell("input", { text: event.text }, "each"));
	pi.on("agent_start", () => tell("agent_start", {}));
	pi.on("agent_end", (event: any) => {
		const { stopReason, errorMessage } = event.messages?.findLast((each: any) => each.role === "assistant") ?? {};
		tools.clear();
		tell("agent_end", { stopReason, errorMessage });
	});
	pi.on("tool_execution_start", (event: any) => {
		tools.add(event.toolCallId);
		tell("tool", { running: tools.size });
	});
	pi.on("tool_execution_end", (event: any) => {
		tools.delete(event.toolCallId);
		tell("tool", { running: tools.size });
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
	// All that it says of a connection that broke off.
	{
		...{ ...END, where: { path: "errorMessage", match: "^terminated$" } },
		...{ cause: "overloaded", detail: "errorMessage" },
	},
	{ ...END, where: stopped("error"), turn: "failed", detail: "errorMessage" },
	{ ...END, where: stopped("aborted") },
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
			waitingInput: [],
			rateLimited: [],
			dialogs: [],
		},
		drain: ["turn", "esc", "sigterm"],
		ownTmpdir: true,
		files: [{ name: "reeve-extension.ts", text: EXTENSION }],
		// In its JSON mode it exits with 0 whatever happened.
		exits: { codes: [], zeroLies: true, texts: SERVICE_TEXTS },
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
		...{ key: id, isTotal: false, costUsd: total === undefined ? null : numberOf(total) },
		input: numberOf(told["input"]),
		output: numberOf(told["output"]),
		cacheRead: numberOf(told["cacheRead"]),
		cacheWrite: numberOf(told["cacheWrite"]),
	};
}
