/** A deliberate violation, and the findings that a check must report. */

import type { Change } from "./planted-copy.js";

export interface Violation {
	readonly title: string;
	readonly plant: Readonly<Record<string, Change>>;
	/** Every finding, and no other: `file: rule`. */
	readonly finds: readonly string[];
	/** The advice in the message. */
	readonly says?: string;
}

/** A module that exports `planted`, and one that re-exports it. */
export const LEAF = "export const planted = 1;\n";
export const leaf = (path: string) => `export { planted } from "${path}";\n`;
