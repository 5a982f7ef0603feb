import { type EnvFile, parseEnvFile } from "./env-file.js";
import { problemOf, readBounded } from "./read-bounded.js";

/** Reads an agent's env file. A missing file is empty. */
export async function readEnvFile(path: string): Promise<EnvFile> {
	const file = await readBounded(path);
	if (file.ok) return parseEnvFile(file.bytes, path);
	if (file.missing) return { ok: true, values: {}, warnings: [] };
	return { ok: false, problems: problemOf(path, file.message) };
}
