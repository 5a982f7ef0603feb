/** The engine's access to the agent CLIs of this host. */

import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import type { AgentSpec } from "../config/spec.js";
import { fillFirst } from "../core/adapter.js";
import { findConversation } from "../core/conversation.js";
import { screenText } from "../core/safe-text.js";
import { type AgentSign, refineFailures } from "../core/sign.js";
import type { UsageCursor } from "../core/usage.js";
import type { RunBackends } from "../engine/runs/life-world.js";
import type { SessionWorld } from "../engine/runs/session-world.js";
import { readLogEnd } from "../home/log-bytes.js";
import type { Home } from "../home/paths.js";
import { readConnections } from "../host/connections.js";
import { offsetOfZone } from "../host/local-calendar.js";
import { readOpenFiles } from "../host/open-files.js";
import { readRunMemory } from "../host/run-memory.js";
import { readToolWork } from "../host/tool-work.js";
import type { SignReaderAt, UsageSource } from "../ports/adapter.js";
import { adapterOf } from "./adapters.js";
import { createConversationLeases } from "./conversation-leases.js";
import { chooseFiles, findFiles } from "./find-files.js";
import { conversationValues, sessionValues } from "./prepare-session.js";
import { checkStart, logDirOf, prepareStart, type StartContext } from "./prepare-start.js";
import { parseResetTime } from "./reset-time.js";
import type { Values } from "./session-files.js";
import { createSessionLogReader, type SessionLogReader } from "./session-logs.js";
import { createSpoolReader, type SpoolReader } from "./spool.js";
import { createTranscriptReader } from "./transcript.js";
import { readUsage } from "./usage-files.js";

const SEARCH_EVERY_MS = 5_000;
const PLACES_MAX = 1_000;
const LAST_OUTPUT_BYTES_MAX = 16_384;
/** Per record. */
const FILES_MAX = 4;
/**
 * Within this time after its start a CLI may add a file to the record: when Gemini resumes a
 * conversation, it first creates another file with the same id, and then adds its turns to the old one.
 */
const FILES_ADDED_WITHIN_MS = 60_000;

/** Where the files of a record were last found. */
interface Places {
	readonly paths: readonly string[];
	readonly atMs: number;
}

function needsSearch({ paths, atMs }: Places, startedAtMs: number, nowMs: number): boolean {
	if (nowMs - atMs < SEARCH_EVERY_MS) return false;
	return paths.length === 0 || atMs < startedAtMs + FILES_ADDED_WITHIN_MS;
}

export interface SessionHost extends StartContext {
	readonly backends: Pick<RunBackends, "choose">;
	/** The folder with the leases of conversations. */
	readonly leases: string;
	/** The path of the native program. */
	readonly nativeProgram: () => string;
}

export function createSessionWorld(host: SessionHost): SessionWorld {
	const { home, backends, environments, nativeProgram } = host;
	const transcripts = createTranscriptReader();
	const readers = createAgentReaders(home, valuesFor);

	const places = new Map<string, Places>();

	/** The files of a conversation's transcript. */
	async function recordOf(
		spec: AgentSpec,
		conversation: string | null,
		{ startedAtMs = 0, isOver = false }: { startedAtMs?: number; isOver?: boolean } = {},
	) {
		if (conversation === null) return [];
		const key = `${spec.id} ${conversation}`;
		const known = places.get(key);
		const nowMs = Date.now();
		if (known !== undefined && !isOver && !needsSearch(known, startedAtMs, nowMs)) {
			return known.paths;
		}
		const paths = await chooseFiles(await searchRecord(spec, conversation), FILES_MAX);
		if (places.size >= PLACES_MAX) places.clear();
		places.set(key, { paths, atMs: nowMs });
		return paths;
	}

	async function valuesFor(spec: AgentSpec) {
		return sessionValues(spec, await environments.values(spec), logDirOf(home.agents, spec.id));
	}

	async function searchRecord(spec: AgentSpec, conversation: string): Promise<readonly string[]> {
		const values = await valuesFor(spec);
		const { transcript } = adapterOf(spec).profile.conversation;
		const path = fillFirst(transcript, { ...values, ...conversationValues(conversation) });
		return path === null ? [] : findFiles(path);
	}

	async function usagePlace(
		spec: AgentSpec,
		{ files }: UsageSource,
		conversation: string | null,
		from: UsageCursor | null,
	) {
		const path =
			files === undefined ? null : fillFirst(files, { folder: logDirOf(home.agents, spec.id) });
		if (files !== undefined) return path === null ? null : ((await findFiles(path)).at(-1) ?? null);
		const paths = await recordOf(spec, conversation);
		// Turns are added to the oldest file. Another one is read only if the first is gone.
		return paths.find((each) => each === from?.path) ?? paths[0] ?? null;
	}

	return {
		async prepare(spec, intent) {
			const { refused } = backends.choose(spec);
			if (refused !== null) return { ok: false, detail: refused };
			return prepareStart(spec, intent, host);
		},
		checkStart: async (spec) =>
			backends.choose(spec).refused ?? (await checkStart(spec, environments)),
		adapterOf,
		leases: createConversationLeases(host.leases),
		async lastOutput(spec, outputFrom) {
			const end = await readLogEnd(logDirOf(home.logs, spec.id), outputFrom, LAST_OUTPUT_BYTES_MAX);
			return screenText(end.toString("utf8"));
		},
		async signs(spec, conversation, startedAtMs, isOver = false) {
			const adapter = adapterOf(spec);
			const reported = await readers.readSpool(spec);
			const logged = await readers.readLog(spec).catch(() => []);
			const id = conversation ?? lastConversation(reported);
			const paths = await recordOf(spec, id, { startedAtMs, isOver }).catch(() => []);
			const written = await Promise.all(
				paths.map((path) => transcripts.read(path, adapter, readerOf(spec)).catch(() => [])),
			);
			const all = [...reported, ...logged, ...written.flat()]
				.filter(({ atMs }) => atMs >= startedAtMs)
				.sort((a, b) => a.atMs - b.atMs);
			return refineFailures(all);
		},
		async usage(spec, conversation, from) {
			const { usage } = adapterOf(spec);
			if (usage === undefined) return null;
			const path = await usagePlace(spec, usage, conversation, from).catch(() => null);
			if (path === null) return null;
			return readUsage(path, usage, from);
		},
		transcripts: (spec, conversation) => recordOf(spec, conversation).catch(() => []),
		async isRecorded(spec, conversation) {
			if (adapterOf(spec).profile.conversation.transcript.length === 0) return null;
			return (await searchRecord(spec, conversation)).length > 0;
		},
		async heldConversation(spec, runId, process) {
			const { heldOpen, transcript } = adapterOf(spec).profile.conversation;
			const values = await valuesFor(spec);
			const record = heldOpen ? fillFirst(transcript, values) : null;
			if (record === null) return null;
			return findConversation(await trueName(record), await readOpenFiles(runId, process));
		},
		toolWork: readToolWork,
		memory: readRunMemory,
		connections: (runId, process) => readConnections(runId, process, nativeProgram),
		readReset: (spec, text, atMs) => readerOf(spec)(atMs).resetAtMs(text),
	};
}

/** A CLI prints times in the zone of its own environment if that names one. */
function readerOf({ env }: AgentSpec): SignReaderAt {
	const offsetOf = (zone: string | null, atMs: number) =>
		offsetOfZone(zone ?? env["TZ"] ?? null, atMs);
	return (atMs) => ({ resetAtMs: (text) => parseResetTime(text, atMs, offsetOf) });
}

const NO_PATH = Promise.resolve(null);

/** Readers of the files that one agent's CLI writes for Reeve. */
interface AgentReaders {
	readonly spec: AgentSpec;
	readonly spool: SpoolReader;
	/** Null if its CLI writes no supported log. */
	readonly log: SessionLogReader | null;
	readonly logPath: Promise<string | null>;
}

/** The spools and logs of all agents, each with a reader that tracks new records. */
function createAgentReaders(
	home: Pick<Home, "agents">,
	valuesFor: (spec: AgentSpec) => Promise<Values>,
) {
	const readers = new Map<string, AgentReaders>();

	function readersOf(spec: AgentSpec): AgentReaders {
		const known = readers.get(spec.id);
		if (known?.spec === spec) return known;
		const folder = logDirOf(home.agents, spec.id);
		const adapter = adapterOf(spec);
		const logPath = () =>
			valuesFor(spec)
				.then((values) => fillFirst(adapter.profile.log?.files ?? [], values))
				.catch(() => null);
		const hasLog = adapter.readLog !== undefined;
		const fresh = {
			spec,
			spool: createSpoolReader(folder, adapter),
			log: hasLog ? createSessionLogReader(folder, adapter) : null,
			// Its variables do not change while the agent runs.
			logPath: hasLog ? logPath() : NO_PATH,
		};
		readers.set(spec.id, fresh);
		return fresh;
	}

	return {
		readSpool: (spec: AgentSpec) => readersOf(spec).spool.read(readerOf(spec)),
		async readLog(spec: AgentSpec): Promise<readonly AgentSign[]> {
			const { log, logPath } = readersOf(spec);
			const path = log === null ? null : await logPath;
			return log === null || path === null ? [] : log.read(path, readerOf(spec));
		},
	};
}

/** The path with resolved links before its first wildcard, as the system reports open files. */
async function trueName(path: string): Promise<string> {
	const fixed = dirname(path.replace(/[*<].*$/, "x"));
	return (await realpath(fixed).catch(() => fixed)) + path.slice(fixed.length);
}

function lastConversation(signs: readonly AgentSign[]): string | null {
	return signs.findLast(({ conversation }) => conversation !== undefined)?.conversation ?? null;
}
