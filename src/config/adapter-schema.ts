/** An adapter in the fleet file: the same that is known of the built-in ones, in the user's words. */

import type { z } from "zod";
import {
	type AdapterProfile,
	CONVERSATION_IDS,
	type ConversationProfile,
	DRAIN_RUNGS,
	type EventRule,
	KNOWN_CAUSES,
	type ScreenProfile,
	SERVICE_TEXTS,
	type SignRule,
	TURN_ENDS,
} from "../core/adapter.js";
import {
	argv,
	choice,
	envMap,
	exitCode,
	fileName,
	flag,
	json,
	list,
	pattern,
	section,
	text,
} from "./values.js";

const HOOK_ACTIVITIES = ["ready", "busy", "waiting_input", "rate_limited"] as const;

const PLACEHOLDERS =
	"`<conversation>`, `<cwd>`, `<home>`, `<folder>` (kept for this agent alone) and variables such as `<CODEX_HOME>` are filled in.";

const conversation = section("How a conversation is begun and taken up again.", {
	id: choice(
		"`chosen`: Reeve names a new conversation; `told`: the program does; `none`: it cannot take one up again.",
		CONVERSATION_IDS,
	).prefault("none"),
	fresh: list(`Arguments that begin one. ${PLACEHOLDERS}`, text("One argument.")).prefault([]),
	resume: list(
		"Arguments that take up the one that was, such as `[--resume, <conversation>]`.",
		text("One argument."),
	).prefault([]),
	gone: list(
		"How the program says that it does not find its conversation. It is then started once with a new one. When none is given, any failure within seconds of a start that takes one up counts.",
		pattern("In its last words."),
	).prefault([]),
	transcript: list(
		"Where the program keeps the record of a conversation, so that it is known whether there is one; `*` stands for any one name. The first that can be filled in counts.",
		text("A path."),
	).prefault([]),
	held_open: flag(
		"Whether the program holds that record open while it runs. With `id: told`, the conversation is then known before the program tells it (Linux).",
	).prefault(false),
});

function conversationOf(settings: z.output<typeof conversation>): ConversationProfile {
	const { held_open: heldOpen, ...rest } = settings;
	return { ...rest, heldOpen };
}

const seed = section("A JSON file of the program that is to hold something before it starts.", {
	file: list(
		`The file; the first that can be filled in. ${PLACEHOLDERS}`,
		text("A path."),
	).prefault([]),
	path: list("The keys that lead to the value, from the outermost.", text("One key.")).prefault([]),
	value: json(
		"The value, as JSON; the same is filled in. Whatever is written there already stays.",
	).prefault("true"),
});

const cause = (description: string) => choice(description, KNOWN_CAUSES);

const signs = (description: string) => list(description, pattern("On the screen.")).prefault([]);

const screen = section(
	"What the program shows when. Needed where it has no hooks; each pattern is looked for in the text of the whole screen, `^` and `$` meaning lines.",
	{
		ready: signs("It waits for a prompt."),
		busy: signs("It works."),
		waiting_input: signs("It waits for a choice; nothing is typed then."),
		rate_limited: signs("It has met a usage limit."),
		in_tool: signs("A tool runs, which may be silent for long: no standstill."),
		dialogs: list(
			"Questions at the start that are answered for you, by their label.",
			section("One question.", {
				name: text("What it is called in events."),
				when: pattern("On the screen while it is asked."),
				choose: pattern("In the label of the choice to be made."),
			}),
		).prefault([]),
	},
);

function screenOf(settings: z.output<typeof screen> | undefined): ScreenProfile | null {
	if (settings === undefined) return null;
	const { waiting_input: waitingInput, rate_limited: rateLimited, in_tool: inTool } = settings;
	const { ready, busy, dialogs } = settings;
	return { ready, busy, dialogs, waitingInput, rateLimited, inTool };
}

const exits = section("What an end of the program means. Codes are believed first, then texts.", {
	codes: list(
		"Exit codes with a meaning of their own.",
		section("One exit code.", {
			code: exitCode("The code."),
			cause: cause("What it means."),
		}),
	).prefault([]),
	zero_lies: flag(
		"Whether the program exits with 0 also when it has failed, so that its last words are read all the same.",
	).prefault(false),
	texts: list(
		"What its last words mean, and those of a failed turn, each line by itself, in any case. The first that matches counts.",
		section("One text.", {
			match: pattern("In one line of its last words."),
			cause: cause("What it means."),
			fix: text("What to do about it, in words that are shown.").optional(),
		}),
	).prefault([]),
	service_texts: flag(
		"Whether words of the services behind agents are known too, after `texts`: wrong keys, usage limits, overload, lost connections.",
	).prefault(true),
});

const keys = (description: string) =>
	text(
		`${description} Keys from the outermost, with dots between: \`message.parts.0.text\`.`,
	).optional();

const signKeys = {
	where: section("Only where something stands in it.", {
		path: text("Keys from the outermost, with dots between."),
		match: pattern("In what stands there."),
	}).optional(),
	activity: choice("What the program does from then on.", HOOK_ACTIVITIES).optional(),
	prompt: keys(
		"Where the prompt stands that was submitted. With it, a text that is sent is delivered exactly once.",
	),
	conversation: keys("Where the conversation's id stands, for `id: told`."),
	in_tool: flag(
		"Whether a tool runs from then on. It may be silent for as long as it likes.",
	).optional(),
	turn: choice("How a turn has come to its end.", TURN_ENDS).optional(),
	cause: cause(
		"Why a turn failed. Without it, for `turn: failed`, `exits.texts` are looked for in the `detail`.",
	).optional(),
	detail: keys("Where the words stand that are shown with it."),
	resets_at: keys(
		"Where it stands when a limit ends, as a time; else it is looked for in the `detail`.",
	),
};

const event = section("One event. The first that fits a record counts.", {
	event: text("Its name."),
	...signKeys,
});

const line = section("One kind of line. The first that fits a line counts.", signKeys);

/** Keys that were not written are not there, so that a pinned fleet stays as small as its file. */
function ruleOf({ in_tool, resets_at, ...rest }: z.output<typeof line>): SignRule {
	const all = { ...rest, inTool: in_tool, resetsAt: resets_at };
	const written = Object.entries(all).filter(([, value]) => value !== undefined);
	return Object.fromEntries(written) as SignRule;
}

export const adapterSchema = section("What is known of an agent CLI.", {
	command: argv("Its program, and arguments that always come first."),
	args: list(
		`Arguments of every start, after those of the conversation. ${PLACEHOLDERS}`,
		text("One argument."),
	).prefault([]),
	seed_args: list(
		`Arguments that settle a question of the first start; left out with \`seed: false\`. ${PLACEHOLDERS}`,
		text("One argument."),
	).prefault([]),
	env: envMap("Variables that it is given; the agent's own win.").prefault({}),
	own_tmpdir: flag(
		"Whether each agent gets a folder of its own for temporary files, emptied before every start.",
	).prefault(true),
	conversation: conversation.prefault({}),
	screen: screen.optional(),
	paste: flag(
		"Whether a text that is sent to it is typed as a paste, which keeps its lines together. For programs without that mode, `false`.",
	).prefault(true),
	drain: list(
		"How it is asked to end, one after the other, within the agent's `drain.timeout`: `turn` waits while it is busy.",
		choice("One way.", DRAIN_RUNGS),
	).prefault(["sigterm"]),
	exits: exits.prefault({}),
	events: list(
		'What it means when the program tells of something. Its hooks do that with `sh "$REEVE_HOOK" EVENT each`, and JSON on stdin if there is any; `last` in place of `each` keeps only that it happened, for what happens often.',
		event,
	).prefault([]),
	lines: list(
		"What the lines of `conversation.transcript` mean, one JSON text each; a `timestamp` in them is believed.",
		line,
	).prefault([]),
	tells_turn_ends: flag(
		"Whether events or lines tell of every end of a turn, also of one that was broken off, so that a screen that looks ready proves nothing.",
	).prefault(false),
	files: list(
		"Files that are written into `<folder>` before every start, such as settings with hooks.",
		section("One file.", {
			name: fileName("Its name."),
			text: text(`What it holds. ${PLACEHOLDERS}`),
		}),
	).prefault([]),
	seeds: list("Questions of a first start that are settled before it.", seed).prefault([]),
});

type AdapterSettings = z.output<typeof adapterSchema>;

export function resolveAdapter(settings: AdapterSettings): AdapterProfile {
	const { exits, events, lines } = settings;
	return {
		command: settings.command,
		args: settings.args,
		seedArgs: settings.seed_args,
		env: { ...settings.env },
		ownTmpdir: settings.own_tmpdir,
		conversation: conversationOf(settings.conversation),
		files: settings.files,
		eventRules: events.map(({ event, ...keys }): EventRule => ({ event, ...ruleOf(keys) })),
		lineRules: lines.map(ruleOf),
		confirmsPrompts: [...events, ...lines].some(({ prompt }) => prompt !== undefined),
		paste: settings.paste,
		tellsTurnEnds: settings.tells_turn_ends,
		screen: screenOf(settings.screen),
		drain: settings.drain,
		exits: {
			codes: exits.codes,
			zeroLies: exits.zero_lies,
			texts: [
				...exits.texts.map(({ match, cause, fix }) => ({ match, cause, fix: fix ?? null })),
				...(exits.service_texts ? SERVICE_TEXTS : []),
			],
		},
		seeds: settings.seeds.map(({ file, path, value }) => ({
			file,
			set: [{ path, value: JSON.parse(value) as unknown }],
		})),
	};
}
