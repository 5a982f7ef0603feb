/** opencode. Measured with 1.18. */

import { PLAIN_PROFILE, SERVICE_TEXTS } from "../core/adapter.js";
import { failureOf } from "../core/exit-cause.js";
import type { SignMeaning } from "../core/sign.js";
import { numberOf, type UsageReading } from "../core/usage.js";
import type { AgentAdapter, JsonRecord, SignReader } from "../ports/adapter.js";
import { PLUGIN } from "./opencode/plugin.js";

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
		confirmsPrompts: true,
		tellsTurnEnds: true,
		screen: {
			ready: ["Ask anything", "ctrl\\+p commands"],
			busy: ["[■⬝]{4} .*esc (again to )?interrupt", "\\[retrying in"],
			waitingInput: ["┃\\s+△ Permission required", "┃\\s+Allow once\\s+Allow always"],
			rateLimited: [],
			questionsReplaceInput: true,
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
	readRecord(event, data, reader) {
		const meaning = meaningOf(event, data, reader);
		const id = data["sessionID"];
		return meaning === null || typeof id !== "string" ? meaning : { ...meaning, conversation: id };
	},
	usage: { files: ["<folder>/opencode-usage.jsonl"], read: readUsage },
};

function meaningOf(event: string, data: JsonRecord, reader: SignReader): SignMeaning | null {
	switch (event) {
		case "prompt":
			return { activity: "busy", prompt: String(data["text"] ?? "") };
		case "status":
			return statusOf(Object(data["status"]) as JsonRecord, numberOf(data["at"]), reader);
		case "tool":
			return { activity: "busy", inTool: data["running"] !== 0 };
		case "permission.asked":
			return { activity: "waiting_input" };
		case "permission.replied":
			return { activity: "busy" };
		case "idle":
			return { activity: "ready", inTool: false, ...endOf(data, reader) };
		default:
			return null;
	}
}

/** A retry that is this far away is no work any more. It honours `retry-after` of up to 24 days. */
const RETRY_SOON_MS = 60_000;

function statusOf(
	{ type, message, attempt, next }: JsonRecord,
	atMs: number,
	{ resetAtMs }: SignReader,
): SignMeaning {
	if (type !== "retry") return { activity: "busy" };
	const { failure, detail } = failureOf(String(message ?? ""), resetAtMs);
	const said = `attempt ${attempt} failed: ${detail}`;
	const isFar = numberOf(next) - atMs > RETRY_SOON_MS;
	if (!isFar || failure?.cause !== "usage_limit") return { activity: "busy", detail: said };
	const limit = { cause: "usage_limit", resetAtMs: numberOf(next) } as const;
	return { activity: "rate_limited", failure: limit, detail: said };
}

/** How a turn ended: well, with an error, or broken off, which says nothing of the service. */
function endOf({ error, finished }: JsonRecord, { resetAtMs }: SignReader): SignMeaning {
	if (!error) return finished === true ? { failure: null } : {};
	const { name, data } = error as JsonRecord;
	const { message, statusCode } = Object(data) as JsonRecord;
	// Somebody interrupted it.
	if (name === "MessageAbortedError") return {};
	const words = [statusCode, message ?? name].filter((each) => each !== undefined).join(" ");
	if (name !== "ProviderAuthError") return failureOf(words, resetAtMs);
	return { failure: { cause: "auth", resetAtMs: null }, detail: words };
}

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
