/** The end of what an agent printed, as plain text: a CLI that ends says last why. */

import { open } from "node:fs/promises";
import { join } from "node:path";
import { screenText } from "../core/safe-text.js";

const BYTES_MAX = 16_384;

export async function readLastWords(logDir: string): Promise<string> {
	const file = await open(join(logDir, "current.log"), "r");
	try {
		const { size } = await file.stat();
		const length = Math.min(size, BYTES_MAX);
		const buffer = Buffer.alloc(length);
		await file.read(buffer, 0, length, size - length);
		return screenText(buffer.toString("utf8"));
	} finally {
		await file.close();
	}
}
