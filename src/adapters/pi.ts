/** pi, the coding agent. Measured with 0.73. A session file that is named and not there is begun. */

import { PLAIN_PROFILE, SERVICE_TEXTS } from "../core/adapter.js";
import { failureOf } from "../core/exit-cause.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord } from "../ports/adapter.js";

/** An extension that passes on what it is told. */
const EXTENSION = `import { renameSync, writeFileSync } from "node:fs";
let count = 0;
function tell(event: string, data: unknown) {
	const spool = process.env.REEVE_SPOOL;
	if (!spool) return;
	try {
		const name = spool + "/" + event + "." + process.pid + "-" + ++count;
		writeFileSync(name + ".tmp", JSON.stringify(data), { mode: 0o600 });
		renameSync(name + ".tmp", name + ".json");
	} catch {}
}
export default function (pi: any) {
	pi.on("session_start", () => tell("session_start", {}));
	pi.on("input", (event: any) => tell("input", { text: event.text }));
	pi.on("agent_start", () => tell("agent_start", {}));
	pi.on("agent_end", () => tell("agent_end", {}));
	pi.on("turn_end", (event: any) => {
		const { stopReason, errorMessage } = event.message ?? {};
		tell("turn_end", { stopReason, errorMessage });
	});
}
`;

const SESSION = "<folder>/pi-<conversation>.jsonl";

export const pi: AgentAdapter = {
	name: "pi",
	profile: {
		...PLAIN_PROFILE,
		command: ["pi"],
		args: ["--extension", "<folder>/reeve-extension.ts"],
		confirmsPrompts: true,
		screen: {
			ready: ["\\(auto\\)"],
			busy: ["Working\\.\\.\\.", "Retrying \\("],
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
	readRecord(event, data, { resetAtMs }) {
		switch (event) {
			case "session_start":
				return { activity: "ready" };
			case "input":
				return { activity: "busy", prompt: String(data["text"] ?? "") };
			case "agent_start":
				return { activity: "busy" };
			case "agent_end":
				return { activity: "ready" };
			case "turn_end":
				if (data["stopReason"] === "error") {
					return failureOf(String(data["errorMessage"] ?? ""), resetAtMs);
				}
				return { failure: null };
			default:
				return null;
		}
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
