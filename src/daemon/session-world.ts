/** What the engine is told of agent CLIs on this host. */

import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { type Home, resolveLeases } from "../client/home.js";
import type { AgentSpec } from "../config/spec.js";
import { fillFirst } from "../core/adapter.js";
import { findConversation } from "../core/conversation.js";
import type { AgentSign } from "../core/sign.js";
import type { SessionWorld } from "../engine/life-world.js";
import { createConversationLeases } from "../host/conversation-leases.js";
import { readOpenFiles } from "../host/open-files.js";
import { readToolWork } from "../host/tool-work.js";
import type { SignReader, UsageSource } from "../ports/adapter.js";
import { adapterOf } from "./adapters.js";
import { readLastWords } from "./last-words.js";
import { conversationValues, sessionValues } from "./prepare-session.js";
import { logDirOf } from "./prepare-start.js";
import { parseResetTime } from "./reset-time.js";
import { findFile } from "./session-files.js";
import { createSpoolReader, type SpoolReader } from "./spool.js";
import { createTranscriptReader } from "./transcript.js";
import { readUsage } from "./usage-files.js";
import { offsetOfZone } from "./zone-offset.js";

const SEARCH_EVERY_MS = 5_000;
const PLACES_MAX = 1_000;

export function createSessionWorld(
	home: Pick<Home, "logs" | "agents">,
	env: Readonly<Record<string, string | undefined>>,
): SessionWorld {
	const reader: SignReader = {
		resetAtMs: (text) => parseResetTime(text, Date.now(), offsetOfZone),
	};

	const transcripts = createTranscriptReader();
	const spools = new Map<string, { readonly spec: AgentSpec; readonly spool: SpoolReader }>();

	function spoolReaderOf(spec: AgentSpec): SpoolReader {
		const known = spools.get(spec.id);
		if (known?.spec === spec) return known.spool;
		const spool = createSpoolReader(logDirOf(home.agents, spec.id), adapterOf(spec));
		spools.set(spec.id, { spec, spool });
		return spool;
	}

	/** Found once, it stays where it is; what was not found is not looked for every second. */
	const places = new Map<string, { readonly path: string | null; readonly atMs: number }>();

	async function transcriptOf(spec: AgentSpec, conversation: string | null) {
		if (conversation === null) return null;
		const key = `${spec.id} ${conversation}`;
		const known = places.get(key);
		if (known !== undefined && (known.path !== null || Date.now() - known.atMs < SEARCH_EVERY_MS)) {
			return known.path;
		}
		const path = await searchTranscript(spec, conversation);
		if (places.size >= PLACES_MAX) places.clear();
		places.set(key, { path, atMs: Date.now() });
		return path;
	}

	async function searchTranscript(spec: AgentSpec, conversation: string) {
		const values = await sessionValues(spec, env, logDirOf(home.agents, spec.id));
		const { transcript } = adapterOf(spec).profile.conversation;
		const path = fillFirst(transcript, { ...values, ...conversationValues(conversation) });
		return path === null ? null : findFile(path);
	}

	async function usagePlace(spec: AgentSpec, { files }: UsageSource, conversation: string | null) {
		if (files === undefined) return transcriptOf(spec, conversation);
		const path = fillFirst(files, { folder: logDirOf(home.agents, spec.id) });
		return path === null ? null : findFile(path);
	}

	return {
		adapterOf,
		leases: createConversationLeases(resolveLeases(env)),
		lastWords: (spec) => readLastWords(logDirOf(home.logs, spec.id)),
		async signs(spec, conversation, sinceMs) {
			const adapter = adapterOf(spec);
			const told = await spoolReaderOf(spec).read(reader);
			const id = conversation ?? lastConversation(told);
			const path = await transcriptOf(spec, id).catch(() => null);
			const written = path === null ? [] : await transcripts.read(path, adapter, reader);
			return [...told, ...written]
				.filter(({ atMs }) => atMs >= sinceMs)
				.sort((a, b) => a.atMs - b.atMs);
		},
		async usage(spec, conversation, from) {
			const { usage } = adapterOf(spec);
			if (usage === undefined) return null;
			const path = await usagePlace(spec, usage, conversation).catch(() => null);
			if (path === null) return null;
			return readUsage(path, usage, from);
		},
		async isRecorded(spec, conversation) {
			if (adapterOf(spec).profile.conversation.transcript.length === 0) return null;
			return (await searchTranscript(spec, conversation)) !== null;
		},
		async heldConversation(spec, runId, process) {
			const { heldOpen, transcript } = adapterOf(spec).profile.conversation;
			const values = await sessionValues(spec, env, logDirOf(home.agents, spec.id));
			const record = heldOpen ? fillFirst(transcript, values) : null;
			if (record === null) return null;
			return findConversation(await trueName(record), await readOpenFiles(runId, process));
		},
		toolWork: readToolWork,
		readReset: reader.resetAtMs,
	};
}

/** The path with the links in front of its first open place followed, as the system tells of open files. */
async function trueName(path: string): Promise<string> {
	const fixed = dirname(path.replace(/[*<].*$/, "x"));
	return (await realpath(fixed).catch(() => fixed)) + path.slice(fixed.length);
}

function lastConversation(signs: readonly AgentSign[]): string | null {
	return signs.findLast(({ conversation }) => conversation !== undefined)?.conversation ?? null;
}
