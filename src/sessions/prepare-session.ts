/** The additions of an adapter to the start of a session: its conversation, arguments, variables and files. */

import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import type { AgentSpec, SessionSpec } from "../config/spec.js";
import { type AdapterProfile, fillFirst, fillIn, PLAIN_PROFILE } from "../core/adapter.js";
import { type ConversationStart, decideConversation } from "../core/conversation.js";
import type { StartIntent } from "../engine/runs/session-world.js";
import { adapterOf } from "./adapters.js";
import { findFiles } from "./find-files.js";
import {
	emptyFolder,
	hasSetting,
	hookOf,
	plantSeeds,
	type Values,
	writeOwnFiles,
} from "./session-files.js";
import { removeOldLogs } from "./session-logs.js";
import { emptySpool, spoolOf } from "./spool.js";

export interface SessionPaths {
	/** Private to this agent, kept across its runs. */
	readonly folder: string;
	/** For temporary files. */
	readonly temporary: string;
	/** Locks for files that several processes may change. */
	readonly locks: string;
	readonly onTrouble: (message: string) => void;
}

export interface PreparedSession {
	/** The adapter's program with its placeholders replaced; null if it has none. */
	readonly command: readonly string[] | null;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string | null>>;
	/** Where its hooks leave records, and how; nothing for an adapter that understands none. */
	readonly hookEnv: Readonly<Record<string, string>>;
	readonly conversation: ConversationStart | null;
}

export async function prepareSession(
	spec: SessionSpec,
	intent: StartIntent,
	env: Readonly<Record<string, string>>,
	{ folder, temporary, locks, onTrouble }: SessionPaths,
): Promise<PreparedSession> {
	const adapter = adapterOf(spec);
	const { profile, readRecord } = adapter;
	// Nothing of a plain profile has placeholders.
	const values = profile === PLAIN_PROFILE ? {} : await sessionValues(spec, env, folder);
	const conversation = await chooseConversation(profile, intent, values);
	const all = { ...values, ...conversationValues(conversation.id) };
	const hasHooks = readRecord !== undefined;
	if (profile !== PLAIN_PROFILE) await writeOwnFiles(folder, adapter, all);
	if (hasHooks) await emptySpool(folder);
	const log = await prepareLog(profile, all, env, folder);
	if (spec.seed) {
		for (const problem of await plantSeeds(profile.seeds, all, locks)) {
			onTrouble(
				`${spec.id}: a question of the first start was not answered in advance: ${problem}`,
			);
		}
	}
	const ownTmpdir = spec.tmpdir === null ? profile.ownTmpdir : spec.tmpdir === "own";
	// No process of the agent is running, so its contents are no longer needed.
	if (ownTmpdir) await emptyFolder(temporary);
	const { fresh, resume, id } = profile.conversation;
	return {
		command: profile.command?.map((text) => filled(text, all)) ?? null,
		args: [
			...(conversation.mode === "resume" ? resume : fresh),
			...profile.args,
			...(spec.seed ? (profile.seedArgs ?? []) : []),
		].map((text) => filled(text, all)),
		env: {
			...(ownTmpdir ? { TMPDIR: temporary } : {}),
			...log,
			...Object.fromEntries(
				Object.entries(profile.env).map(([name, text]) => [
					name,
					text === null ? null : filled(text, all),
				]),
			),
		},
		hookEnv: hasHooks ? { REEVE_HOOK: hookOf(folder), REEVE_SPOOL: spoolOf(folder) } : {},
		conversation: id === "none" ? null : conversation,
	};
}

/** The variables that make the CLI write its log; none if the user has their own settings for it. */
async function prepareLog(
	{ log }: AdapterProfile,
	values: Values,
	env: Readonly<Record<string, string>>,
	folder: string,
): Promise<Readonly<Record<string, string>>> {
	if (log == null) return {};
	const path = fillFirst(log.files, values);
	if (path !== null) await removeOldLogs(folder, path);
	const names = Object.keys(log.env);
	if (names.some((name) => Object.hasOwn(env, name)) || (await hasSetting(log.unless, values))) {
		return {};
	}
	return Object.fromEntries(names.map((name) => [name, filled(log.env[name] ?? "", values)]));
}

async function chooseConversation(
	profile: AdapterProfile,
	{ withContinue, conversation: known }: StartIntent,
	values: Values,
): Promise<ConversationStart> {
	const path =
		known === null
			? null
			: fillFirst(profile.conversation.transcript, { ...values, ...conversationValues(known) });
	const recorded = path === null ? null : (await findFiles(path)).length > 0;
	const { cwd = "" } = values;
	return decideConversation(profile, { known, withContinue, recorded, newId: randomUUID(), cwd });
}

/** The values of the placeholders in an adapter's texts; `env` is the agent's complete environment. */
export async function sessionValues(
	spec: AgentSpec,
	env: Readonly<Record<string, string>>,
	folder: string,
): Promise<Values> {
	// CLIs use the real path of a directory. The backend reports a missing one.
	const cwd = await realpath(spec.cwd).catch(() => spec.cwd);
	return { ...env, home: env["HOME"] ?? homedir(), cwd, folder };
}

export function conversationValues(id: string | null): Values {
	return id === null ? {} : { conversation: id, conversation8: id.slice(0, 8) };
}

/** In an argument, an unset variable is replaced by nothing. */
function filled(text: string, values: Values): string {
	return fillIn(text, values) ?? text;
}
