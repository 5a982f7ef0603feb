/** JSON that a user gives as an argument, in a file, or on stdin. */

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { ReeveError } from "../core/errors.js";

/** `'{"a": 1}'`, `@file.json`, or `-` for stdin. */
export async function readJsonArgument(argument: string, option: string): Promise<unknown> {
	const [source, where] = await readSource(argument, option);
	try {
		return JSON.parse(source);
	} catch (error) {
		const hint =
			argument === source
				? `Text needs its own quotes: ${option} '"text"'. A file is \`@file.json\`, stdin is \`-\`.`
				: "It must hold one JSON value.";
		throw new ReeveError("usage", `${where} is not JSON: ${(error as Error).message}`, hint);
	}
}

async function readSource(
	argument: string,
	option: string,
): Promise<[text: string, where: string]> {
	if (argument === "-") return [await text(process.stdin), "what came on stdin"];
	if (!argument.startsWith("@")) return [argument, option];
	const path = argument.slice(1);
	try {
		return [await readFile(path, "utf8"), path];
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		throw new ReeveError(
			"usage",
			`${path} cannot be read (${code})`,
			"Check the path after the @.",
		);
	}
}
