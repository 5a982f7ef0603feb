/**
 * Reports the events of a fake agent: to hooks (its own and those from `--settings`, both with Claude's
 * event names), and to a ledger that a test reads after all processes are dead.
 */

import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import type { Conversation } from "./conversation.js";
import type { FakeScript } from "./script.js";

export type ReportEvent = (event: string, data?: Readonly<Record<string, unknown>>) => void;

/** Longer than any hook should take; a hanging hook must not hide later events. */
const HOOK_MS_MAX = 10_000;

interface HookSettings {
	readonly hooks?: Readonly<
		Record<string, readonly { readonly hooks?: readonly { readonly command?: string }[] }[]>
	>;
}

export function createReporter(
	script: FakeScript,
	settings: unknown,
	conversation: Conversation,
): ReportEvent {
	const added = (settings as HookSettings | null)?.hooks ?? {};
	return (event, data = {}) => {
		const reported = {
			hook_event_name: event,
			session_id: conversation.id,
			cwd: process.cwd(),
			transcript_path: conversation.path,
			...data,
		};
		if (script.ledger !== undefined) {
			const line = { at: Date.now(), pid: process.pid, ...reported };
			appendFileSync(script.ledger, `${JSON.stringify(line)}\n`);
		}
		const own = Object.hasOwn(script.hooks, event) ? [script.hooks[event]] : [];
		const others = (Object.hasOwn(added, event) ? added[event] : undefined) ?? [];
		const commands = [...own, ...others.flatMap(({ hooks = [] }) => hooks.map((h) => h.command))];
		for (const command of commands) {
			if (command === undefined) continue;
			// Synchronous, as in real agents, so that events arrive in order.
			spawnSync("/bin/sh", ["-c", command], {
				input: JSON.stringify(reported),
				timeout: HOOK_MS_MAX,
				stdio: ["pipe", "ignore", "ignore"],
			});
		}
	};
}
