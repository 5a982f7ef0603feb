/** What an adapter adds to the start of a session: its conversation, arguments, variables and files. */

import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import type { AgentSpec, SessionSpec } from "../config/spec.js";
import { type AdapterProfile, fillFirst, fillIn } from "../core/adapter.js";
import { type ConversationStart, decideConversation } from "../core/conversation.js";
import type { StartIntent } from "../engine/life-world.js";
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

export interface SessionPlace {
	/** Kept for this agent alone, across its runs. */
	readonly folder: string;
	/** For temporary files. */
	readonly temporary: string;
	/** Locks for files that several processes may change. */
	readonly locks: string;
	readonly onTrouble: (message: string) => void;
}

export interface PreparedSession {
	/** The adapter's program with its placeholders filled in; null where it names none. */
	readonly command: readonly string[] | null;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string | null>>;
	/** Where its hooks leave records, and how. */
	readonly hookEnv: Readonly<Record<string, string>>;
	readonly conversation: ConversationStart | null;
}

export async function prepareSession(
	spec: SessionSpec,
	intent: StartIntent,
	env: Readonly<Record<string, string>>,
	{ folder, temporary, locks, onTrouble }: SessionPlace,
): Promise<PreparedSession> {
	const { profile } = adapterOf(spec);
	const values = await sessionValues(spec, env, folder);
	const conversation = await chooseConversation(profile, intent, values);
	const all = { ...values, ...conversationValues(conversation.id) };
	await writeOwnFiles(folder, profile, all);
	await emptySpool(folder);
	const log = await prepareLog(profile, all, env, folder);
	if (spec.seed) {
		for (const problem of await plantSeeds(profile.seeds, all, locks)) {
			onTrouble(
				`${spec.id}: a question of the first start was not answered in advance: ${problem}`,
			);
		}
	}
	const ownTmpdir = spec.tmpdir === null ? profile.ownTmpdir : spec.tmpdir === "own";
	// Nothing of the agent runs now, so nothing in there is needed any more.
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
		hookEnv: { REEVE_HOOK: hookOf(folder), REEVE_SPOOL: spoolOf(folder) },
		conversation: id === "none" ? null : conversation,
	};
}

/** The variables that have the CLI write its log; none where the user has settings of their own for it. */
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

/** The values of the placeholders in an adapter's texts; `env` is the agent's whole environment. */
export async function sessionValues(
	spec: AgentSpec,
	env: Readonly<Record<string, string>>,
	folder: string,
): Promise<Values> {
	// CLIs know a folder by its true name. One that is not there is the backend's to tell of.
	const cwd = await realpath(spec.cwd).catch(() => spec.cwd);
	return { ...env, home: env["HOME"] ?? homedir(), cwd, folder };
}

export function conversationValues(id: string | null): Values {
	return id === null ? {} : { conversation: id, conversation8: id.slice(0, 8) };
}

/** An argument that names a variable which is not set has it as nothing. */
function filled(text: string, values: Values): string {
	return fillIn(text, values) ?? text;
}
