/** opencode. Measured with 1.18. */

import { PLAIN_PROFILE, SERVICE_TEXTS } from "../core/adapter.js";
import { failureOf } from "../core/exit-cause.js";
import type { AgentAdapter } from "../ports/adapter.js";

/** A plugin that passes on what it is told. */
const PLUGIN = `import { renameSync, writeFileSync } from "node:fs";
const TOLD = ["session.created", "session.status", "session.idle", "session.error", "permission.asked", "permission.replied", "message.updated"];
let count = 0;
export const Reeve = async () => ({
	event: async ({ event }) => {
		const spool = process.env.REEVE_SPOOL;
		if (!spool || !TOLD.includes(event.type)) return;
		if (event.type === "message.updated" && event.properties?.info?.role !== "user") return;
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
};

function statusOf(status: unknown) {
	const { type, message } = (status ?? {}) as { type?: string; message?: string };
	if (type === "retry") return { activity: "busy", detail: `retries: ${message}` } as const;
	return { activity: type === "busy" ? "busy" : "ready" } as const;
}
