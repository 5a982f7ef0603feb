/**
 * The fake agent: a program that behaves like an agent CLI, controlled by its script. It is run by
 * node, in a terminal or with `-p` without one; see docs/guides/testing.md.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type FakeArguments, readArguments } from "./arguments.js";
import { defaultTranscript, openConversation } from "./conversation.js";
import { openAccepted } from "./dialogs.js";
import { runHeadless } from "./headless.js";
import { exitBySignal, obeySignals } from "./leave.js";
import { createReporter } from "./report.js";
import type { FakeScript } from "./script.js";
import { FakeTerminal } from "./terminal.js";
import type { ToolChild } from "./tool-child.js";

try {
	await main(await readArguments(process.argv.slice(2), process.env));
} catch (error) {
	process.stderr.write(`fake agent: ${(error as Error).message}\n`);
	process.exit(2);
}

async function main(asked: FakeArguments): Promise<void> {
	const { script, conversation: wanted } = asked;
	if (asked.wantsVersion) {
		process.stdout.write("1.0.0 (fake agent)\n");
		return;
	}
	await sleep(script.starts_in);
	if (script.start !== undefined) await failToStart(script.start);
	const transcript = script.transcript ?? defaultTranscript(asked.settings, process.env);
	const opened = openConversation(wanted, transcript);
	if (!opened.ok) {
		process.stderr.write(`${opened.words}\n`);
		process.exit(1);
	}
	const { conversation } = opened;
	const report = createReporter(script, asked.settings, conversation);
	let tool: ToolChild | null = null;
	const leave = (code: number): never => {
		tool?.stop();
		report("SessionEnd", { reason: "other", exit_code: code });
		process.exit(code);
	};
	obeySignals(script, (signal) => {
		tool?.stop();
		report("SessionEnd", { reason: "other", signal });
	});
	report("Launched", { argv: process.argv.slice(2) });
	const world = {
		conversation,
		report,
		leave,
		onTool(child: ToolChild | null) {
			tool = child;
		},
	};
	if (asked.headless !== null) leave(await runHeadless(asked, world));
	await new FakeTerminal(asked, { ...world, accepted: openAccepted() }).run();
}

async function failToStart(start: NonNullable<FakeScript["start"]>): Promise<void> {
	await new Promise<void>((resolve) => process.stdout.write(start.prints, () => resolve()));
	if (start.dies_by !== undefined) exitBySignal(start.dies_by);
	if (start.exit_code !== undefined) process.exit(start.exit_code);
	if (!start.hangs && start.dies_by === undefined) return;
	setInterval(() => {}, 2 ** 30);
	await new Promise(() => {});
}
