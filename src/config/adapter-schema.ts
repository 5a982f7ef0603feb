/** A custom adapter of the fleet file. It has the same shape as the built-in ones. */

import type { z } from "zod";
import {
	type AdapterProfile,
	CONVERSATION_IDS,
	type ConversationProfile,
	DIALOG_TIMES,
	DRAIN_STEPS,
	type EventRule,
	KNOWN_CAUSES,
	type ScreenProfile,
	type SignRule,
	TEXT_CAUSES,
	TURN_CAUSES,
	TURN_ENDS,
} from "../core/adapter.js";
import type { JsonAddition } from "../core/json-edit.js";
import { SERVICE_TEXTS } from "../core/service-errors.js";
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
	"`<conversation>`, `<cwd>`, `<home>`, `<folder>` (private to this agent) and variables such as `<CODEX_HOME>` are replaced.";

const conversation = section("How a conversation is started and resumed.", {
	id: choice(
		"`chosen`: Reeve chooses the id of a new conversation. `reported`: the program chooses it and reports it. `last`: the program can only resume the last conversation of its working directory; a second agent in that directory is not started. `none`: it cannot resume one.",
		CONVERSATION_IDS,
	).prefault("none"),
	fresh: list(
		`Arguments that start a new conversation. ${PLACEHOLDERS}`,
		text("One argument."),
	).prefault([]),
	resume: list(
		"Arguments that resume it, such as `[--resume, <conversation>]`, or `[--continue]` with `id: last`.",
		text("One argument."),
	).prefault([]),
	gone: list(
		"How the program reports a missing conversation. Reeve then starts it once with a new one. If not set, any failure within seconds of a start that resumes a conversation counts.",
		pattern("A pattern in its last output."),
	).prefault([]),
	transcript: list(
		"Where the program stores the transcript of a conversation, so that Reeve can detect whether it exists; `*` matches any one name. Reeve uses the first path whose placeholders all have a value.",
		text("A path."),
	).prefault([]),
	held_open: flag(
		"Whether the program keeps the transcript open while it runs. With `id: reported`, Reeve then knows the conversation before the program reports it (Linux).",
	).prefault(false),
});

function conversationOf(settings: z.output<typeof conversation>): ConversationProfile {
	const { held_open: heldOpen, ...rest } = settings;
	return { ...rest, heldOpen };
}

const seed = section(
	"A JSON file of the user that must contain a value before the program starts. Reeve only adds what is missing: other keys, comments and the layout are preserved, a file that is not valid JSON is reported and not changed, and the previous version is kept as `NAME.previous`.",
	{
		file: list(
			`The file. Reeve uses the first path whose placeholders all have a value. ${PLACEHOLDERS}`,
			text("A path."),
		).prefault([]),
		path: list("The keys that lead to the value, from the outermost.", text("One key.")).prefault(
			[],
		),
		value: json(
			"The value, as JSON, with the same placeholders. An existing value is not changed. Without `value` and `add`: `true`.",
		).optional(),
		add: json(
			"Instead of `value`, for a list such as `trustedFolders`: an item to append to the list unless the list already contains it, as JSON, with the same placeholders.",
		).optional(),
	},
);

function additionOf({ path, value, add }: z.output<typeof seed>): JsonAddition {
	return add === undefined
		? { path, value: JSON.parse(value ?? "true") as unknown }
		: { path, add: JSON.parse(add) as unknown };
}

const cause = (description: string) => choice(description, KNOWN_CAUSES);

const signs = (description: string) =>
	list(description, pattern("A pattern in the screen text.")).prefault([]);

const screen = section(
	"Patterns that detect the program's activity from its screen. Required if it has no hooks. Each pattern is matched against the text of the whole screen; `^` and `$` match at lines.",
	{
		ready: signs("It is ready for a message."),
		busy: signs("It is busy."),
		waiting_input: signs("It shows a question. Reeve types nothing while it does."),
		rate_limited: signs(
			"It has hit a usage limit. Reeve shows it; the account is parked only if a record of the program reports a request that failed because of a limit.",
		),
		retrying: signs(
			"The line that reports a retry of a failed request. Reeve shows it as the detail while the program is busy.",
		),
		in_tool: signs(
			"It runs a tool, which may be silent for a long time. This does not count as a stall.",
		),
		dialogs: list(
			"Questions that Reeve answers for you, by the label of the choice.",
			section("One question.", {
				name: text("The name of the question in events."),
				at: choice(
					"When Reeve answers it: at startup (`start`), after a turn that hit a usage limit according to the CLI's records (`limit`), or after a request that failed according to them (`failure`).",
					DIALOG_TIMES,
				).prefault("start"),
				when: pattern("A pattern that is on the screen while the question is shown."),
				choose: pattern("A pattern in the label of the choice."),
			}),
		).prefault([]),
	},
);

function screenOf(settings: z.output<typeof screen> | undefined): ScreenProfile | null {
	if (settings === undefined) return null;
	const { waiting_input: waitingInput, rate_limited: rateLimited, in_tool: inTool } = settings;
	const { ready, busy, retrying, dialogs } = settings;
	return { ready, busy, retrying, dialogs, waitingInput, rateLimited, inTool };
}

const exits = section(
	"The meaning of the program's exits. Only exit codes decide; text patterns add an explanation.",
	{
		codes: list(
			"Exit codes with a special meaning.",
			section("One exit code.", {
				code: exitCode("The code."),
				cause: cause("The meaning of the exit code."),
			}),
		).prefault([]),
		texts: list(
			"The meaning of error texts of failed turns, matched line by line, ignoring case. The first match wins. After an exit, a match in the last output only adds a detail, because the conversation on the screen may contain any text.",
			section("One pattern.", {
				match: pattern("A pattern in one line of the text."),
				cause: choice("The meaning of the text.", TEXT_CAUSES),
				fix: text("How to fix it; shown to the operator.").optional(),
			}),
		).prefault([]),
		service_texts: flag(
			"Whether the common error texts of model services also apply, after `texts`: invalid keys, usage limits, billing, overload, lost connections.",
		).prefault(true),
	},
);

const keys = (description: string) =>
	text(
		`${description} Keys from the outermost, separated by dots: \`message.parts.0.text\`. A key may contain dots itself.`,
	).optional();

const signKeys = {
	where: section("Matches only if this field has a value.", {
		path: text(
			"Path to a field: keys from the outermost, separated by dots. A key may contain dots itself.",
		),
		match: pattern("A pattern in the field's value."),
	}).optional(),
	activity: choice("The activity of the program from then on.", HOOK_ACTIVITIES).optional(),
	prompt: keys(
		"The field with the submitted prompt. With it, every message is delivered exactly once.",
	),
	conversation: keys("The field with the conversation id, for `id: reported`."),
	in_tool: flag(
		"Whether a tool runs from then on. A silent tool does not count as a stall, however long it takes.",
	).optional(),
	turn: choice("The result of a finished turn.", TURN_ENDS).optional(),
	request: choice(
		"The result of one request of a turn. The program may retry a request that `failed`: the agent stays busy, and Reeve shows the cause.",
		TURN_ENDS,
	).optional(),
	status: keys("The field with the HTTP status of a failed turn or request."),
	cause: choice(
		"The cause of a failed turn or request. If not set, Reeve determines the cause from `status` and `detail`.",
		TURN_CAUSES,
	).optional(),
	detail: keys("The field with the text to show as detail."),
	answer: keys(
		"The field with the answer of a completed turn. Its first sentence is shown when the agent has finished.",
	),
	resets_at: keys(
		"The field with the time at which a limit ends. If not set, Reeve looks for a time in the `detail`.",
	),
};

const log = section(
	"A log that the program writes in addition to the conversation's transcript, such as telemetry in a file. It can report requests that fail and are retried. Each record is a JSON text, on one line or several, or a line of text. Reeve reads a line of text as the field `text`, and adds the fields of a JSON object at the end of the line.",
	{
		files: list(
			`Its files; \`*\` matches any one name. Reeve empties files below \`<folder>\` when it has read them and they have grown large. ${PLACEHOLDERS}`,
			text("A path."),
		).prefault([]),
		lines: list(
			"The meaning of its records.",
			section("One kind of record. The first match wins.", signKeys),
		).prefault([]),
	},
);

const event = section("One event. The first match wins.", {
	event: text("Its name."),
	...signKeys,
});

const line = section("One kind of line. The first match wins.", signKeys);

/** Omitted keys stay omitted, so that a stored fleet is as small as its file. */
function ruleOf({ in_tool, resets_at, ...rest }: z.output<typeof line>): SignRule {
	const all = { ...rest, inTool: in_tool, resetsAt: resets_at };
	const written = Object.entries(all).filter(([, value]) => value !== undefined);
	return Object.fromEntries(written) as SignRule;
}

export const adapterSchema = section("Describes an agent CLI.", {
	command: argv(`The program and its first arguments. ${PLACEHOLDERS}`),
	args: list(
		`Arguments for every start, after those for the conversation. ${PLACEHOLDERS}`,
		text("One argument."),
	).prefault([]),
	seed_args: list(
		`Arguments that answer a question of the first start; omitted with \`seed: false\`. ${PLACEHOLDERS}`,
		text("One argument."),
	).prefault([]),
	env: envMap(
		"Environment variables for the program. The agent's own variables take precedence.",
	).prefault({}),
	own_tmpdir: flag(
		"Whether each agent gets its own directory for temporary files, emptied before every start.",
	).prefault(true),
	conversation: conversation.prefault({}),
	screen: screen.optional(),
	paste: flag(
		"Whether a message is sent as a bracketed paste, which keeps its lines together. The markers are only sent while the program has enabled bracketed paste. `false` never sends them.",
	).prefault(true),
	drain: list(
		"Steps that ask the program to exit, one after the other, within the agent's `drain.timeout`. `turn` waits while it is busy.",
		choice("One step.", DRAIN_STEPS),
	).prefault(["sigterm"]),
	exits: exits.prefault({}),
	events: list(
		'The meaning of the events of the program. Its hooks report an event with `sh "$REEVE_HOOK" EVENT each`, with optional JSON on stdin. For frequent events, `last` instead of `each` only records that the event happened.',
		event,
	).prefault([]),
	lines: list(
		"The meaning of the lines of `conversation.transcript`. Each line is JSON. If it has a `timestamp`, Reeve uses it as the time of the line.",
		line,
	).prefault([]),
	log: log.optional(),
	tells_turn_ends: flag(
		"Whether events or lines report every end of a turn, including interrupted turns. Reeve then does not rely on a screen that looks ready.",
	).prefault(false),
	files: list(
		"Files that Reeve writes into `<folder>` before every start, such as settings with hooks.",
		section("One file.", {
			name: fileName("Its name."),
			text: text(`Its content. ${PLACEHOLDERS}`),
		}),
	).prefault([]),
	seeds: list(
		"Values to set before the first start, so that the CLI does not ask for them.",
		seed,
	).prefault([]),
});

type AdapterSettings = z.output<typeof adapterSchema>;

export function resolveAdapter(settings: AdapterSettings): AdapterProfile {
	const { exits, events, lines, log } = settings;
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
		...(log === undefined
			? {}
			: { log: { files: log.files, env: {}, unless: [], rules: log.lines.map(ruleOf) } }),
		confirmsPrompts: [...events, ...lines].some(({ prompt }) => prompt !== undefined),
		paste: settings.paste,
		tellsTurnEnds: settings.tells_turn_ends,
		screen: screenOf(settings.screen),
		drain: settings.drain,
		exits: {
			codes: exits.codes,
			texts: [
				...exits.texts.map(({ match, cause, fix }) => ({ match, cause, fix: fix ?? null })),
				...(exits.service_texts ? SERVICE_TEXTS : []),
			],
		},
		seeds: settings.seeds.map((each) => ({ file: each.file, set: [additionOf(each)] })),
	};
}
