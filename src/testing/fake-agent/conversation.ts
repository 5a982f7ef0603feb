/**
 * A conversation on disk, in the format of Claude's transcripts: written from the first prompt on,
 * found by its id, and refused if the id is taken or unknown.
 */

import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { FakeArguments } from "./arguments.js";

export interface Conversation {
	readonly id: string;
	readonly path: string;
	readonly isResumed: boolean;
	append(entry: Readonly<Record<string, unknown>>): void;
}

/** The text and exit code of real CLIs for a refusal. */
export type Opened =
	| { readonly ok: true; readonly conversation: Conversation }
	| { readonly ok: false; readonly words: string };

/**
 * The location of transcripts unless the script sets one. A caller that passes Claude's `--settings`
 * expects Claude's transcripts, and would assume that an agent without one was never prompted.
 */
export function defaultTranscript(
	settings: unknown,
	{ CLAUDE_CONFIG_DIR }: Readonly<Record<string, string | undefined>>,
): string {
	if (settings === null) return "{home}/.fake-agent/{id}.jsonl";
	return `${CLAUDE_CONFIG_DIR ?? "{home}/.claude"}/projects/{cwd}/{id}.jsonl`;
}

export function openConversation(wanted: FakeArguments["conversation"], template: string): Opened {
	const pathOf = (id: string) =>
		template
			.replaceAll("{home}", homedir())
			.replaceAll("{cwd}", process.cwd().replaceAll(/[/_.]/g, "-"))
			.replaceAll("{id}", id);
	if (wanted.type === "new") {
		const id = wanted.id ?? randomUUID();
		if (existsSync(pathOf(id))) {
			return { ok: false, words: `Error: Session ID ${id} is already in use.` };
		}
		return opened(id, pathOf(id), false);
	}
	if (wanted.type === "file") {
		return opened(basename(wanted.path, ".jsonl"), wanted.path, existsSync(wanted.path));
	}
	const id = wanted.type === "resume" ? wanted.id : latest(dirname(pathOf("x")));
	if (id === null) return { ok: false, words: "No conversation found to continue" };
	if (!existsSync(pathOf(id))) {
		return { ok: false, words: `No conversation found with session ID: ${id}` };
	}
	return opened(id, pathOf(id), true);
}

function latest(folder: string): string | null {
	const files = existsSync(folder) ? readdirSync(folder) : [];
	const byAge = files
		.filter((file) => file.endsWith(".jsonl"))
		.sort((a, b) => statSync(join(folder, b)).mtimeMs - statSync(join(folder, a)).mtimeMs);
	return byAge[0]?.replace(/\.jsonl$/, "") ?? null;
}

function opened(id: string, path: string, isResumed: boolean): Opened {
	const append = (entry: Readonly<Record<string, unknown>>) => {
		mkdirSync(dirname(path), { recursive: true });
		const line = { ...entry, sessionId: id, timestamp: new Date().toISOString() };
		appendFileSync(path, `${JSON.stringify(line)}\n`);
	};
	return { ok: true, conversation: { id, path, isResumed, append } };
}
