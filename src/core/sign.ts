/** Something that an agent's CLI let be known of itself, in our words: a hook, a line of its record. */

import type { KnownCause } from "./adapter.js";
import type { Activity } from "./states.js";

export const SIGN_SOURCES = ["hook", "transcript", "screen"] as const;
/** Where a sign came from, best first: what a CLI says on purpose, what it writes down, what it shows. */
export type SignSource = (typeof SIGN_SOURCES)[number];

/** What a sign means, as far as its adapter understands it. */
export interface SignMeaning {
	/** What the agent does from now on; left out where the sign does not tell. */
	readonly activity?: Activity;
	/** Why its turn failed; null for a turn that went well. Left out where the sign does not tell. */
	readonly failure?: { readonly cause: KnownCause; readonly resetAtMs: number | null } | null;
	/** The conversation that it is about. */
	readonly conversation?: string;
	/** A prompt that was submitted. */
	readonly prompt?: string;
	/** Whether a tool runs from here on, which may be silent for long. */
	readonly inTool?: boolean;
	/** In the CLI's own words, shortened. */
	readonly detail?: string;
}

export interface AgentSign extends SignMeaning {
	readonly source: SignSource;
	/** What the CLI calls it. */
	readonly name: string;
	/** Wall time. */
	readonly atMs: number;
}

const DETAIL_LENGTH_MAX = 300;

/** As much of a CLI's words as is shown to people. */
export function shorten(text: string): string {
	const line = text.replaceAll(/\s+/g, " ").trim();
	return line.length <= DETAIL_LENGTH_MAX ? line : `${line.slice(0, DETAIL_LENGTH_MAX)}…`;
}
