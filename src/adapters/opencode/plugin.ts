/**
 * An opencode plugin that forwards events. Of frequent events only the last is kept. The work of
 * subagents in their own conversations belongs to the tool that started them. opencode's own record is
 * a database, so usage has its own file.
 */
export const PLUGIN = `import { appendFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
// Only for the install before plugins are loaded: tools that the agent runs have npm's own default.
if (process.env.npm_config_fetch_retries === "0") delete process.env.npm_config_fetch_retries;
let count = 0;
let atMs = 0;
const spool = process.env.REEVE_SPOOL;
const used = spool + "/../opencode-usage.jsonl";
try {
	if (statSync(used).size > 1000000) rmSync(used);
} catch {}
function report(event, data, keep = "last") {
	try {
		const name = spool + "/" + event + "." + (keep === "last" ? "last" : process.pid + "-" + ++count);
		// In order, even if file times are too coarse.
		atMs = Math.max(Date.now(), atMs + 1);
		writeFileSync(name + ".tmp", JSON.stringify({ ...data, at: atMs }), { mode: 0o600 });
		utimesSync(name + ".tmp", atMs / 1000, atMs / 1000);
		renameSync(name + ".tmp", name + ".json");
	} catch {}
}
function reportUsage({ id, tokens, cost, time }) {
	try {
		appendFileSync(used, JSON.stringify({ id, tokens, cost, timestamp: new Date(time.completed) }) + "\\n", { mode: 0o600 });
	} catch {}
}
function failed(sessionID, data) {
	attempts.count++;
	attempts.since = attempts.since || Date.now();
	return { sessionID, ...data, attempts: { ...attempts } };
}
const subagents = new Set();
// Failures in a row within one turn, and the non-empty messages.
let attempts = { count: 0, since: 0 };
const contents = new Set();
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
		const prompt = prompts.get(part.messageID);
		if (prompt === undefined) return;
		prompt.unsaved.delete(part.id);
		confirm(part.messageID, prompt);
	},
	"message.part.delta": ({ messageID }) => contents.add(messageID),
	"session.error": ({ error, sessionID }) => {
		turn.error = error;
		if (error?.name !== "MessageAbortedError") report("attempt", failed(sessionID, { error }));
	},
	"session.idle": ({ sessionID }) => {
		tools.clear();
		report("idle", { sessionID, ...turn });
	},
	"permission.asked": ({ sessionID }) => report("permission.asked", { sessionID }),
	"permission.replied": ({ sessionID }) => report("permission.replied", { sessionID }),
};
// A killed opencode loses a prompt whose message is saved and whose text, which is saved after it, is not.
function confirm(id, { sessionID, text, unsaved }) {
	if (sessionID === null || unsaved.size > 0) return;
	prompts.delete(id);
	turn = { error: null, finished: false };
	attempts = { count: 0, since: 0 };
	contents.clear();
	report("prompt", { sessionID, text }, "each");
}
// It repeats the request when the service returns an empty response: no text, tools or tokens.
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
let lastEmpty = null;
export const Reeve = async () => spool === undefined ? {} : {
	event: async ({ event: { type, properties = {} } }) => {
		const { info, sessionID } = properties;
		if (type === "message.updated" && info?.role === "assistant" && info.time?.completed) reportUsage(info);
		const aside = subagents.has(sessionID) && !type.startsWith("permission");
		if (!aside && Object.hasOwn(PASSED_ON, type)) PASSED_ON[type](properties);
	},
	"chat.message": async ({ sessionID }, { message, parts }) => {
		if (subagents.has(sessionID)) return;
		const typed = parts.filter(({ type, synthetic }) => type === "text" && !synthetic);
		const text = typed.map(({ text }) => text).join("\\n");
		const unsaved = new Set(typed.flatMap(({ id }) => id ?? []));
		prompts.set(message.id, { sessionID: null, text, unsaved });
	},
	"tool.execute.before": async ({ callID, sessionID }) => {
		tools.add(callID);
		if (!subagents.has(sessionID)) report("tool", { sessionID, running: tools.size });
	},
	"tool.execute.after": async ({ callID, sessionID }) => {
		tools.delete(callID);
		if (!subagents.has(sessionID)) report("tool", { sessionID, running: tools.size });
	},
};
`;
