/**
 * A plugin of opencode's that passes on what it is told. Of what comes often only the last is kept. What
 * subagents do in conversations of their own is work of the tool that started them. Its own record is a
 * database, so usage has a file of its own.
 */
export const PLUGIN = `import { appendFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
let count = 0;
let atMs = 0;
const spool = process.env.REEVE_SPOOL;
const used = spool + "/../opencode-usage.jsonl";
try {
	if (statSync(used).size > 1000000) rmSync(used);
} catch {}
function tell(event, data, keep = "last") {
	try {
		const name = spool + "/" + event + "." + (keep === "last" ? "last" : process.pid + "-" + ++count);
		// In order, also where the clock of the files is too coarse to tell.
		atMs = Math.max(Date.now(), atMs + 1);
		writeFileSync(name + ".tmp", JSON.stringify({ ...data, at: atMs }), { mode: 0o600 });
		utimesSync(name + ".tmp", atMs / 1000, atMs / 1000);
		renameSync(name + ".tmp", name + ".json");
	} catch {}
}
function tellUsage({ id, tokens, cost, time }) {
	try {
		appendFileSync(used, JSON.stringify({ id, tokens, cost, timestamp: new Date(time.completed) }) + "\\n", { mode: 0o600 });
	} catch {}
}
const subagents = new Set();
const prompts = new Map();
const tools = new Set();
let turn = { error: null, finished: false };
const PASSED_ON = {
	"session.created": ({ info }) => {
		if (info.parentID) subagents.add(info.id);
	},
	"message.updated": ({ sessionID, info }) => {
		if (info.role === "assistant") {
			if (info.finish) turn.finished = true;
			return;
		}
		// Now it is written down: before, it could still be lost.
		const text = prompts.get(info.id);
		if (text === undefined) return;
		prompts.delete(info.id);
		turn = { error: null, finished: false };
		tell("prompt", { sessionID, text }, "each");
	},
	"session.status": ({ sessionID, status }) => {
		if (status.type !== "idle") tell("status", { sessionID, status });
	},
	"session.error": ({ error }) => {
		turn.error = error;
	},
	"session.idle": ({ sessionID }) => {
		tools.clear();
		tell("idle", { sessionID, ...turn });
	},
	"permission.asked": ({ sessionID }) => tell("permission.asked", { sessionID }),
	"permission.replied": ({ sessionID }) => tell("permission.replied", { sessionID }),
};
export const Reeve = async () => spool === undefined ? {} : {
	event: async ({ event: { type, properties = {} } }) => {
		const { info, sessionID } = properties;
		if (type === "message.updated" && info?.role === "assistant" && info.time?.completed) tellUsage(info);
		const aside = subagents.has(sessionID) && !type.startsWith("permission");
		if (!aside && Object.hasOwn(PASSED_ON, type)) PASSED_ON[type](properties);
	},
	"chat.message": async ({ sessionID }, { message, parts }) => {
		if (subagents.has(sessionID)) return;
		const typed = parts.filter(({ type, synthetic }) => type === "text" && !synthetic);
		prompts.set(message.id, typed.map(({ text }) => text).join("\\n"));
	},
	"tool.execute.before": async ({ callID, sessionID }) => {
		tools.add(callID);
		if (!subagents.has(sessionID)) tell("tool", { sessionID, running: tools.size });
	},
	"tool.execute.after": async ({ callID, sessionID }) => {
		tools.delete(callID);
		if (!subagents.has(sessionID)) tell("tool", { sessionID, running: tools.size });
	},
};
`;
