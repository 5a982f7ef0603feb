/** opencode. Measured with 1.18. */

import { PLAIN_PROFILE, SERVICE_TEXTS } from "../core/adapter.js";
import { failureOf } from "../core/exit-cause.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord } from "../ports/adapter.js";

/** A plugin that passes on what it is told. Its own record is a database, so usage has a file of its own. */
const PLUGIN = `import { appendFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
const TOLD = ["session.created", "session.status", "session.idle", "session.error", "permission.asked", "permission.replied", "message.updated"];
let count = 0;
const used = process.env.REEVE_SPOOL + "/../opencode-usage.jsonl";
try {
	if (statSync(used).size > 1000000) rmSync(used);
} catch {}
function tellUsage({ id, tokens, cost, time }) {
	try {
		appendFileSync(used, JSON.stringify({ id, tokens, cost, timestamp: new Date(time.completed) }) + "\\n", { mode: 0o600 });
	} catch {}
}
export const Reeve = async () => ({
	event: async ({ event }) => {
		const spool = process.env.REEVE_SPOOL;
		if (!spool || !TOLD.includes(event.type)) return;
		const { info } = event.properties ?? {};
		if (event.type === "message.updated" && info?.role === "assistant" && info.time?.completed) tellUsage(info);
		if (event.type === "message.updated" && info?.role !== "user") return;
		try {
			const name = spool + "/" + event.type + "." + process.pid + "-" + ++count;
			writeFileSync(name + ".tmp", JSON.stringify(event.properties ?? {}), { mode: 0o600 });
			renameSync(name + ".tmp", name + ".json");
		} catch {}
	},
});
`;
const CONFIG = { plugin: ["file://<folder>/reeve-plugin.js"] };

export const opencode: AgentAdapter = {
	name: "opencode",
	profile: {
		...PLAIN_PROFILE,
		command: ["opencode"],
		env: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_CONFIG_CONTENT: JSON.stringify(CONFIG) },
		files: [{ name: "reeve-plugin.js", text: PLUGIN }],
		exits: {
			codes: [],
			zeroLies: false,
			texts: [
				{
					match: "ConfigInvalidError|ConfigJsonError|unknown argument|is not valid JSON",
					cause: "config",
					fix: "Correct the agent's `args` or opencode.json.",
				},
				...SERVICE_TEXTS,
			],
		},
		tellsTurnEnds: true,
		screen: {
			ready: ["Ask anything", "ctrl\\+p commands"],
			busy: ["esc (again to )?interrupt", "retrying in"],
			waitingInput: ["Permission required", "Allow once\\s+Allow always"],
			rateLimited: [],
			dialogs: [],
		},
		// One Esc only arms it.
		drain: ["turn", "esc", "esc", "sigterm"],
		// It leaves 19 MB in there at every start.
		ownTmpdir: true,
		conversation: {
			id: "told",
			fresh: [],
			resume: ["-s", "<conversation>"],
			gone: ["[Ss]ession not found", "NotFound"],
			transcript: [],
		},
	},
	readRecord(event, data, { resetAtMs }) {
		const id = data["sessionID"];
		const about = typeof id === "string" ? { conversation: id } : {};
		switch (event) {
			case "session.status":
				return { ...about, ...statusOf(data["status"]) };
			case "session.idle":
				return { ...about, activity: "ready", failure: null };
			case "session.error":
				return { ...about, activity: "ready", ...failureOf(JSON.stringify(data), resetAtMs) };
			case "permission.asked":
				return { ...about, activity: "waiting_input" };
			case "permission.replied":
				return { ...about, activity: "busy" };
			default:
				return null;
		}
	},
	usage: { files: ["<folder>/opencode-usage.jsonl"], read: readUsage },
};

function readUsage({ id, tokens, cost }: JsonRecord): UsageReading | null {
	if (typeof id !== "string" || !tokens) return null;
	const told = Object(tokens) as JsonRecord;
	const cache = Object(told["cache"]) as JsonRecord;
	return {
		...{ key: id, isTotal: false, costUsd: cost === undefined ? null : numberOf(cost) },
		input: numberOf(told["input"]),
		output: numberOf(told["output"]) + numberOf(told["reasoning"]),
		cacheRead: numberOf(cache["read"]),
		cacheWrite: numberOf(cache["write"]),
	};
}

function statusOf(status: unknown) {
	const { type, message } = (status ?? {}) as { type?: string; message?: string };
	if (type === "retry") return { activity: "busy", detail: `retries: ${message}` } as const;
	return { activity: type === "busy" ? "busy" : "ready" } as const;
}
