/** What an adapter adds to the start of a session: its conversation, arguments, variables and files. */

import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import type { AgentSpec, SessionSpec } from "../config/spec.js";
import { type AdapterProfile, fillFirst, fillIn } from "../core/adapter.js";
import { type ConversationStart, decideConversation } from "../core/conversation.js";
import type { StartIntent } from "../engine/life-world.js";
import { adapterOf } from "./adapters.js";
import {
	emptyFolder,
	findFile,
	hookOf,
	plantSeeds,
	type Values,
	writeOwnFiles,
} from "./session-files.js";
import { emptySpool, spoolOf } from "./spool.js";

export interface SessionPlace {
	/** Kept for this agent alone, across its runs. */
	readonly folder: string;
	/** For temporary files. */
	readonly temporary: string;
	readonly onTrouble: (message: string) => void;
}

export interface PreparedSession {
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
	{ folder, temporary, onTrouble }: SessionPlace,
): Promise<PreparedSession> {
	const { profile } = adapterOf(spec);
	const values = await sessionValues(spec, env, folder);
	const conversation = await chooseConversation(profile, intent, values);
	const all = { ...values, ...conversationValues(conversation.id) };
	await writeOwnFiles(folder, profile, all);
	await emptySpool(folder);
	if (spec.seed) {
		for (const problem of await plantSeeds(profile.seeds, all)) {
			onTrouble(`${spec.id}: a first-start question could not be settled: ${problem}`);
		}
	}
	const ownTmpdir = spec.tmpdir === null ? profile.ownTmpdir : spec.tmpdir === "own";
	// Nothing of the agent runs now, so nothing in there is needed any more.
	if (ownTmpdir) await emptyFolder(temporary);
	const { fresh, resume, id } = profile.conversation;
	return {
		args: [
			...(conversation.mode === "resume" ? resume : fresh),
			...profile.args,
			...(spec.seed ? (profile.seedArgs ?? []) : []),
		].map((text) => filled(text, all)),
		env: {
			...(ownTmpdir ? { TMPDIR: temporary } : {}),
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

async function chooseConversation(
	profile: AdapterProfile,
	{ withContinue, conversation: known }: StartIntent,
	values: Values,
): Promise<ConversationStart> {
	const path =
		known === null
			? null
			: fillFirst(profile.conversation.transcript, { ...values, ...conversationValues(known) });
	const recorded = path === null ? null : (await findFile(path)) !== null;
	return decideConversation(profile, { known, withContinue, recorded, newId: randomUUID() });
}

/** What stands for the placeholders in an adapter's texts. */
export async function sessionValues(
	spec: AgentSpec,
	env: Readonly<Record<string, string | undefined>>,
	folder: string,
): Promise<Values> {
	// CLIs know a folder by its true name. One that is not there is the backend's to tell of.
	const cwd = await realpath(spec.cwd).catch(() => spec.cwd);
	const own = Object.entries(spec.env).map(([name, value]) => [name, value ?? undefined]);
	const all = { ...env, ...(Object.fromEntries(own) as Values) };
	return { ...all, home: all["HOME"] ?? homedir(), cwd, folder };
}

export function conversationValues(id: string | null): Values {
	return id === null ? {} : { conversation: id, conversation8: id.slice(0, 8) };
}

/** An argument that names a variable which is not set has it as nothing. */
function filled(text: string, values: Values): string {
	return fillIn(text, values) ?? text;
}
