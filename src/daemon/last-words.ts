/** The end of what an agent printed, as plain text: a CLI that ends says last why. */

import { open } from "node:fs/promises";
import { join } from "node:path";

const BYTES_MAX = 16_384;
const ESC = "\u001b";
const BELL = "\u0007";
/** Control sequences, operating system commands, other strings, and single functions. */
const ESCAPES = new RegExp(
	[
		`${ESC}\\[[0-?]*[ -/]*[@-~]`,
		`${ESC}\\][^${BELL}${ESC}]*(?:${BELL}|${ESC}\\\\)`,
		`${ESC}[PX^_][^${ESC}]*${ESC}\\\\`,
		`${ESC}[ -/]*[0-~]`,
	].join("|"),
	"g",
);

export async function readLastWords(logDir: string): Promise<string> {
	const file = await open(join(logDir, "current.log"), "r");
	try {
		const { size } = await file.stat();
		const length = Math.min(size, BYTES_MAX);
		const buffer = Buffer.alloc(length);
		await file.read(buffer, 0, length, size - length);
		return plainText(buffer.toString("utf8"));
	} finally {
		await file.close();
	}
}

/** Without colours and cursor movements; what a movement set apart stays apart. */
export function plainText(text: string): string {
	return text.replaceAll(ESCAPES, (sequence) => (sequence.endsWith("m") ? "" : " "));
}
