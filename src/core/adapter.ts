/**
 * What is known of one agent CLI, as plain data: the built-in adapters and those that users write in
 * the fleet file have the same shape. Nothing in here runs; whoever starts an agent reads it.
 *
 * Texts may hold placeholders: `<conversation>` (`<conversation8>`: how it begins), `<cwd>`, `<home>`
 * (the agent's home directory), `<folder>` (a folder that Reeve keeps for this agent alone), and
 * `<NAME>` for a variable of its environment.
 */

export const CONVERSATION_IDS = ["chosen", "told", "none"] as const;
/**
 * Who names the conversation: `chosen` by Reeve before the first start, `told` by the CLI once it has
 * begun, or `none` where a CLI cannot take one up again.
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
}

/** A file of Reeve's own, written before every start. */
export interface OwnFile {
	/** Below the agent's own folder. */
	readonly name: string;
	readonly text: string;
}

/** Keys of a JSON file that are set before a start where nothing is written for them yet. */
export interface Seed {
	/** The first that can be filled in. */
	readonly file: readonly string[];
	readonly set: readonly { readonly path: readonly string[]; readonly value: unknown }[];
}

export interface AdapterProfile {
	/** Its program; null where the fleet file must name one. */
	readonly command: readonly string[] | null;
	/** Arguments that every start has. They follow those of the conversation. */
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string | null>>;
	/** Whether it gets a folder of its own for temporary files. */
	readonly ownTmpdir: boolean;
	readonly conversation: ConversationProfile;
	readonly files: readonly OwnFile[];
	readonly seeds: readonly Seed[];
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
} satisfies AdapterProfile);

const PLACEHOLDER = /<([A-Za-z_][A-Za-z0-9_]*)>/g;
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;

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
