/** Plays one turn of a fake agent, and records it in its transcript and hooks. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Conversation } from "./conversation.js";
import { exitBySignal } from "./leave.js";
import type { ReportEvent } from "./report.js";
import type { FakeDialog, FakeTurn } from "./script.js";
import { startTool, type ToolChild } from "./tool-child.js";

export type TurnEnd =
	| { readonly type: "answered"; readonly text: string }
	| { readonly type: "interrupted" }
	| { readonly type: "failed"; readonly status: number; readonly text: string }
	| {
			readonly type: "limited";
			readonly text: string;
			/** Wall time; null if the agent does not report it. */
			readonly resetsAtMs: number | null;
	  };

export interface TurnWorld {
	readonly conversation: Conversation;
	readonly report: ReportEvent;
	readonly interrupted: AbortSignal;
	/** Asks the operator; returns whether the answer was yes. */
	ask(dialog: FakeDialog): Promise<boolean>;
	/** The currently running tool, so that it can be killed together with the agent. */
	onTool(tool: ToolChild | null): void;
	leave(code: number): never;
}

export async function playTurn(turn: FakeTurn, prompt: string, world: TurnWorld): Promise<TurnEnd> {
	const { conversation, report } = world;
	conversation.append({ type: "user", message: { role: "user", content: prompt } });
	report("UserPromptSubmit", { prompt });
	const end = await play(turn, prompt, world);
	note(end, turn, world);
	const { exit_code } = (end.type === "limited" ? turn.limit : turn.fails) ?? {};
	const isRefused = end.type === "limited" || end.type === "failed";
	if (isRefused && exit_code !== undefined) world.leave(exit_code);
	return end;
}

async function play(turn: FakeTurn, prompt: string, world: TurnWorld): Promise<TurnEnd> {
	const { interrupted } = world;
	if (turn.asks !== undefined) {
		world.report("PermissionRequest", { message: turn.asks.title });
		world.report("Notification", { notification_type: "permission_prompt" });
		if (!(await world.ask(turn.asks))) return { type: "interrupted" };
	}
	if (turn.tool !== undefined) await runTool(turn.tool, world);
	await sleep(turn.takes, undefined, { signal: interrupted }).catch(() => {});
	if (turn.hangs !== undefined && !interrupted.aborted) {
		await new Promise((resolve) => interrupted.addEventListener("abort", resolve));
	}
	if (interrupted.aborted) return { type: "interrupted" };
	if (turn.dies_by !== undefined) {
		exitBySignal(turn.dies_by);
		// The signal arrives asynchronously; nothing else may happen until then.
		await new Promise(() => {});
	}
	if (turn.eats_memory) eatMemory();
	if (turn.exit_code !== undefined) world.leave(turn.exit_code);
	if (turn.limit !== undefined) return limited(turn.limit);
	if (turn.fails !== undefined) {
		const { status, message } = turn.fails;
		return { type: "failed", status, text: `API Error: ${status} ${message}` };
	}
	return { type: "answered", text: (turn.reply ?? "").replaceAll("{prompt}", prompt) };
}

async function runTool(tool: NonNullable<FakeTurn["tool"]>, world: TurnWorld): Promise<void> {
	const child = startTool(tool);
	world.onTool(child);
	world.report("PreToolUse", { tool_name: "Bash", tool_pid: child.pid });
	const stop = () => child.stop();
	world.interrupted.addEventListener("abort", stop);
	await Promise.race([
		child.ended,
		new Promise((resolve) => world.interrupted.addEventListener("abort", resolve)),
	]);
	world.onTool(null);
	if (!world.interrupted.aborted) world.report("PostToolUse", { tool_name: "Bash" });
}

/** Written to, so that the system really allocates it. */
function eatMemory(): never {
	const eaten: Buffer[] = [];
	for (;;) eaten.push(Buffer.alloc(10_000_000, 1));
}

function limited({ resets_in, text, structured }: NonNullable<FakeTurn["limit"]>): TurnEnd {
	const resetsAtMs = Date.now() + resets_in;
	const at = new Date(resetsAtMs).toISOString();
	const reported = text.replaceAll("{time}", at.slice(11, 16)).replaceAll("{at}", at);
	return { type: "limited", text: reported, resetsAtMs: structured ? resetsAtMs : null };
}

/** An interrupted turn causes no event, as in real CLIs. */
function note(end: TurnEnd, { usage }: FakeTurn, { conversation, report }: TurnWorld): void {
	if (end.type === "interrupted") return;
	const isError = end.type !== "answered";
	const status = end.type === "failed" ? end.status : 429;
	conversation.append({
		type: "assistant",
		message: {
			// As in Claude's transcripts: usage is counted once for each message.
			id: `msg_${randomUUID()}`,
			role: "assistant",
			content: [{ type: "text", text: end.text }],
			usage: { input_tokens: usage?.input ?? 0, output_tokens: usage?.output ?? 0 },
		},
		...(isError && { isApiErrorMessage: true, apiErrorStatus: status }),
	});
	if (!isError) report("Stop", { last_assistant_message: end.text });
	else {
		const resetsAt = end.type === "limited" ? end.resetsAtMs : null;
		report("StopFailure", {
			error: errorName(status),
			error_details: end.text,
			...(resetsAt !== null && { resets_at: Math.ceil(resetsAt / 1000) }),
		});
	}
}

function errorName(status: number): string {
	if (status === 401) return "authentication_failed";
	if (status === 429) return "rate_limit";
	return status >= 500 ? "server_error" : "unknown";
}
