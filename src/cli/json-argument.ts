/** JSON from an argument, a file, or stdin. */

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { ReeveError } from "../core/errors.js";
import { isTooDeep, JSON_DEPTH_MAX } from "../core/json-depth.js";

/** `'{"a": 1}'`, `@file.json`, or `-` for stdin. */
export async function readJsonArgument(argument: string, option: string): Promise<unknown> {
	const [source, where] = await readSource(argument, option);
	try {
		const value: unknown = JSON.parse(source);
		if (!isTooDeep(value, source.length)) return value;
	} catch (error) {
		const hint =
			argument === source
				? `A JSON string needs its own quotes: ${option} '"text"'. Use \`@file.json\` for a file, \`-\` for stdin.`
				: "It must contain one JSON value.";
		throw new ReeveError("usage", `${where} is not valid JSON: ${(error as Error).message}`, hint);
	}
	throw new ReeveError("body_too_deep", `${where} is nested deeper than ${JSON_DEPTH_MAX} levels`);
}

async function readSource(
	argument: string,
	option: string,
): Promise<[text: string, where: string]> {
	if (argument === "-") return [await text(process.stdin), "stdin"];
	if (!argument.startsWith("@")) return [argument, option];
	const path = argument.slice(1);
	try {
		return [await readFile(path, "utf8"), path];
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		throw new ReeveError("usage", `cannot read ${path} (${code})`, "Check the path after the @.");
	}
}
