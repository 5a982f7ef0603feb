/** One thing done wrong on purpose, and what a check has to say about it. */

import type { Change } from "./planted-copy.js";

export interface Violation {
	readonly title: string;
	readonly plant: Readonly<Record<string, Change>>;
	/** Every finding, and no other: `file: rule`. */
	readonly finds: readonly string[];
	/** The advice in the message. */
	readonly says?: string;
}

/** A module that offers `planted`, and one that passes it on. */
export const LEAF = "export const planted = 1;\n";
export const leaf = (path: string) => `export { planted } from "${path}";\n`;
