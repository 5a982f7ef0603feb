/**
 * The description of an agent CLI as plain data. Built-in adapters and those from the fleet file have
 * the same shape.
 *
 * Texts may contain placeholders: `<conversation>` (`<conversation8>`: its first 8 characters),
 * `<cwd>`, `<home>` (the agent's home directory), `<folder>` (a private directory that Reeve keeps for
 * this agent), and `<NAME>` for a variable of its environment.
 */

import type { ExitCause } from "./exit.js";
import type { JsonAddition } from "./json-edit.js";
import type { Activity } from "./states.js";

export const CONVERSATION_IDS = ["chosen", "reported", "last", "none"] as const;
/**
 * How the conversation gets its id: `chosen` by Reeve before the first start, `reported` by the CLI
 * once it has started, `last` if a CLI can only resume the last conversation of its directory, or
 * `none` if it cannot resume any.
 */
export type ConversationIds = (typeof CONVERSATION_IDS)[number];

export interface ConversationProfile {
	readonly id: ConversationIds;
	/** Arguments for a new conversation. */
	readonly fresh: readonly string[];
	/** Arguments that resume the previous conversation. */
	readonly resume: readonly string[];
	/** Patterns in the last output of a CLI that does not find its conversation. If empty, any failure. */
	readonly gone: readonly string[];
	/**
	 * The path of its transcript, the first one whose placeholders all have a value; `*` matches one
	 * directory or file name.
	 */
	readonly transcript: readonly string[];
	/** Whether its process keeps the transcript open, which reveals the conversation before the CLI reports it. */
	readonly heldOpen?: boolean;
}

/** A file that Reeve writes before every start. */
export interface OwnFile {
	/** Relative to the agent's own directory. */
	readonly name: string;
	readonly text: string;
}

/** Values that a JSON file of the user must contain before a start. Existing values are not changed. */
export interface Seed {
	/** The first path whose placeholders all have a value. */
	readonly file: readonly string[];
	readonly set: readonly JsonAddition[];
}

/** A text with which a CLI or its service reports a cause. */
export interface TextCause {
	readonly match: string;
	readonly cause: (typeof TEXT_CAUSES)[number];
	/** How to fix it. */
	readonly fix: string | null;
}

export const KNOWN_CAUSES = [
	"completed",
	"crash",
	"usage_limit",
	"auth",
	"overloaded",
	"config",
] as const satisfies readonly ExitCause[];
/** Why an agent exited, as reported by its CLI. */
export type KnownCause = (typeof KNOWN_CAUSES)[number];

export const TURN_CAUSES = [
	"usage_limit",
	"auth",
	"billing",
	"config",
	"overloaded",
	"refused",
	"context_full",
	"invalid_request",
	"unknown",
] as const;
/**
 * Why a turn failed: usage limit, login, billing, wrong settings (such as an unknown model), a service
 * that is overloaded or unreachable, a content filter, a conversation that is too long, or another
 * request that the service rejected. `unknown` comes with the CLI's own text.
 */
export type TurnCause = (typeof TURN_CAUSES)[number];

/** The causes that a text can indicate. */
export const TEXT_CAUSES = [...TURN_CAUSES, "completed", "crash"] as const;

export interface ExitProfile {
	/** Exit codes with a specific meaning. */
	readonly codes: readonly { readonly code: number; readonly cause: KnownCause }[];
	/** The first match wins. They decide about failed turns; after an exit they only explain. */
	readonly texts: readonly TextCause[];
}

export const DIALOG_TIMES = ["start", "limit", "failure"] as const;

/** A question that Reeve can answer without a person. */
export interface DialogProfile {
	readonly name: string;
	/**
	 * When it is answered: at startup until the agent has been ready (the default), after a turn that hit a usage limit
	 * according to the CLI's hooks or transcript, or after a request that failed according to them.
	 */
	readonly at?: (typeof DIALOG_TIMES)[number];
	/** A pattern that is on the screen while the question is shown. */
	readonly when: string;
	/** A pattern in the label of the choice. The current selection is never accepted blindly. */
	readonly choose: string;
}

/** The parts of a question on the screen. */
export interface QuestionPatterns {
	/** The line that asks for permission. A question without one is a choice. */
	readonly permission: readonly string[];
	/** The command or file that needs permission, as the first group; the first pattern that matches. */
	readonly subject: readonly string[];
	/** The first line of a question that has no border above it. */
	readonly first?: readonly string[];
	/** Choices beside each other, as the first group; the selected one is highlighted. */
	readonly row?: string;
}

/** Screen patterns, the last resort if a CLI does not report its activity. */
export interface ScreenProfile {
	readonly ready: readonly string[];
	readonly busy: readonly string[];
	/** It waits for a person's choice. Typed text could select one. */
	readonly waitingInput: readonly string[];
	readonly rateLimited: readonly string[];
	/** The line that reports a retry of a request; shown as the detail while it is busy. */
	readonly retrying?: readonly string[];
	/** A tool is running and may be silent for a long time. Used if neither hooks nor a transcript report it. */
	readonly inTool?: readonly string[];
	readonly dialogs: readonly DialogProfile[];
	/**
	 * Whether `ready` matches its input field, and questions replace that field. Then a question above
	 * the input is only text, and nothing is typed while the input field is not visible.
	 */
	readonly questionsReplaceInput?: boolean;
	/** How its questions look; the choices themselves are numbered lines with a mark if omitted. */
	readonly questions?: QuestionPatterns;
	/**
	 * How a resumed conversation looks, for a CLI that shows its input before it has loaded one: a prompt
	 * submitted before that is lost.
	 */
	readonly resumed?: readonly string[];
}

export const DRAIN_STEPS = ["turn", "esc", "ctrl_c", "sigint", "sigterm", "sighup"] as const;
/** One step that asks an agent to exit, gentlest first: wait for its turn, its own keys, a signal. */
export type DrainStep = (typeof DRAIN_STEPS)[number];

/** Keys that lead to a value, from the outermost, separated by dots; a number is a list index. A key may contain dots. */
export type KeyPath = string;

export const TURN_ENDS = ["ok", "failed"] as const;

/** The meaning of a record of the CLI. Omitted fields are not reported. */
export interface SignRule {
	/** Only records in which this field has a value; all records if omitted. */
	readonly where?: { readonly path: KeyPath; readonly match: string };
	readonly activity?: Activity;
	/** The field with the submitted prompt. */
	readonly prompt?: KeyPath;
	readonly conversation?: KeyPath;
	readonly inTool?: boolean;
	/** The result of a turn. */
	readonly turn?: (typeof TURN_ENDS)[number];
	/** The result of one request of a turn, which the CLI may retry. */
	readonly request?: (typeof TURN_ENDS)[number];
	/** The field with the HTTP status of a failed request or turn. */
	readonly status?: KeyPath;
	/** Why it failed; derived from the text if omitted. A turn with a cause has failed. */
	readonly cause?: TurnCause;
	/** The field with the text of the error. */
	readonly detail?: KeyPath;
	/** The field with the answer of a completed turn. */
	readonly answer?: KeyPath;
	/** The field with the end of a limit, as a time; derived from the text if omitted. */
	readonly resetsAt?: KeyPath;
}

/**
 * A file that a CLI writes in addition to the transcript: its own log, or telemetry. It shows failed
 * and retried requests that no other source reports.
 */
export interface LogProfile {
	/** Its files; `*` matches one directory or file name. Reeve truncates files below `<folder>`. */
	readonly files: readonly string[];
	/** Variables that make the CLI write it. */
	readonly env: Readonly<Record<string, string>>;
	/** Settings of the user that the variables would override: if one exists, the variables are not set. */
	readonly unless: readonly {
		readonly file: readonly string[];
		readonly path: readonly string[];
	}[];
	/** The meaning of its records; empty if a function parses them. */
	readonly rules: readonly SignRule[];
}

/** A rule for an event reported by a hook. */
export interface EventRule extends SignRule {
	readonly event: string;
}

export interface AdapterProfile {
	/** Its program; null if the fleet file must name one. */
	readonly command: readonly string[] | null;
	/** Arguments of every start. They follow those of the conversation. */
	readonly args: readonly string[];
	/** Arguments that answer a question of the first start, unless that is left to the user. */
	readonly seedArgs?: readonly string[];
	readonly env: Readonly<Record<string, string | null>>;
	/** Whether it gets its own directory for temporary files. */
	readonly ownTmpdir: boolean;
	readonly conversation: ConversationProfile;
	readonly files: readonly OwnFile[];
	readonly seeds: readonly Seed[];
	/** The meaning of the events from its hooks; empty if a function parses them. */
	readonly eventRules: readonly EventRule[];
	/** The meaning of the lines of its transcript; empty if a function parses them. */
	readonly lineRules: readonly SignRule[];
	/** Null or omitted if there is none. */
	readonly log?: LogProfile | null;
	/** Whether its hooks or transcript report submitted prompts. */
	readonly confirmsPrompts: boolean;
	/**
	 * Whether its hooks report a prompt before the CLI saves it, and its transcript contains every saved one: if it is
	 * killed in between, the prompt is lost.
	 */
	readonly savesPromptsLater?: boolean;
	/** Whether a message is sent as a bracketed paste, if the terminal has enabled that mode. */
	readonly paste: boolean;
	/** Whether its hooks or transcript report every end of a turn, so that the screen is not needed for it. */
	readonly tellsTurnEnds: boolean;
	/** Null if nothing is known about its screen. */
	readonly screen: ScreenProfile | null;
	/** The steps that ask it to exit, in order. */
	readonly drain: readonly DrainStep[];
	/** Null if nothing is known about its exits. */
	readonly exits: ExitProfile | null;
}

/** Any program: nothing is known about it. */
export const PLAIN_PROFILE: AdapterProfile = Object.freeze({
	command: null,
	args: [],
	env: {},
	ownTmpdir: false,
	conversation: { id: "none", fresh: [], resume: [], gone: [], transcript: [] },
	files: [],
	seeds: [],
	eventRules: [],
	lineRules: [],
	confirmsPrompts: false,
	paste: true,
	tellsTurnEnds: false,
	screen: null,
	drain: ["sigterm"],
	exits: null,
} satisfies AdapterProfile);

/** All placeholders besides variables. */
export const PLACEHOLDERS = ["conversation", "conversation8", "cwd", "home", "folder"] as const;

const PLACEHOLDER = /<([A-Za-z_][A-Za-z0-9_]*)>/g;
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;

/** The names in a text that look like placeholders but are not, so they would stay in the text. */
export function unknownPlaceholders(text: string): readonly string[] {
	const known: readonly string[] = PLACEHOLDERS;
	const names = [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
	return names.filter((name) => !known.includes(name) && !VARIABLE.test(name));
}

/**
 * The text with its placeholders replaced; null if one of them has no value. Other text in angle brackets is unchanged.
 */
export function fillIn(
	text: string,
	values: Readonly<Record<string, string | undefined>>,
): string | null {
	let missing = false;
	const filled = text.replace(PLACEHOLDER, (written, name: string) => {
		const value = Object.hasOwn(values, name) ? values[name] : undefined;
		if (value !== undefined) return value;
		if (VARIABLE.test(name)) missing = true;
		return written;
	});
	return missing ? null : filled;
}

/** The first alternative whose placeholders all have a value; null if there is none. */
export function fillFirst(
	texts: readonly string[],
	values: Readonly<Record<string, string | undefined>>,
): string | null {
	for (const text of texts) {
		const filled = fillIn(text, values);
		if (filled !== null) return filled;
	}
	return null;
}
