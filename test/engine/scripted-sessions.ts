/** Scripted agent CLIs. They outlive daemons, like processes of a host. */

import type { AgentSpec } from "../../src/config/spec.js";
import { type AdapterProfile, PLAIN_PROFILE } from "../../src/core/adapter.js";
import { type ConversationStart, decideConversation } from "../../src/core/conversation.js";
import type { AgentSign } from "../../src/core/sign.js";
import type { Connection, ToolWork } from "../../src/core/stall.js";
import type { TimedReading } from "../../src/core/usage.js";
import type { SessionWorld, StartIntent } from "../../src/engine/runs/session-world.js";
import { parseResetTime } from "../../src/sessions/reset-time.js";

export interface ScriptedSessions extends SessionWorld {
	/** The profile of every agent's CLI. */
	profile: AdapterProfile;
	/** The last output of the next agent that exits. */
	words: string;
	/** The reports of the agents' CLIs. */
	reported: AgentSign[];
	/** Lines about usage in the record of every agent. */
	spent: TimedReading[];
	/** The files of every conversation's transcript. */
	files: readonly string[];
	/** Whether there is a record of a conversation. */
	recorded: boolean | null;
	/** The activity of every agent's tools. */
	tools: ToolWork;
	network: readonly Connection[];
	/** The conversation whose record every agent's process holds open. */
	open: string | null;
	/** The holder of each conversation; add one to block it for all others. */
	readonly held: Map<string, string>;
	/** The reference time for texts that contain a time. */
	nowMs: () => number;
	converse(spec: AgentSpec, intent: StartIntent): ConversationStart | null;
}

export function createScriptedSessions(): ScriptedSessions {
	const held = new Map<string, string>();
	let tokens = 0;
	let ids = 0;
	const sessions: ScriptedSessions = {
		profile: PLAIN_PROFILE,
		words: "",
		reported: [],
		spent: [],
		recorded: null,
		files: [],
		open: null,
		tools: { processes: "", cpuMs: 0 },
		network: [],
		held,
		converse({ cwd }, { withContinue, conversation: known }) {
			if (sessions.profile.conversation.id === "none") return null;
			const newId = `c${++ids}`;
			const { recorded } = sessions;
			return decideConversation(sessions.profile, { known, withContinue, recorded, newId, cwd });
		},
		prepare: async (spec, intent) => ({
			ok: true,
			conversation: sessions.converse(spec, intent),
			request: {
				agentId: spec.id,
				argv: ["program", ...(spec.kind === "session" ? spec.args : [])],
				cwd: "/",
				env: Object.fromEntries(
					Object.entries(spec.env).flatMap(([name, value]) =>
						value === null ? [] : [[name, value]],
					),
				),
				terminal: true,
				size: { columns: 80, rows: 24 },
				logDir: "/logs",
				limits: { memoryBytes: null, cpuPercent: null, pids: null },
			},
		}),
		checkStart: async () => null,
		adapterOf: () => ({ name: "scripted", profile: sessions.profile }),
		lastOutput: async () => sessions.words,
		signs: async (_spec, _id, sinceMs) => sessions.reported.filter(({ atMs }) => atMs >= sinceMs),
		async usage(_spec, _id, from) {
			const [path, offset] = ["record", sessions.spent.length];
			const readings = sessions.spent.slice(from?.offset ?? 0);
			return readings.length === 0 ? null : { path, offset, beside: null, readings };
		},
		transcripts: async (_spec, conversation) => (conversation === null ? [] : sessions.files),
		isRecorded: async () => sessions.recorded,
		heldConversation: async () => sessions.open,
		toolWork: async () => sessions.tools,
		memory: async () => 100_000_000,
		connections: async () => sessions.network,
		readReset: (_, text, atMs) => parseResetTime(text, atMs, () => 0),
		nowMs: () => 0,
		leases: {
			async take(conversation, { runId }) {
				const holder = held.get(conversation);
				if (holder !== undefined && holder !== runId) {
					return { ok: false, detail: `conversation ${conversation} is held by ${holder}` };
				}
				held.set(conversation, runId);
				return { ok: true, lease: { conversation, token: ++tokens } };
			},
			bind: async ({ conversation }) => held.has(conversation),
			release: async ({ conversation }) => void held.delete(conversation),
		},
	};
	return sessions;
}
