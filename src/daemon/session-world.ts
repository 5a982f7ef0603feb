/** What the engine is told of agent CLIs on this host. */

import { type Home, resolveLeases } from "../client/home.js";
import type { AgentSpec } from "../config/spec.js";
import { fillFirst } from "../core/adapter.js";
import type { AgentSign } from "../core/sign.js";
import type { SessionWorld } from "../engine/life-world.js";
import { createConversationLeases } from "../host/conversation-leases.js";
import type { SignReader } from "../ports/adapter.js";
import { adapterOf } from "./adapters.js";
import { readLastWords } from "./last-words.js";
import { conversationValues, sessionValues } from "./prepare-session.js";
import { logDirOf } from "./prepare-start.js";
import { parseResetTime } from "./reset-time.js";
import { findFile } from "./session-files.js";
import { readSpool } from "./spool.js";
import { readTranscriptEnd } from "./transcript.js";
import { offsetOfZone } from "./zone-offset.js";

export function createSessionWorld(
	home: Pick<Home, "logs" | "agents">,
	env: Readonly<Record<string, string | undefined>>,
): SessionWorld {
	const reader: SignReader = {
		resetAtMs: (text) => parseResetTime(text, Date.now(), offsetOfZone),
	};

	async function transcriptOf(spec: AgentSpec, conversation: string | null) {
		if (conversation === null) return null;
		const values = await sessionValues(spec, env, logDirOf(home.agents, spec.id));
		const { transcript } = adapterOf(spec).profile.conversation;
		const path = fillFirst(transcript, { ...values, ...conversationValues(conversation) });
		return path === null ? null : findFile(path);
	}

	return {
		adapterOf,
		leases: createConversationLeases(resolveLeases(env)),
		lastWords: (spec) => readLastWords(logDirOf(home.logs, spec.id)),
		async signs(spec, conversation, sinceMs) {
			const adapter = adapterOf(spec);
			const told = await readSpool(logDirOf(home.agents, spec.id), adapter, reader);
			const id = conversation ?? lastConversation(told);
			const path = await transcriptOf(spec, id).catch(() => null);
			const written = path === null ? [] : await readTranscriptEnd(path, adapter, reader);
			return [...told, ...written]
				.filter(({ atMs }) => atMs >= sinceMs)
				.sort((a, b) => a.atMs - b.atMs);
		},
		async isRecorded(spec, conversation) {
			if (adapterOf(spec).profile.conversation.transcript.length === 0) return null;
			return (await transcriptOf(spec, conversation)) !== null;
		},
		readReset: reader.resetAtMs,
	};
}

function lastConversation(signs: readonly AgentSign[]): string | null {
	return signs.findLast(({ conversation }) => conversation !== undefined)?.conversation ?? null;
}
