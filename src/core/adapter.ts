/**
 * What is known of one agent CLI, as plain data: the built-in adapters and those that users write in
 * the fleet file have the same shape. Nothing in here runs; whoever starts an agent reads it.
 *
 * Texts may hold placeholders: `<conversation>` (`<conversation8>`: how it begins), `<cwd>`, `<home>`
 * (the agent's home directory), `<folder>` (a folder that Reeve keeps for this agent alone), and
 * `<NAME>` for a variable of its environment.
 */

import type { ExitCause } from "./exit.js";
import type { JsonAddition } from "./json-edit.js";
import type { Activity } from "./states.js";

export const CONVERSATION_IDS = ["chosen", "told", "last", "none"] as const;
/**
 * Who names the conversation: `chosen` by Reeve before the first start, `told` by the CLI once it has begun, `last`
 * where a CLI can only resume the last one of its folder, or `none` where it cannot resume any.
 */
export type ConversationIds = (typeof CONVERSATION_IDS)[number];

export interface ConversationProfile {
	readonly id: ConversationIds;
	/** Arguments for a new conversation. */
	readonly fresh: readonly string[];
	/** Arguments that take up the conversation that was. */
	readonly resume: readonly string[];
	/** Patterns in the last words of a CLI that does not find its conversation. Any failure, if empty. */
	readonly gone: readonly string[];
	/** Where its record is kept, the first that can be filled in; `*` is one folder or file name. */
	readonly transcript: readonly string[];
	/** Whether its process holds that record open, by which a conversation is known before it is told. */
	readonly heldOpen?: boolean;
}

/** A file of Reeve's own, written before every start. */
export interface OwnFile {
	/** Below the agent's own folder. */
	readonly name: string;
	readonly text: string;
}

/** Values that a JSON file of the user must hold before a start. Values that it holds already stay. */
export interface Seed {
	/** The first that can be filled in. */
	readonly file: readonly string[];
	readonly set: readonly JsonAddition[];
}

/** A text by which a CLI or its service names a cause. */
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
/** Why an agent exited, as far as its CLI reports it. */
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
 * Why a turn failed: the account's limit, its login, its payment, wrong settings (a model that does not
 * exist), a service that is overloaded or out of reach, a content filter, a conversation that is too
 * long, or another request that the service rejected. `unknown` comes with the CLI's own text.
 */
export type TurnCause = (typeof TURN_CAUSES)[number];

/** What a text may mean. */
export const TEXT_CAUSES = [...TURN_CAUSES, "completed", "crash"] as const;

export interface ExitProfile {
	/** Exit codes that mean something of their own. */
	readonly codes: readonly { readonly code: number; readonly cause: KnownCause }[];
	/** The first that matches counts. They decide about failed turns; after an exit they only explain. */
	readonly texts: readonly TextCause[];
}

export const DIALOG_TIMES = ["start", "limit", "failure"] as const;

/** A question that Reeve can answer without a person. */
export interface DialogProfile {
	readonly name: string;
	/**
	 * When it is answered: at the start, until the agent has been ready (the default), after a turn of which the
	 * CLI's hooks or record report that it hit a usage limit, or after a request of the turn which they report as failed.
	 */
	readonly at?: (typeof DIALOG_TIMES)[number];
	/** A pattern that is on the screen while it is asked. */
	readonly when: string;
	/** A pattern in the label of the choice to be made. Never the one that happens to be selected. */
	readonly choose: string;
}

/** Patterns on the screen: the last resort, where a CLI does not say what it does. */
export interface ScreenProfile {
	readonly ready: readonly string[];
	readonly busy: readonly string[];
	/** It waits for a person's choice; whatever is typed now may be taken for one. */
	readonly waitingInput: readonly string[];
	readonly rateLimited: readonly string[];
	/** The line by which it reports that it retries a request; shown as the detail while it is busy. */
	readonly retrying?: readonly string[];
	/** A tool runs, which may be silent for long. Where neither hooks nor a record tell it. */
	readonly inTool?: readonly string[];
	readonly dialogs: readonly DialogProfile[];
	/**
	 * Whether `ready` shows its input, and whatever it asks takes the place of that: then a question above
	 * the input is somebody's text, and nothing is typed while the input is not there.
	 */
	readonly questionsReplaceInput?: boolean;
	/**
	 * What a resumed conversation looks like, for a CLI that shows its input before it has loaded one: a prompt
	 * that is submitted until then is lost.
	 */
	readonly resumed?: readonly string[];
}

export const DRAIN_STEPS = ["turn", "esc", "ctrl_c", "sigint", "sigterm", "sighup"] as const;
/** One way to have an agent end, gentlest first: wait for its turn to end, its own keys, a signal. */
export type DrainStep = (typeof DRAIN_STEPS)[number];

/** Keys that lead to a value, from the outermost, with dots between them; a number counts in a list. */
export type KeyPath = string;

export const TURN_ENDS = ["ok", "failed"] as const;

/** What a record of the CLI means. What is left out, it does not tell. */
export interface SignRule {
	/** Only records in which something stands; any, when left out. */
	readonly where?: { readonly path: KeyPath; readonly match: string };
	readonly activity?: Activity;
	/** Where the prompt stands that was submitted. */
	readonly prompt?: KeyPath;
	readonly conversation?: KeyPath;
	readonly inTool?: boolean;
	/** How a turn came to its end. */
	readonly turn?: (typeof TURN_ENDS)[number];
	/** How one request of a turn came to its end, which the CLI may make again by itself. */
	readonly request?: (typeof TURN_ENDS)[number];
	/** Where the HTTP status of a failed request or turn stands. */
	readonly status?: KeyPath;
	/** Why it failed; read from the text, when left out. A turn with a cause has failed. */
	readonly cause?: TurnCause;
	/** Where the words stand that tell of it. */
	readonly detail?: KeyPath;
	/** Where the end of a limit stands, as a time; read from the words, when left out. */
	readonly resetsAt?: KeyPath;
}

/**
 * A file that a CLI writes besides the record of a conversation: a log of its own, or telemetry in a file. It
 * shows requests that fail and are made again, which nothing else reports.
 */
export interface LogProfile {
	/** Its files; `*` is one folder or file name. Files below `<folder>` are kept short by Reeve. */
	readonly files: readonly string[];
	/** Variables that have the CLI write it. */
	readonly env: Readonly<Record<string, string>>;
	/** Settings of the user that the variables would override: where one is there, they are left out. */
	readonly unless: readonly {
		readonly file: readonly string[];
		readonly path: readonly string[];
	}[];
	/** The meaning of its records; where they are read by a function, there are none. */
	readonly rules: readonly SignRule[];
}

/** A rule for what a hook has told of. */
export interface EventRule extends SignRule {
	readonly event: string;
}

export interface AdapterProfile {
	/** Its program; null where the fleet file must name one. */
	readonly command: readonly string[] | null;
	/** Arguments that every start has. They follow those of the conversation. */
	readonly args: readonly string[];
	/** Arguments that settle a question of the first start, unless that is left to the user. */
	readonly seedArgs?: readonly string[];
	readonly env: Readonly<Record<string, string | null>>;
	/** Whether it gets a folder of its own for temporary files. */
	readonly ownTmpdir: boolean;
	readonly conversation: ConversationProfile;
	readonly files: readonly OwnFile[];
	readonly seeds: readonly Seed[];
	/** What the events mean that its hooks tell of; where they are read by a function, there are none. */
	readonly eventRules: readonly EventRule[];
	/** What the lines of its record mean, likewise. */
	readonly lineRules: readonly SignRule[];
	/** Null or left out where there is none. */
	readonly log?: LogProfile | null;
	/** Whether its hooks or its record tell which prompts were submitted. */
	readonly confirmsPrompts: boolean;
	/** Whether a text is typed as a paste, as terminals with that mode do. */
	readonly paste: boolean;
	/** Whether its hooks or its record tell of every end of a turn, so that the screen need not. */
	readonly tellsTurnEnds: boolean;
	/** Null where nothing is known of its screen. */
	readonly screen: ScreenProfile | null;
	/** How it is asked to end, one after the other. */
	readonly drain: readonly DrainStep[];
	/** Null where nothing is known of how it ends. */
	readonly exits: ExitProfile | null;
}

/** Any program: nothing is known of it. */
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

/** All that are filled in, besides variables. */
export const PLACEHOLDERS = ["conversation", "conversation8", "cwd", "home", "folder"] as const;

const PLACEHOLDER = /<([A-Za-z_][A-Za-z0-9_]*)>/g;
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;

/** The names in a text that look like placeholders and are none: they would stay as they are written. */
export function unknownPlaceholders(text: string): readonly string[] {
	const known: readonly string[] = PLACEHOLDERS;
	const names = [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
	return names.filter((name) => !known.includes(name) && !VARIABLE.test(name));
}

/**
 * The text with its placeholders filled in; null when one of them has no value. What is no
 * placeholder at all stays as it is written.
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

/** The first of several ways to write it that can be filled in; null when there is none. */
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
