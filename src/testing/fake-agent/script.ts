/**
 * The behaviour of a fake agent, as data. All keys are optional: by default the agent starts
 * immediately, answers each prompt with an echo, and exits like Claude Code. Durations are `500ms`,
 * `30s`, `5m`, `2h`.
 */

import { z } from "zod";
import { parseDuration } from "../../core/units.js";

const duration = z.string().transform((text, context) => {
	const ms = parseDuration(text);
	if (ms === null) context.addIssue(`${text} is not a duration such as 500ms, 30s, 5m, 2h`);
	return ms ?? 0;
});

const dialog = z.strictObject({
	title: z.string(),
	choices: z.array(z.string()).min(1),
	/** The preselected choice; the first if omitted. */
	selected: z.string().optional(),
	/** The choices that continue. Any other exits the agent at startup, and refuses the tool in a turn. */
	accepts: z.array(z.string()).min(1),
	exit_code: z.int().default(1),
	/** Whether an accepted dialog is skipped at the next start with the same HOME. */
	remembered: z.boolean().default(false),
});

const turn = z.strictObject({
	/** Only prompts that contain this text; all if omitted. */
	when: z.string().optional(),
	/** How often this turn is played; without limit if omitted. */
	times: z.int().positive().optional(),
	/** A file that counts `times` for all agents and starts that name it: they share an account. */
	counted_in: z.string().optional(),
	/** How long it works before it finishes. */
	takes: duration.default(0),
	/** `{prompt}` is replaced by the prompt. */
	reply: z.string().optional(),
	usage: z.strictObject({ input: z.int(), output: z.int() }).optional(),
	/** Asks the operator first. */
	asks: dialog.optional(),
	/** A tool in its own session, as agent CLIs run theirs. */
	tool: z
		.strictObject({
			takes: duration.default(3_600_000),
			/** Whether it keeps running when the agent is asked to exit. */
			left_behind: z.boolean().default(false),
		})
		.optional(),
	/** The API rejected the request: the turn fails. */
	fails: z
		.strictObject({
			status: z.int(),
			message: z.string().default("mock failure"),
			/** Exits the agent, as some CLIs do; it keeps running if omitted. */
			exit_code: z.int().optional(),
		})
		.optional(),
	/** A usage limit, reported as text and as a structured event. */
	limit: z
		.strictObject({
			resets_in: duration.default(3_600_000),
			/**
			 * `{time}` is replaced by the reset time, on the 24-hour clock of UTC; `{at}` by the complete
			 * time.
			 */
			text: z.string().default("You've hit your session limit · resets {time} (UTC)"),
			structured: z.boolean().default(true),
			/** Exits the agent, as some CLIs do; it keeps running if omitted. */
			exit_code: z.int().optional(),
		})
		.optional(),
	/** Works forever; `silent` does not even move its spinner. */
	hangs: z.enum(["animated", "silent"]).optional(),
	exit_code: z.int().optional(),
	dies_by: z.string().optional(),
	/** Allocates memory until it is killed. */
	eats_memory: z.boolean().default(false),
});

/** The effect of a signal: an exit code, death by the signal, or none. */
const onSignal = z.union([z.int(), z.enum(["dies", "ignores"])]);

export const fakeScript = z.strictObject({
	starts_in: duration.default(0),
	/** The action instead of starting. */
	start: z
		.strictObject({
			prints: z.string().default(""),
			exit_code: z.int().optional(),
			dies_by: z.string().optional(),
			hangs: z.boolean().default(false),
		})
		.optional(),
	dialogs: z.array(dialog).default([]),
	/** The marker of the selected choice in a dialog. */
	mark: z.string().default("❯"),
	ready_text: z.string().default("❯ "),
	busy_text: z.string().default("esc to interrupt"),
	/** The effect of Ctrl-C while it waits for a prompt. */
	ctrl_c: z.enum(["exits", "exits_at_second", "ignored"]).default("exits_at_second"),
	/** The key that interrupts a turn. */
	interrupt: z.enum(["esc", "esc_twice", "ctrl_c", "ctrl_c_twice", "nothing"]).default("esc"),
	on_sigterm: onSignal.default(143),
	on_sigint: onSignal.default(0),
	on_sighup: onSignal.default(129),
	/** An Enter within this time after a paste is part of the text. */
	enter_after_paste: duration.default(0),
	/** By event: a shell command that gets the event as JSON on stdin. */
	hooks: z.record(z.string(), z.string()).default({}),
	/**
	 * `{home}`, `{cwd}` (with - for /) and `{id}` are replaced. If omitted, it is the path of Claude Code
	 * if `--settings` are passed, as Reeve's adapter does, and `~/.fake-agent/<id>.jsonl` otherwise.
	 */
	transcript: z.string().optional(),
	/** A file that gets one line of JSON for everything that happens, even if the agent is killed. */
	ledger: z.string().optional(),
	turns: z.array(turn).default([]),
	/** Without a terminal: prints this file instead of its own stream. */
	replay: z.strictObject({ stdout: z.string(), exit_code: z.int().default(0) }).optional(),
});

export type FakeScript = z.infer<typeof fakeScript>;
export type FakeTurn = FakeScript["turns"][number];
export type FakeDialog = FakeScript["dialogs"][number];
export type SignalManner = z.infer<typeof onSignal>;

/** The script that a test writes. */
export type FakeAgentScript = z.input<typeof fakeScript>;

/** The parsed script, or its problems. */
export function readScript(
	given: unknown,
):
	| { readonly ok: true; readonly script: FakeScript }
	| { readonly ok: false; readonly problem: string } {
	const parsed = fakeScript.safeParse(given ?? {});
	if (parsed.success) return { ok: true, script: parsed.data };
	const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
	return { ok: false, problem: problems.join("; ") };
}
